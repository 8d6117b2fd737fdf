"""Large generated sources are accepted."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.limits import SOURCE_BYTES

from ..plugins.policy.scanning import every_hit
from .generated import sources


class GeneratedTests(SynchronousTestCase):
    """Tables, dictionaries and code that no person wrote."""

    def test_accepted(self) -> None:
        """None has a hit, also when it fills all that a plugin may have."""
        for name, content in sources().items():
            self.assertEqual(every_hit({name: content}), {}, name)
        self.assertIn(len(sources()["words.js"]), range(SOURCE_BYTES)[-5_000:])
