"""Tests for ``bridge.plugins.tree.changelog``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.tree.tree import Tree
from bridge.plugins.upstream.previewed import read_changelog, sections
from bridge.protocol.limits import CHANGELOG_BYTES, CHANGELOG_CHARACTERS

TEXT = """\
# Changelog

## [Unreleased]

- Not yet.

## [1.2.0] - 2024-03-01

- Show friends.

### Fixed

- A crash.

## v1.1.5

- Something older.

# Version 1.1.4

- The installed one.
"""


class SectionsTests(SynchronousTestCase):
    """Tests for ``sections``."""

    def test_versions_after_the_installed_one(self) -> None:
        """The sections of all versions between the two are picked."""
        self.assertEqual(
            sections(TEXT, "1.2.0", "1.1.4"),
            "## [1.2.0] - 2024-03-01\n\n- Show friends.\n\n### Fixed\n\n- A crash.\n\n"
            "## v1.1.5\n\n- Something older.",
        )

    def test_installed_and_later_ones_are_left_out(self) -> None:
        """Neither the installed version nor one above the new one is picked."""
        self.assertEqual(
            sections(TEXT, "1.1.5", "1.1.4"), "## v1.1.5\n\n- Something older."
        )
        self.assertEqual(sections(TEXT, "1.2.0", "1.2.0"), "")

    def test_no_versions(self) -> None:
        """A file without such headings has no changes."""
        self.assertEqual(sections("# News\n\n1.2.0 is out\n", "1.2.0", "1.0.0"), "")

    def test_attack_control_characters(self) -> None:
        """What hides or reorders text is removed."""
        text = "## 1.1.0\n\n\x1b[31mred\x1b[0m \u202eback\x07\n"
        self.assertEqual(sections(text, "1.1.0", "1.0.0"), "## 1.1.0\n\nred back")

    @given(st.text())
    def test_any_text(self, text: str) -> None:
        """Whatever the file holds, the result is short, and no error."""
        found = sections(f"## 2.0.0\n{text}", "2.0.0", "1.0.0")
        self.assertLessEqual(len(found), CHANGELOG_CHARACTERS)


class ReadChangelogTests(SynchronousTestCase):
    """Tests for ``read_changelog``."""

    def read(self, **files: bytes) -> str:
        """Read the changelog of a tree with these files."""
        tree = Tree({f"{name}.md": files[name] for name in files})
        return read_changelog(tree, "1.2.0", "1.1.5")

    def test_file(self) -> None:
        """The file at the root is read, as UTF-8 whatever it is."""
        text = self.read(CHANGELOG=b"## 1.2.0\nna\xefve\n")
        self.assertEqual(text, "## 1.2.0\nna\ufffdve")

    def test_no_file(self) -> None:
        """There need not be one."""
        self.assertEqual(self.read(), "")

    def test_attack_huge_file(self) -> None:
        """A file that is too large is not looked at."""
        huge = b"## 1.2.0\n" + b"x" * CHANGELOG_BYTES
        self.assertEqual(self.read(CHANGELOG=huge), "")
