"""The rules on imports."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.rules.imports import (
    document_lines,
    import_rule,
    names_tooling,
    unescape,
)

OUTSIDE = "import outside the plugin"
TEST = "imports a test file"
TOOLING = "references a tooling config"


class ImportTests(SynchronousTestCase):
    """What a specifier may be."""

    def test_accepted(self) -> None:
        """Files of the plugin and bare module names are accepted."""
        for specifier in (
            "./b",
            "../main.ts",
            "../x/../main.ts",
            "./a b.ts",
            "lodash",
            "@a/b/c.js",
            "node:path",
            "./test.ts",
            "./latest",
            "../tests/a.ts",
            "./100%.ts",
            "vitest/config",
        ):
            self.assertIsNone(import_rule("src/a.ts", specifier), specifier)

    def test_attack_outside(self) -> None:
        """Every way out of the plugin's directory is refused."""
        for specifier in (
            "../../x",
            "./../../x",
            "x/../../src/../y",
            "/x",
            "\\x",
            "C:\\x",
            "c:x",
            "file:///x",
            "FILE:x",
            "data:text/javascript,1",
            "https://a.example/x",
            "..\\..\\x",
            "%2e%2e/%2E%2E/x",
            "../..%2fx",
            "a/../b/../../c",
            " ../../x",
        ):
            self.assertEqual(import_rule("src/a.ts", specifier), OUTSIDE, specifier)

    def test_depth(self) -> None:
        """How far up is allowed depends on where the importing file is."""
        self.assertIsNone(import_rule("a/b/c.ts", "../../x"))
        self.assertEqual(import_rule("a/b/c.ts", "../../../x"), OUTSIDE)
        self.assertEqual(import_rule("a.ts", "../x"), OUTSIDE)

    def test_attack_test_files(self) -> None:
        """A test file is refused with and without its extension."""
        for specifier in ("./a.test", "./a.SPEC.ts", "./a.test.js#x", "./a%2etest"):
            self.assertEqual(import_rule("a.ts", specifier), TEST, specifier)

    def test_attack_tooling(self) -> None:
        """An exempt file is refused under every extension the bundler would try."""
        for specifier in (
            "./eslint.config.mjs",
            "./ESLint.Config",
            "./vitest.config.mjs",
            "../scripts/sign-plugin.mjs?x",
        ):
            self.assertEqual(import_rule("a.ts", specifier), TOOLING, specifier)

    def test_host_modules(self) -> None:
        """The host's modules are no files of the plugin."""
        self.assertIsNone(import_rule("a.ts", "@host/a.test", ["@host/a.test"]))

    @given(st.text(max_size=60))
    @settings(deadline=None)
    def test_any_text(self, specifier: str) -> None:
        """Any specifier gets a verdict."""
        self.assertIn(
            import_rule("src/a.ts", specifier), (None, OUTSIDE, TEST, TOOLING)
        )


class MentionTests(SynchronousTestCase):
    """Where exempt files are mentioned."""

    def test_strings(self) -> None:
        """A path of an exempt file counts, a sentence with its name does not."""
        self.assertTrue(names_tooling("./a/eslint.config.MJS"))
        self.assertTrue(names_tooling("sign-plugin.mjs"))
        self.assertTrue(names_tooling("x" * 300 + "\\vitest.config.ts"))
        self.assertFalse(names_tooling("see eslint.config.mjs"))
        self.assertFalse(names_tooling("eslint.config.mjs is fine"))

    def lines(self, text: str, name: str = "x.json") -> list[int]:
        """The lines with mentions."""
        return list(document_lines(name, text.encode()))

    def test_documents(self) -> None:
        """A JSON file may not mention an exempt file, parsable or not."""
        self.assertEqual(self.lines('{\n"a": "x ESLint.config.js y"}'), [2])
        self.assertEqual(self.lines("{ sign\\u002dplugin.mjs"), [1])
        self.assertEqual(self.lines('{"a": "eslint"}'), [])

    def test_large_documents(self) -> None:
        """A mention is found at any place of a large file."""
        for place in (65_520, 65_536, 131_060):
            text = "\n" * place + "vitest.config.ts"
            self.assertEqual(self.lines(text)[0], place + 1)

    def test_package_scripts(self) -> None:
        """The scripts of a package.json may mention one, its other members not."""
        scripts = {"scripts": {"lint": "eslint -c eslint.config.mjs"}}
        self.assertEqual(self.lines(json.dumps(scripts), "package.json"), [])
        self.assertEqual(self.lines(json.dumps(scripts), "other.json"), [1])
        both = {**scripts, "main": "eslint.config.mjs"}
        self.assertEqual(self.lines(json.dumps(both), "package.json"), [1])

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
    """Escapes and what they stand for."""

    def test_unescape(self) -> None:
        """Every kind of escape is decoded, and no escape is too large."""
        self.assertEqual(unescape(r"\n\t\0\q\\\u{110000}"), "\n\t\0q\\\ufffd")

    @given(st.text(st.sampled_from("\\ux{}0123456789abcdefn\n"), max_size=30))
    @settings(deadline=None)
    def test_any_escape(self, text: str) -> None:
        """Any text is decoded to no more characters than it had."""
        self.assertLessEqual(len(unescape(text)), len(text))
