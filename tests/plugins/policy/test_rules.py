"""The names that every page has, and the rules on imports."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy import rules
from bridge.plugins.policy.rules import document_lines, import_rule, unescape

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
        asked = known | others | rules.RESERVED | rules.WRAPPED
        self.assertEqual(asked & rules.STANDARD_NAMES, known)
        self.assertLessEqual({"undefined", "toString"}, rules.STANDARD_NAMES)

    def test_refused_names(self) -> None:
        """What the policy refuses by name are names of pages, and of tools."""
        others = (
            rules.WORDS | rules.SCOPED | rules.TIMERS | set(rules.USES)
        ) - rules.STANDARD_NAMES
        self.assertEqual(others, {"require", "process"})
        self.assertIn("constructor", rules.MEMBERS - rules.STANDARD_NAMES)


class ImportTests(SynchronousTestCase):
    """What a specifier may be; the corpus has the verdict on each kind."""

    @given(st.text(max_size=60))
    def test_any_text(self, specifier: str) -> None:
        """Any specifier gets a verdict."""
        known = (rules.OUTSIDE, rules.TEST_FILE, rules.TOOLING)
        self.assertIn(import_rule("src/a.ts", specifier), (None, *known))


class MentionTests(SynchronousTestCase):
    """Where exempt files are mentioned."""

    def lines(self, text: str, name: str = "x.json") -> list[int]:
        return list(document_lines(name, text.encode()))

    def test_documents(self) -> None:
        """
        A JSON file may not mention an exempt file, parsable or not.

        The scripts of a package.json may, its other members not.
        """
        scripts = '"scripts": {"lint": "eslint -c eslint.config.mjs"}'
        main = '"main": "eslint.config.mjs"'
        for text, name, lines in (
            ('{\n"a": "x ESLint.config.js y"}', "x.json", [2]),
            ("{ sign\\u002dplugin.mjs", "x.json", [1]),
            ('{"a": "eslint"}', "x.json", []),
            (f"{{{scripts}}}", "package.json", []),
            (f"{{{scripts}}}", "other.json", [1]),
            (f"{{{scripts}, {main}}}", "package.json", [1]),
        ):
            self.assertEqual(self.lines(text, name), lines, text)

    def test_large_documents(self) -> None:
        """A mention is found at any place of a large file."""
        for place in (65_520, 65_536, 131_060):
            text = "\n" * place + "vitest.config.ts"
            self.assertEqual(self.lines(text)[0], place + 1)

    def test_attack_package(self) -> None:
        """A package.json that can't be read is searched as text."""
        for text in (
            '{"scripts": "eslint.config.mjs"',
            "[" * 50_000 + "eslint.config.mjs",
            '["eslint.config.mjs"]',
            '{"scripts": "eslint.config.mjs"}' + " " * 70_000,
        ):
            self.assertEqual(self.lines(text, "package.json"), [1])


class EscapeTests(SynchronousTestCase):
    def test_unescape(self) -> None:
        """Every kind of escape is decoded, and no escape is too large."""
        self.assertEqual(unescape(r"\n\t\0\q\\\u{110000}"), "\n\t\0q\\\ufffd")

    @given(st.text(st.sampled_from("\\ux{}0123456789abcdefn\n"), max_size=30))
    def test_any_escape(self, text: str) -> None:
        """Any text is decoded to no more characters than it had."""
        self.assertLessEqual(len(unescape(text)), len(text))
