"""Versions, their order, and ranges of them."""

import semver
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.tree import versions

NUMBERS = st.one_of(st.integers(0, 30), st.integers(0, 10**60)).map(str)
IDENTIFIERS = st.one_of(
    NUMBERS, st.from_regex(r"[0-9]{0,3}[a-c-][0-9a-cA-C-]{0,3}", fullmatch=True)
)
PRE_RELEASES = st.lists(IDENTIFIERS, max_size=3).map(".".join)
BUILDS = st.sampled_from(["", "+b", "+001.x"])


@st.composite
def full_versions(draw: st.DrawFn) -> str:
    """Versions by SemVer 2, with numbers of any size."""
    core = ".".join(draw(st.tuples(NUMBERS, NUMBERS, NUMBERS)))
    pre_release = draw(PRE_RELEASES)
    return core + (f"-{pre_release}" if pre_release else "") + draw(BUILDS)


class PrecedenceTests(SynchronousTestCase):
    @given(full_versions(), full_versions())
    def test_as_an_independent_implementation(self, one: str, other: str):
        """Any two versions are ordered as the semver package orders them."""
        expected = semver.Version.parse(one).compare(other)
        self.assertEqual(versions.is_lower(one, other), expected < 0)
        self.assertEqual(versions.is_lower(other, one), expected > 0)


# What npm's own semver (7.8.5) answers to these.
RANGES = (
    *("*", "x", "X.x.*", "1", "1.2", "1.x", "1.2.3", "v1.2.3", "=1.2.3", "= 1.2.3"),
    *(">= 1.2.3", ">1.2", "<=1", "<*", "~1", "~ 1.2", "~>1.2", "^ 1.2.3", "^1.x"),
    *("^1.x.3", "^0", ">=v1.2.3", "1.2.3-beta", "^1.2.3-beta.1+b.01", "1.2.x-beta"),
    *("1.0.0 - 2.0.0", "1 - 2", "1.x - 2.x", "1.2.3-b - 2.0.0+b", "1 - 2 || 3 - 4"),
    *("||", "||1", "1||", "1 || || 2", " 1  ", ">=0.2.0 <1.0.0", ">1 <2 3.x"),
    *("^1.2.3 || ~2.x <3", "9007199254740991.0.0", "> =1"),
)
NOT_RANGES = (
    *("==1.2.3", ">= v 1.2", "1.*.3", "*.1", ">1.x.3", "1.2-beta", "1.2.3-01"),
    *("1.0.0 -2.0.0", "1.0.0- 2.0.0", ">1.0.0 - 2.0.0", "1.0.0 - >2", "1 - 2 - 3"),
    *("1.0.0 - 2.0.0 ^3", "^3 1.0.0 - 2.0.0", "- 1", "1 -", "1|2", "1 | 2", "1,2"),
    *(">1<2", "^~1", "^^1", ">>1", "=>1", "=<1", "!=1", "<>1", "> ^1", "> >1"),
    *("> = 1.2.3", ">  =  1", "= > 1", ">= = 1"),
    *("01.2.3", "1.2.03", "00", "9007199254740992.0.0", "^9007199254740992"),
    *("latest", "1.2.3.4", "1.2.", "1..2", ".1", "-1", "1.2.3-", "1.2.3+", "v", ">"),
    *("^", "~", "=", "1.2.3 -", "*-beta", "1.2.3-a..b", "1.2.3-é", "1.2.3 foo"),
    *(">=1.2.3 || foo", "0x1", "1 .2", "1. 2", "v 1.2.3", "1.2.3\n", "\u0661.2.3"),
)


class RangeTests(SynchronousTestCase):
    def test_ranges(self):
        """What npm takes for a range is one, and nothing else."""
        for text in RANGES:
            self.assertTrue(versions.is_range(text), text)
        for text in NOT_RANGES:
            self.assertFalse(versions.is_range(text), text)

    def test_attack_backtracking(self):
        """Text made to send a matcher back and forth is parsed in one pass."""
        for bad in (
            ">=" + " " * 20000 + "!",
            "1.2.3-" + "1" * 20000 + "!",
            "1.2.3-" + "a-" * 20000 + "!",
            "1.2.3-" + "1." * 20000 + "!",
            "||" * 20000 + "!",
            "^ " * 20000,
        ):
            # A quadratic matcher would need minutes for each.
            self.assertFalse(versions.is_range(bad))
            self.assertFalse(versions.is_version(bad))
            self.assertFalse(versions.is_plain_range(bad))


TABLE = (
    # range, versions it admits, versions it does not
    ("1.2.3", "1.2.3 1.2.3+b", "1.2.2 1.2.4 1.2.3-a"),
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
    ("<*", "", "0.0.0 1.0.0"),
    (">=*", "0.0.0 1.0.0", ""),
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
    def test_table(self) -> None:
        """Each kind of range admits what npm has it admit."""
        for text, inside, outside in TABLE:
            self.assertTrue(versions.is_range(text), text)
            for version in inside.split():
                self.assertTrue(versions.admits(text, version), (text, version))
            for version in outside.split():
                self.assertFalse(versions.admits(text, version), (text, version))

    def test_no_version(self) -> None:
        """What is no version is an error, not an answer."""
        self.assertRaises(ValueError, versions.admits, "*", "1.2")

    @given(st.from_regex(r"[v0-3.xX*|<>=~^ a+-]{0,30}", fullmatch=True))
    def test_any_range(self, text: str) -> None:
        """Every range has an answer."""
        if versions.is_range(text):
            self.assertIn(versions.admits(text, "1.2.3"), (True, False))
