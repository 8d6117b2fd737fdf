"""Version ranges; the table was compared with npm's own answers."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.tree.versionranges import admits
from bridge.plugins.tree.versions import is_range

TABLE = (
    # range, versions it admits, versions it does not
    ("1.2.3", "1.2.3 1.2.3+b", "1.2.2 1.2.4 1.2.3-a"),
    ("=1.2.3", "1.2.3", "1.2.4"),
    ("v1.2.3", "1.2.3", "1.2.4"),
    ("^1.2.3", "1.2.3 1.9.0", "1.2.2 2.0.0 2.0.0-a"),
    ("^0.5.0", "0.5.0 0.5.9", "0.4.9 0.6.0 1.0.0"),
    ("^0.0.3", "0.0.3", "0.0.2 0.0.4"),
    ("^0.0", "0.0.0 0.0.9", "0.1.0"),
    ("^0", "0.0.0 0.9.0", "1.0.0"),
    ("~1.2.3", "1.2.3 1.2.9", "1.2.2 1.3.0"),
    ("~>1", "1.0.0 1.9.0", "2.0.0 0.9.0"),
    (">=0.5.0 <0.7.0", "0.5.0 0.6.9", "0.4.9 0.7.0"),
    (">1.2.3", "1.2.4", "1.2.3"),
    (">1.2", "1.3.0", "1.2.9"),
    ("<=1.2", "1.2.9 0.0.1", "1.3.0"),
    ("<=1.2.3", "1.2.3", "1.2.4"),
    ("<1", "0.9.9", "1.0.0"),
    (">=1", "1.0.0 7.0.0", "0.9.9"),
    ("<*", "", "0.0.0 1.0.0"),
    (">=*", "0.0.0 1.0.0", ""),
    ("> 1.2.3", "1.2.4", "1.2.3"),
    ("1.x", "1.0.0 1.9.9", "2.0.0 0.9.0"),
    ("1.2.*", "1.2.0 1.2.9", "1.3.0"),
    ("*", "0.0.0 9.9.9", "1.0.0-a"),
    ("", "0.0.0 9.9.9", "1.0.0-a"),
    ("1.2.3 - 2.3", "1.2.3 2.3.9", "1.2.2 2.4.0"),
    ("1.2 - 2.3.4", "1.2.0 2.3.4", "1.1.9 2.3.5"),
    ("^1.0.0 || ^3.0.0", "1.5.0 3.1.0", "2.0.0 4.0.0"),
    (">=1.2.3-b", "1.2.3-b 1.2.3-c 1.2.3 2.0.0", "1.2.3-a 1.2.4-c"),
)


class AdmitsTests(SynchronousTestCase):
    """Which versions a range admits."""

    def test_table(self) -> None:
        """Each kind of range admits what npm has it admit."""
        for text, inside, outside in TABLE:
            self.assertTrue(is_range(text), text)
            for version in inside.split():
                self.assertTrue(admits(text, version), (text, version))
            for version in outside.split():
                self.assertFalse(admits(text, version), (text, version))

    def test_no_version(self) -> None:
        """What is no version is an error, not an answer."""
        with self.assertRaises(ValueError):
            admits("*", "1.2")

    @settings(deadline=None)
    @given(st.from_regex(r"[v0-3.xX*|<>=~^ a+-]{0,30}", fullmatch=True))
    def test_any_range(self, text: str) -> None:
        """Every range has an answer."""
        if is_range(text):
            self.assertIn(admits(text, "1.2.3"), (True, False))
