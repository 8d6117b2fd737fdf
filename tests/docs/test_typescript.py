"""Tests for docs/typescript.py."""

from __future__ import annotations

import sys
from pathlib import Path
from runpy import run_path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

DOCS = Path(__file__).parents[2] / "docs"


class WriterTests(SynchronousTestCase):
    """Tests for types of schemas."""

    def made(self) -> dict[str, Any]:
        """Run the module."""
        self.patch(sys, "path", [str(DOCS), *sys.path])
        return run_path(str(DOCS / "typescript.py"))

    def test_types(self) -> None:
        """Each shape has its type."""
        writer = self.made()["Writer"](frozenset({"Step"}))
        for schema, written in (
            ({}, "unknown"),
            ({"type": "integer", "minimum": 1}, "number"),
            ({"type": ["string", "null"]}, "string | null"),
            ({"const": "a"}, '"a"'),
            ({"enum": ["a", "b"]}, '"a" | "b"'),
            ({"enum": ["a"], "x-open": True}, 'Open<"a">'),
            ({"$ref": "#/$defs/Step"}, "Open<Step>"),
            ({"$ref": "#/$defs/Update"}, "Update"),
            ({"type": "array", "items": {"type": "string"}}, "Array<string>"),
            ({"type": "object"}, "{ [name: string]: unknown }"),
            (
                {"type": "object", "additionalProperties": False},
                "{ [name: string]: never }",
            ),
            (
                {
                    "type": "object",
                    "required": ["a"],
                    "properties": {"a": {"type": "string"}, "b-c": {"type": "null"}},
                },
                '{ a: string; "b-c"?: null; }',
            ),
        ):
            self.assertEqual(writer.type_of(schema), written)

    def test_unknown_keyword(self) -> None:
        """A keyword that nobody has decided about is an error, not left out."""
        made = self.made()
        for schema in (
            {"type": "string", "contentEncoding": "base64"},
            {"type": "object", "properties": {"a": {"oneOf": []}}},
        ):
            with self.assertRaises(made["UnknownKeywordError"]):
                made["Writer"]().type_of(schema)
