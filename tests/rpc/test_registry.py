"""Tests for bridge.rpc.registry."""

from typing import Any

from attrs import define, frozen
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.errors import BridgeError, Code
from bridge.rpc.registry import (
    NoParams,
    NoResult,
    Registry,
    method,
)


@frozen
class Water:
    """Some water."""

    litres: float


@define
class Kettle:
    """
    Boils
    water.

    Not documented: how.
    """

    @method(Water, NoResult)
    async def fill(self, params: Water) -> NoResult:
        """Fill it."""
        return NoResult()

    @method(NoParams, Water)
    async def empty(self, params: NoParams) -> Water:
        """Empty it, all of it."""
        return Water(1.0)

    async def secret(self, params: NoParams) -> NoResult:
        """Do what nobody may ask for."""
        return NoResult()


class Lamp:
    """Shines."""

    def describe(self) -> dict[str, Any]:
        """Describe the bulb."""
        return {"bulb": "new", "methods": ["shine"]}


class RegistryTests(SynchronousTestCase):
    """Tests for looking services up."""

    def setUp(self) -> None:
        """Register two services."""
        self.kettle = Kettle()
        self.registry = Registry()
        self.registry.register("kettle", self.kettle)
        self.registry.register("a-lamp", Lamp())

    def test_only_offered_methods(self) -> None:
        """What is not offered can't be called: no attribute is looked up."""
        for name in ("secret", "__init__", "__class__", "describe"):
            error = self.assertRaises(BridgeError, self.registry.find, "kettle", name)
            self.assertIs(error.code, Code.UNKNOWN_METHOD)

    def test_describe(self) -> None:
        """Every description has the summary and methods, then what the service adds."""
        self.assertEqual(
            self.registry.describe(),
            {
                "a-lamp": {"summary": "Shines.", "methods": ["shine"], "bulb": "new"},
                "kettle": {"summary": "Boils water.", "methods": ["fill", "empty"]},
            },
        )
        self.assertEqual(list(self.registry.describe()), self.registry.names())


class DocumentedTests(SynchronousTestCase):
    """Tests for summaries."""

    def test_undocumented(self) -> None:
        """A method that callers could reach without a docstring can't be made."""

        async def undocumented(self: object, params: NoParams) -> NoResult:
            return NoResult()

        with self.assertRaises(ValueError):
            method(NoParams, NoResult)(undocumented)
