from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.tree.about import read_changelog
from bridge.plugins.tree.tree import Tree
from bridge.protocol.limits import CHANGELOG_BYTES

TEXT = Path(__file__).with_name("changelog.txt").read_text("utf-8")


class ReadChangelogTests(SynchronousTestCase):
    def test_versions(self) -> None:
        """The sections after the installed version are picked, up to the new one."""
        older = "## v1.1.5\n\n- Something older."
        newer = "## [1.2.0] - 2024-03-01\n\n- Show friends.\n\n### Fixed\n\n- A crash."
        for text, version, since, found in (
            (TEXT, "1.2.0", "1.1.4", f"{newer}\n\n{older}"),
            (TEXT, "1.1.5", "1.1.4", older),
            (TEXT, "1.2.0", "1.2.0", ""),
            ("# News\n\n1.2.0 is out\n", "1.2.0", "1.0.0", ""),
            # What hides or reorders text is removed.
            (
                *("## 1.1.0\n\n\x1b[31mred\x1b[0m \u202eback\x07\n", "1.1.0", "1.0.0"),
                "## 1.1.0\n\nred back",
            ),
            *(
                (f"## {heading}\n", "1.2.0", "1.1.0", f"## {heading}")
                for heading in ("1.2.0, May", "1.2.0; x", "Release 1.2.0", "**1.2.0**")
            ),
        ):
            tree = Tree({"CHANGELOG.md": text.encode()})
            self.assertEqual(read_changelog(tree, version, since), found)

    def test_attack_file(self) -> None:
        """The file at the root is read as UTF-8, unless it is missing or too large."""
        huge = b"## 1.2.0\n" + b"x" * CHANGELOG_BYTES
        for files, found in (
            (
                {"CHANGELOG.md": b"\xef\xbb\xbf## 1.2.0\nna\xefve\n"},
                "## 1.2.0\nna\ufffdve",
            ),
            ({}, ""),
            ({"CHANGELOG.md": huge}, ""),
        ):
            self.assertEqual(read_changelog(Tree(files), "1.2.0", "1.1.5"), found)
