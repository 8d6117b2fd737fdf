"""Large generated sources are accepted."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.limits import SOURCE_BYTES

from ..plugins.policy.scanning import every_hit
from .generated import sources


class GeneratedTests(SynchronousTestCase):
    """Tables, dictionaries and code that no person wrote."""

    def test_accepted(self) -> None:
        """Each may fill all that a plugin may have, and has no hit."""
        for name, content in sources().items():
            self.assertGreater(len(content), SOURCE_BYTES - 5_000)
            self.assertLess(len(content), SOURCE_BYTES)
            self.assertEqual(every_hit({name: content}), {}, name)
