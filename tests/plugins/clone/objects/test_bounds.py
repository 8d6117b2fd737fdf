"""Tests of ``bridge.plugins.clone.objects.bounds``."""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.objects.bounds import TreeSize, check_name
from bridge.plugins.clone.transfer import CloneLimits
from bridge.protocol.errors import BridgeError

LIMITS = CloneLimits(files=2, tree_bytes=8, tree_depth=3, path_bytes=5)


class CheckNameTests(SynchronousTestCase):
    """``check_name``."""

    def refused(self, *names: str | bytes) -> None:
        """Each name is refused, without being quoted."""
        for name in names:
            raw = (
                name.encode("utf-8", "surrogatepass") if isinstance(name, str) else name
            )
            error = self.assertRaises(BridgeError, check_name, raw)
            self.assertIn("clone_failed: an unsafe file name", error.message)

    def test_ordinary_names(self) -> None:
        """What plugins really contain is accepted as it is."""
        for name in (
            "main.ts",
            ".gitignore",
            ".gitattributes",
            ".gitmodules",
            ".github",
            "[id].tsx",
            "a b.md",
            "README~",
            "caf\u00e9.md",
            "\u65e5\u672c\u8a9e.md",
            "console.ts",
            "com10",
            "aux-in.ts",
            "git~",
            "..a",
            "x" * 255,
        ):
            self.assertEqual(check_name(name.encode("utf-8"))[0], name)

    def test_folding(self) -> None:
        """Names that some system takes for one fold to the same."""
        for first, second in (
            ("Main.TS", "main.ts"),
            ("caf\u00e9", "CAFE\u0301"),
            ("\u212b", "\u00e5"),
            ("\ufb01le", "file"),
            ("\u1e9e", "ss"),
        ):
            self.assertEqual(
                check_name(first.encode())[1], check_name(second.encode())[1]
            )

    def test_way_out(self) -> None:
        """No name leads anywhere else."""
        self.refused("", ".", "..", "...", "/", "a/b", "a\\b", "c:", "\u2025", "\uff0f")
        self.refused("\u2024\u2024", "a\uff3cb", "\uff23\uff1a")

    def test_git_in_disguise(self) -> None:
        """Git's directory is found in each disguise."""
        self.refused(".git", ".GiT", ".git.", ".git ", "git~1", "GIT~99", ".git::$DATA")
        self.refused(".g\u200cit", ".git\ufeff", "\uff0egit", ".\U0001d420it")

    def test_hfs_ignorable_characters(self) -> None:
        """Every character HFS+ leaves out of a name is refused."""
        ignored = [*range(0x200C, 0x2010), *range(0x202A, 0x202F)]
        ignored += [*range(0x206A, 0x2070), 0xFEFF]
        for code in ignored:
            self.refused(f".g{chr(code)}it", f"a{chr(code)}")

    def test_invisible_characters(self) -> None:
        """Control, line-breaking, private and unassigned characters are refused."""
        self.refused(
            "a\0", "a\n", "\x1b[0m", "\x7f", "\x9b", "\u2028", "\ue000", "\uffff"
        )

    def test_bytes_that_are_no_text(self) -> None:
        """Names must be UTF-8."""
        self.refused(b"\xff", b"\xc0\xae", b"\xed\xa0\x80")

    def test_windows(self) -> None:
        """Devices, short names, wildcards, final dots and spaces are refused."""
        self.refused("con", "Con.ts", "NUL", "com1.x.y", "lpt9", "com\u00b2", "conin$")
        self.refused("aux .ts", "PROGRA~1", "a~1.txt", "a*", "a?", "a<", 'a"', "a|")
        self.refused("a.", "a ", " a", "a\u00a0", "a..")

    def test_too_long(self) -> None:
        """A name has at most 255 bytes."""
        self.refused("x" * 256, "\u00e9" * 128)

    @settings(deadline=None)
    @given(
        st.one_of(
            st.binary(max_size=20),
            st.text(st.characters(codec="utf-8"), max_size=20).map(str.encode),
        )
    )
    def test_any_bytes(self, raw: bytes) -> None:
        """Any bytes are refused, or are one harmless part of a path."""
        try:
            text, folded = check_name(raw)
        except BridgeError:
            return
        self.assertEqual(text.encode("utf-8"), raw)
        for form in (text, folded):
            self.assertEqual(os.path.basename(form), form)
            self.assertNotIn(form.rstrip(". ").lower(), (".git", "", ".", ".."))


class TreeSizeTests(SynchronousTestCase):
    """Each limit may be reached, and not exceeded."""

    def setUp(self):
        """Begin with an empty tree."""
        self.size = TreeSize(LIMITS)

    def refusal(self, call, *arguments):
        """Call what is refused; return the message."""
        with self.assertRaises(BridgeError) as caught:
            call(*arguments)
        return caught.exception.message

    def test_depth(self):
        """Directories are counted, without the file."""
        self.size.check_depth(3)
        message = self.refusal(self.size.check_depth, 4)
        self.assertEqual(message, "clone_failed: more than 3 directories deep")

    def test_path(self):
        """A path is as long as its bytes."""
        self.size.check_path(b"abcde")
        message = self.refusal(self.size.check_path, b"abcdef")
        self.assertEqual(message, "clone_failed: a path of more than 5 bytes")

    def test_files(self):
        """One file too many is refused."""
        self.size.add_file()
        self.size.add_file()
        message = self.refusal(self.size.add_file)
        self.assertEqual(message, "clone_failed: more than 2 files")

    def test_bytes(self):
        """All files count together."""
        self.size.add_bytes(5)
        self.assertEqual(self.size.bytes_left, 3)
        self.size.add_bytes(3)
        message = self.refusal(self.size.add_bytes, 1)
        self.assertEqual(message, "clone_failed: files of more than 8 bytes")
