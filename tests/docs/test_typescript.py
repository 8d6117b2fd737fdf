"""Tests for docs/typescript.py."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from runpy import run_path
from tempfile import TemporaryDirectory
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ..npm import tsc

DOCS = Path(__file__).parents[2] / "docs"
TYPES = DOCS.parent / "bridge/reference/packages/client/src/protocol.ts"

STRICT = {
    "strict": True,
    "exactOptionalPropertyTypes": True,
    "noUncheckedIndexedAccess": True,
    "isolatedModules": True,
    "verbatimModuleSyntax": True,
    "target": "ES2022",
    "module": "ESNext",
    "moduleResolution": "bundler",
    "types": [],
}

RIGHT = """\
import { CLOSES, LIMITS, METHODS, PREFIXES, PROTOCOL_VERSION } from "./protocol.js";
import type {
  ErrorCode, Events, MethodName, Methods, Params, Prefix, Result,
} from "./protocol.js";

const get: Params<"state/get"> = { ns: "host", key: "volume" };
const listed: Result<"plugins/list"> = { plugins: [], broken: [] };
const reason: string | undefined = listed.broken[0]?.reason;
const sent: Methods["osc/send"]["params"] = {
  address: "/a", args: [1, "b", true, { kind: "int", value: 1 }],
};
const progress: Events["progress"] = {
  op: "install", id: null, step: "a later step", message: "", operation: "1",
  ref: null, cancellable: true,
};
const code: ErrorCode = "rate_limited";
const prefix: Prefix = PREFIXES[0];
const name: MethodName = "plugins/check_updates";
const numbers: number[] = [
  LIMITS.frameBytes, METHODS[name].timeoutMs, CLOSES.shutdown.code,
];
const version: string = PROTOCOL_VERSION;
export { code, get, numbers, prefix, progress, reason, sent, version };
"""

WRONG = (
    'const a: Params<"state/get"> = { ns: "host" };',
    'const a: Params<"state/get"> = { ns: "host", key: "a", more: 1 };',
    'const a: Params<"osc/send">["args"] = [{ kind: "blob", value: 1 }];',
    'const a: Params<"notify/send"> = { title: "a", urgency: "soon" };',
    'const a: Params<"notify/targets"> = { more: 1 };',
    'const a: Result<"state/list">["entries"] = 5;',
    'const a: Events["error"]["retryAfter"] = "soon";',
    'const a: MethodName = "state/gets";',
    'const a: ErrorCode = "teapot";',
)


class TypesTests(SynchronousTestCase):
    """Tests for the committed types."""

    def compiled(self, text: str) -> str:
        """Compile a module next to the types; return what the compiler reports."""
        with TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "protocol.ts").write_bytes(TYPES.read_bytes())
            (folder / "use.ts").write_text(text, "utf-8")
            config = {"compilerOptions": STRICT, "files": ["use.ts"]}
            (folder / "tsconfig.json").write_text(json.dumps(config), "utf-8")
            return tsc(folder / "tsconfig.json").stdout

    def test_strict(self) -> None:
        """They pass the strict compiler, and so does what uses them rightly."""
        self.assertEqual(self.compiled(RIGHT), "")

    def test_wrong_use(self) -> None:
        """What the daemon would refuse does not compile."""
        imports = "import type {\n ErrorCode, Events, MethodName, Params, Result,\n}"
        lines = "\n".join(f"{{ {line} void a; }}" for line in WRONG)
        report = self.compiled(f'{imports} from "./protocol.js";\n{lines}\n')
        failed = set(re.findall(r"^\S*use\.ts\((\d+),", report, re.MULTILINE))
        first = imports.count("\n") + 2
        expected = {str(first + number) for number in range(len(WRONG))}
        self.assertEqual(failed, expected, report)


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
                '{\n  a: string;\n  "b-c"?: null;\n}',
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
