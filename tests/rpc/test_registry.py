from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.errors import BridgeError, Code
from bridge.rpc.registry import NoParams, NoResult, Registry, method

from ..programs import python


class Sample:
    """Tries things."""

    @method(NoParams, NoResult)
    async def attempt(self, params: NoParams) -> NoResult:
        return NoResult()

    async def secret(self, params: NoParams) -> NoResult:
        return NoResult()


class RegistryTests(SynchronousTestCase):
    def test_only_offered_methods(self) -> None:
        """What is not offered can't be called: no attribute is looked up."""
        registry = Registry()
        registry.register("sample", Sample())
        registry.find("sample", "attempt")
        for name in ("secret", "__init__", "__class__", "describe"):
            error = self.assertRaises(BridgeError, registry.find, "sample", name)
            self.assertIs(error.code, Code.UNKNOWN_METHOD)


class SummaryTests(SynchronousTestCase):
    def test_without_docstrings(self) -> None:
        """Python may have left them out of everything."""
        loaded = python("-OO", "-c", "import bridge.tap")
        self.assertEqual((loaded.returncode, loaded.stderr), (0, ""))
