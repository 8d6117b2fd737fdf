"""Lines of sources as a terminal may show them."""

from __future__ import annotations

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.authoring.reading import hit_lines, quoted, shown_hit, source_line
from bridge.plugins.policy.rules.table import ADVICE, Hit

from ...directories import fresh_directory


class SourceLineTests(SynchronousTestCase):
    """The line of a hit."""

    def setUp(self):
        """Write a source file."""
        self.root = fresh_directory(self)
        (self.root / "a.ts").write_bytes(b"one\r\n  eval('\x1b')\rthree\n" + b"x" * 500)

    def line(self, number, file="a.ts"):
        """The line of a hit."""
        return source_line(self.root, Hit(file, number, "eval"))

    def test_lines(self):
        """Lines are counted as the scan counts them, trimmed and cut."""
        self.assertEqual(self.line(1), "one")
        self.assertEqual(self.line(2), "eval('\\x1b')")
        self.assertEqual(self.line(3), "three")
        self.assertEqual(self.line(4), "x" * 120 + "…")

    def test_no_such_line(self):
        """A hit without a line, or without a file, shows none."""
        (self.root / "link.ts").symlink_to("a.ts")
        for number, file in (
            (0, "a.ts"),
            (9, "a.ts"),
            (1, ""),
            (1, "no"),
            (1, "link.ts"),
        ):
            self.assertEqual(self.line(number, file), "")

    def test_printed(self):
        """A hit is where and which, its source if there is any, and what to do."""
        hit = shown_hit(self.root, Hit("a.ts", 2, "eval"), {})
        fix = f"      fix: {ADVICE['eval']}"
        lines = ["  a.ts:2 eval", "      eval('\\x1b')", fix]
        self.assertEqual(hit_lines(hit), lines)
        self.assertEqual(hit_lines(evolve(hit, source="")), [lines[0], fix])
        hit = shown_hit(self.root, Hit("a.ts", 2, "eval"), {("a.ts", 2): "why"})
        self.assertEqual(hit_lines(hit)[-1], "      fix: correct the syntax: why")

    def test_unknown_rule(self):
        """A rule that another version's daemon reports is printed without advice."""
        hit = shown_hit(self.root, Hit("no.ts", 2, "new"), {})
        self.assertEqual(hit_lines(hit), ["  no.ts:2 new"])


class QuotedTests(SynchronousTestCase):
    """The line of a manifest that a refusal is about."""

    def setUp(self):
        """Write a manifest and a signature."""
        self.root = fresh_directory(self)
        text = '{\n  "id": "demo",\n  "version": "\x1b1",\n  "tags": [1]\n}\n'
        (self.root / "plugin.json").write_text(text)
        (self.root / "plugin.sig").write_text("{\n]\n")

    def test_quoted(self):
        """A place, or a field, leads to a line."""
        for message, line in (
            ("manifest_invalid: plugin.json:1:2 expected a value", "plugin.json:1 {"),
            ("unsigned: plugin.sig:2:1 expected a value", "plugin.sig:2 ]"),
            (
                "manifest_invalid: version: must be N.N.N",
                r'plugin.json:3 "version": "\x1b1",',
            ),
            ("manifest_invalid: tags[]: wrong type", 'plugin.json:4 "tags": [1]'),
            ("invalid_id: an id is short", 'plugin.json:2 "id": "demo",'),
        ):
            self.assertEqual(quoted(self.root, message), [line])

    def test_nothing_to_quote(self):
        """Other refusals, absent fields and files lead to none."""
        for message in (
            "manifest_invalid: name: required",
            "manifest_invalid: plugin.json: must be an object",
            "manifest_invalid: plugin.json:99:1 expected a value",
            "manifest_invalid: main.ts is missing",
            "unsigned: there is no plugin.sig at the root",
            "build_failed: main.ts:1:2 no",
            "policy: main.ts:1 eval",
        ):
            self.assertEqual(quoted(self.root, message), [], message)
        (self.root / "plugin.json").unlink()
        self.assertEqual(quoted(self.root, "invalid_id: an id is short"), [])

    def test_attack_link(self):
        """A manifest that is a link to another file is not quoted."""
        (self.root / "secret").write_text("Zq9\n")
        (self.root / "plugin.json").unlink()
        (self.root / "plugin.json").symlink_to("secret")
        message = "manifest_invalid: plugin.json:1:1 expected a value"
        self.assertEqual(quoted(self.root, message), [])
