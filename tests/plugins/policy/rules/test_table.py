"""The names that every page has."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.rules import table

from .vendored import GLOBALS_PACKAGE, HERE, copied, licence, published


class StandardTests(SynchronousTestCase):
    def test_attack_changed_list(self) -> None:
        """The copy holds the names that were published, and its licence."""
        self.assertEqual(copied(), published())
        self.assertEqual(copied()["package"], GLOBALS_PACKAGE)
        self.assertEqual((HERE / "LICENSE").read_text("utf-8"), licence())

    def test_names(self) -> None:
        """It has the language's and the web platform's names, and nobody else's."""
        known = {"Array", "AsyncIterator", "Intl", "URL", "setTimeout", "HTMLElement"}
        others = {"chrome", "Buffer", "global", "require", "React", "jQuery", "define"}
        asked = known | others | table.RESERVED | table.WRAPPED
        self.assertEqual(asked & table.STANDARD_NAMES, known)
        self.assertLessEqual({"undefined", "toString"}, table.STANDARD_NAMES)

    def test_refused_names(self) -> None:
        """What the policy refuses by name are names of pages, and of tools."""
        others = (
            table.WORDS | table.SCOPED | table.TIMERS | set(table.USES)
        ) - table.STANDARD_NAMES
        self.assertEqual(others, {"require", "process"})
        self.assertIn("constructor", table.MEMBERS - table.STANDARD_NAMES)
