"""Tests for docs/generate.py, docs/parts.py and docs/typescript.py."""

import re
import sys
from runpy import run_path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from .building import DOCS


class _ScriptTestCase(SynchronousTestCase):
    def made(self, name: str) -> dict[str, Any]:
        """Run a script, as far as it goes when it is imported."""
        self.patch(sys, "path", [str(DOCS), *sys.path])
        return run_path(str(DOCS / name))


class CommittedTests(_ScriptTestCase):
    def test_is_current(self):
        """Every file is what the code generates; run ``python docs/generate.py``."""
        for path, text in self.made("generate.py")["shipped"]():
            self.assertEqual(text, path.read_text("utf-8"), path)

    def test_no_stale_schema(self):
        made = self.made("generate.py")
        names = {path.name for path, _ in made["shipped"]()}
        held = {path.name for path in made["SCHEMAS"].glob("*.json")}
        self.assertLessEqual(held, names)


class PartsTests(_ScriptTestCase):
    def test_parts(self):
        """Every part has a page, every page's parts have a writer, and has words."""
        made = self.made("parts.py")
        named = set()
        for page in DOCS.rglob("*.md"):
            text = page.read_text("utf-8")
            named.update(re.findall(r"<!-- generated: (\w+) -->\n`", text))
            filled = made["filled"](text)
            self.assertNotIn("<!-- generated", filled, page)
            # What has no words would be documented as a full stop.
            self.assertNotIn("\n: .\n", filled, page)
        self.assertEqual(named, made["WRITERS"].keys())
        for name, write in made["WRITERS"].items():
            self.assertTrue("".join(write()), name)

    def test_plugin_api(self):
        """All that a plugin can import is listed, each name after its comment."""
        made = self.made("manual.py")
        listed = "\n".join(made["plugin_api"]())
        index = (made["_API"] / "index.ts").read_text("utf-8")
        lists = " ".join(
            re.findall(r"^export (?:type )?\{(.*?)\}", index, re.MULTILINE | re.DOTALL)
        )
        names = {"definePlugin", "fakeContext", *re.findall(r"\w+", lists)}
        self.assertGreater(len(names), 40)
        for name in names:
            self.assertRegex(listed, rf" \*/\nexport \w+ {name}\b")
            self.assertEqual(len(re.findall(rf"\nexport \w+ {name}\b", listed)), 1)
        for hidden in ("import ", "} from", "const lines"):
            self.assertNotIn(hidden, listed)


class WriterTests(_ScriptTestCase):
    def test_unknown_keyword(self):
        """A keyword that nobody has decided about is an error, not left out."""
        made = self.made("typescript.py")
        for schema in (
            {"type": "string", "contentEncoding": "base64"},
            {"type": "object", "properties": {"a": {"oneOf": []}}},
        ):
            with self.assertRaises(made["UnknownKeywordError"]):
                made["Writer"]().type_of(schema)
