import sys

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.bounds import BoundedFiles, check_name
from bridge.protocol.errors import BridgeError


class CheckNameTests(SynchronousTestCase):
    def test_ordinary_names(self) -> None:
        """What plugins really contain is accepted as it is."""
        for name in (
            *("main.ts", ".gitignore", ".gitattributes", ".gitmodules", ".github"),
            *("[id].tsx", "a b.md", "README~", "caf\u00e9.md", "\u65e5\u672c\u8a9e.md"),
            *("console.ts", "com10", "aux-in.ts", "git~", "..a", "x" * 255),
        ):
            self.assertEqual(check_name(name.encode("utf-8")), name)

    def test_folding(self) -> None:
        """Names that some system takes for one are not in one directory."""
        for names in (
            ("Main.TS", "main.ts"),
            ("caf\u00e9", "CAFE\u0301"),
            ("\u212b", "\u00e5"),
            ("\ufb01le", "file"),
            ("\u1e9e", "ss"),
        ):
            first, second = (name.encode() for name in names)
            bounded = BoundedFiles()
            bounded.enter("a/", first)
            bounded.enter("", second)
            self.assertRaises(BridgeError, bounded.enter, "A/", second)

    def test_attack_unsafe(self) -> None:
        """Names that some system reads otherwise are refused, without being quoted."""
        # What HFS+ leaves out of a name.
        ignored = [*range(0x200C, 0x2010), *range(0x202A, 0x202F)]
        ignored += [*range(0x206A, 0x2070), 0xFEFF]
        for name in (
            # Ways out.
            *("", ".", "..", "...", "/", "a/b", "../x", "a\\b", "..\\x", "c:", "C:x"),
            *("\u2025", "\uff0f", "\u2024\u2024", "a\uff3cb", "\uff23\uff1a"),
            # Git's directory in disguise.
            *(".git", ".GiT", ".git.", ".git...", ".git ", "git~1", "GIT~99"),
            *(".git::$DATA", ".g\u200cit", ".git\ufeff", "\uff0egit", ".git\\config"),
            *(".\U0001d420it", ".g\u0131t\u200d"),
            *(f".g{chr(code)}it" for code in ignored),
            *(f"a{chr(code)}" for code in ignored),
            # Control, line-breaking, private and unassigned characters.
            *("a\0", "a\n", "\x1b[0m", "\x7f", "\x9b", "\u2028", "\ue000", "\uffff"),
            # No text.
            *(b"\xff", b"\xc0\xae", b"\xed\xa0\x80"),
            # Devices and short names of Windows, wildcards, final dots and spaces.
            *("con", "Con.ts", "NUL", "com1.x.y", "lpt9", "com\u00b2", "conin$"),
            *("aux .ts", "PROGRA~1", "a~1.txt", "a*", "a?", "a<", 'a"', "a|"),
            *("a.", "a ", " a", "a\u00a0", "a.."),
            # Over 255 bytes.
            *("x" * 256, "\u00e9" * 128),
        ):
            raw = name if isinstance(name, bytes) else name.encode()
            words = self.assertRaises(BridgeError, check_name, raw).message
            self.assertIn("clone_failed: an unsafe file name", words)
        # What a system that does not write names in UTF-8 would call otherwise.
        self.patch(sys, "getfilesystemencoding", lambda: "iso8859-1")
        self.assertRaises(BridgeError, check_name, "caf\u00e9.md".encode())
