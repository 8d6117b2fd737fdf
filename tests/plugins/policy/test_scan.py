"""The scan of sources and trees; what each construct is, the corpus has."""

import random
import string
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.reading import Source
from bridge.plugins.policy.scan import read_sources, shape_hits
from bridge.plugins.tree.tree import is_test_name
from bridge.protocol.limits import POLICY_HITS, SOURCE_BYTES

from ...directories import fresh_directory, write_files
from .scanning import MARK, loose_hits, scan_source, scan_tree, scan_whole


class Again:
    """
    Asks the bundler, and gives other answers when a map is asked for.

    :ivar asked: What is asked of it, and what is called in a thread.
    """

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.asked: list[str] = []
        self._answers = list(answers)

    def ask(self, request: dict[str, Any]) -> Deferred[Any]:
        is_mapped = "--sourcemap=external" in request["flags"]
        source = request["input"].decode().removeprefix('"use strict";')
        self.asked.append(f"{source}{' mapped' * is_mapped}")
        return succeed(self._answers.pop(0))

    def in_thread(self, function: Any, *arguments: Any) -> Deferred[Any]:
        self.asked.append(" ".join([function.__name__, *map(str, arguments[-1:])]))
        return maybeDeferred(function, *arguments)


# Of what can be stopped.
CHECK = "begin"


class ReadingTests(SynchronousTestCase):
    """What is asked of the bundler, and when."""

    def read(self, bundler: Any, *texts: str, ending: str = "ts") -> dict[str, Any]:
        """Have sources read; return the lines and rules of their hits."""
        sources = [Source(f"{n}.{ending}", t.encode()) for n, t in enumerate(texts)]
        reading = read_sources(bundler, sources, MARK, [], bundler.in_thread)
        verdicts = self.successResultOf(Deferred.fromCoroutine(reading))
        return {
            name: [(hit.line, hit.rule) for hit in hits]
            for name, hits in verdicts.items()
        }

    def test_only_what_breaks_a_rule_is_mapped(self) -> None:
        """All are read, then checked; only what breaks a rule is read for its lines."""
        mapped = {"code": f"{MARK}eval();", "map": '{"mappings": ";;AAAA"}'}
        plain = {"code": "export {};\n", "map": ""}
        bundler = Again(plain, {**mapped, "map": ""}, mapped)
        self.assertEqual(
            self.read(bundler, "a", "b"), {"0.ts": [], "1.ts": [(1, "eval")]}
        )
        names = [f"marking {text}" for text in "ab"]
        asked = [names[0], "a", names[1], "b", CHECK, CHECK]
        self.assertEqual(bundler.asked, [*asked, names[1], "b mapped", CHECK])

    def test_names_of_elements(self) -> None:
        """They are looked for in a thread, and not in the long line of a map."""
        text = "f();\n//# sourceMappingURL="
        first, second = ({"code": f, "map": ""} for f in (text, f"{MARK}eval();"))
        bundler = Again(first, second, first, second)
        self.assertTrue(self.read(bundler, "a", ending="tsx")["0.tsx"])
        asked = ["a", f"marking {text}", text, CHECK]
        asked += ["a", "marking f();\n", f"{text} mapped", CHECK]
        self.assertEqual(bundler.asked, asked)

    def test_attack_second_answer(self) -> None:
        """A second answer acquits no source of what the first one showed."""
        bundler = Again(
            {"code": f"{MARK}eval();", "map": ""}, {"code": "a;", "map": ""}
        )
        self.assertEqual(self.read(bundler, "a"), {"0.ts": [(1, "eval")]})


RANDOM = random.Random(1)  # noqa: S311


def noise(length: int) -> str:
    """Random base64 characters."""
    return "".join(RANDOM.choices(string.ascii_letters + string.digits, k=length))


class ShapeTests(SynchronousTestCase):
    """Each rule at its boundary."""

    def test_accepted(self) -> None:
        """What people write is accepted."""
        for text in (
            "",
            "x " * 475,
            "x" * 1000,
            r"'\x41\x42\u0043'",
            r"'" + r"\x41" * 8 + "'",
            "_0xy _0x12 0x3a2b",
            "a" * 64 + "0123456789abcdef" * 4,
            "=" * 900,
            "abababab" * 100,
            noise(255),
            "\n".join(["x " * 200] * 3),
            "\n".join(["x " * 125] * 25),
            "é ü 漢字 😀",
        ):
            self.assertEqual(list(shape_hits(text)), [], text[:60])

    def test_refused(self) -> None:
        """Each rule refuses what is just beyond it, and says on which line."""
        unseen = "\u200b\u200f\u202a\u202e\u2060\u2064\u2066\u2069\ufeff"
        invisible, mangled = "invisible characters", "mangled identifiers"
        rows: Any = (
            # What is in such a line is not looked at.
            ("f()\n" + "_0x3a2b " * 126, (2, "minified")),
            *((f"a{character}b", (1, invisible)) for character in unseen),
            *(
                (escape * 9, (1, "escape sequences"))
                for escape in (r"\x41", r"\u0041", r"\u{41}")
            ),
            ("var a_0x3A2b", (1, mangled)),
            (f"'{noise(256)}'", (1, "opaque blob")),
            # Empty lines do not thin them.
            ("\n\n".join(["x " * 200] * 25), (1, "packed source")),
            (
                "_0x3a2b \u200b\n\n" + "x" * 1001,
                *((1, invisible), (1, mangled), (3, "minified")),
            ),
        )
        for text, *hits in rows:
            self.assertEqual(list(shape_hits(text)), hits, text[:60])


class SourceTests(SynchronousTestCase):
    def test_reports(self) -> None:
        """Each hit has its file, its line and its rule."""
        part = b"x = function f(a: number): number {\n  return a / 2;\n}\n"
        row = b"  { id: 'abc', names: ['a', 'b'], f: (x) => x },\n"
        for name, code, report in (
            ("src/a.ts", b"f()\n\n  eval(s)\n", "src/a.ts:3 eval"),
            ("a.ts", b"f()\r\n\r\neval(s)\r\n", "a.ts:3 eval"),
            ("a.ts", b"// a comment\rfetch(u)", "a.ts:2 fetch"),
            ("a.ts", b"\nlet 1", "a.ts:2 syntax error"),
            ("a.ts", b"\xef\xbb\xbfeval(s)", "a.ts:1 eval"),
            ("a\x1b[1m\n.ts", b"eval(s)", "a[1m.ts:1 eval"),
            ("a.ts", (b"eval(s);" * 40 + b"\n") * 20, "a.ts:1 packed source"),
            # Far into a large file, in a large statement, and what does not compile.
            ("a.ts", part * 4000 + b"const self = 1; self.x; fetch(u)\n" + part, ""),
            ("a.ts", b"const d = [\n" + row * 2500 + b"  fetch,\n];\n", ""),
            ("a.ts", b"eval(s);\n" + b"f(1);\n" * 20_000 + b"const = 1;\n", ""),
        ):
            late = {12: "a.ts:12001 fetch", 2: "a.ts:2502 fetch"}
            late[20] = "a.ts:20002 syntax error"
            expected = report or late[code.count(b"\n") // 1000]
            reports = [hit.report for hit in scan_source(name, code)]
            self.assertEqual(reports, [expected], code[:40])

    def test_attack_line_separator(self) -> None:
        """A character that ends a line for the bundler only is refused."""
        for character in ("\u2028", "\u2029", "\0"):
            code = f"// x {character}fetch(u)".encode()
            self.assertEqual(scan_source("a.ts", code)[0].rule, "invisible characters")

    def test_honest_names(self) -> None:
        """Names of every page, declared ones, and questions about others pass."""
        for name, code in (
            ("a.ts", "export const a = [new URL('b', document.baseURI), Math.PI]"),
            ("a.ts", "// \u2e2f\nexport const a = 1"),
            ("a.ts", "export const runs = typeof Deno === 'undefined'"),
            ("a.ts", "import { b } from './b'; export function c(d) { return b(d) }"),
            ("a.d.ts", "declare const a: (b: B) => C; export default a"),
            ("a.cjs", "exports.a = function () { return arguments.length }"),
            ("a.js", "module.exports = process.env.NODE_ENV"),
            ("a.tsx", "import React from './react'; export const a = <div/>"),
            ("a.tsx", "/* @jsx h */ import { h } from './h'; export const a = <b/>"),
        ):
            self.assertEqual(scan_whole(name, code.encode()), [], code)


class TreeTests(SynchronousTestCase):
    def reports(self, files: dict[str, str]) -> list[str]:
        """What is reported of a tree of these files."""
        root = fresh_directory(self)
        write_files(root, files)
        return [hit.report for hit in loose_hits(scan_tree(root))]

    def test_honest(self) -> None:
        """A tree as authors publish it is accepted."""
        files = {
            "main.ts": "import { a } from './src/a'\nexport default a\n",
            "src/a.ts": "export const a = 1\n",
            "src/a.test.ts": "eval(s)\n",
            "eslint.config.mjs": "export default [{ x: localStorage }]\n",
            "vitest.config.ts": "process.env\n",
            "scripts/sign-plugin.mjs": "process.argv\n",
            "README.md": "eval(s) and eslint.config.mjs\n",
            "plugin.json": '{"id": "ab"}',
            "package.json": '{"scripts": {"l": "eslint -c eslint.config.mjs"}}',
            # Style sheets, and packages that nothing imports, are not looked at.
            "docs/site.css": "body { background: url(/img/bg.png) }",
            "docs/old.css": "@import '../../a.css';",
            "tools/package.json": '{"main": "../../index.js",}',
        }
        self.assertEqual(self.reports(files), [])

    def test_attack_exempt_elsewhere(self) -> None:
        """A file is exempt at its own place only."""
        paths = ("scripts/x.mjs", "sign-plugin.mjs", "src/eslint.config.mjs")
        self.assertEqual(
            self.reports(dict.fromkeys(paths, "process.exit()\n")),
            [f"{path}:1 process" for path in paths],
        )

    def test_attack_exempt_in_json(self) -> None:
        """No JSON file may name an exempt file, before anything else is looked at."""
        files = {
            "main.ts": "eval(s)\n",
            "data.JSON": '{\n "x": "./ESLINT\\u002econfig.mjs"}',
            "package.json": '{"browser": {"./a": "./sign-plugin.mjs"}}',
        }
        self.assertEqual(
            self.reports(files),
            [
                "data.JSON:2 references a tooling config",
                "package.json:1 references a tooling config",
                "main.ts:1 eval",
            ],
        )

    def test_order(self) -> None:
        """Files come by name, directories where their name stands, whole."""
        paths = ("b.ts", "a/z.ts", "a/b/c.js", "c.mts", "a.tsx", "B.cts", "a.TS")
        reports = self.reports(dict.fromkeys(paths, "eval(s)"))
        self.assertEqual(
            [report.partition(":")[0] for report in reports],
            ["B.cts", "a/b/c.js", "a/z.ts", "a.tsx", "b.ts", "c.mts"],
        )

    def test_test_names(self) -> None:
        """A test file has test or spec between the first and the last part."""
        for name in ("a.test.ts", "a.Spec.js", "a.test.d.ts", ".test.ts"):
            self.assertTrue(is_test_name(name), name)
        for name in ("test.ts", "latest.ts", "a.tests.ts", "a.test", "spec"):
            self.assertFalse(is_test_name(name), name)

    def test_declarations(self) -> None:
        """They are scanned as far as the bundler can read them."""
        files = {"a.d.ts": "export const a: A;", "b.D.mts": "declare const b: B;"}
        self.assertEqual(self.reports(files), [])
        self.assertEqual(self.reports({"c.d.ts": "eval(s)"}), ["c.d.ts:1 eval"])
        self.assertEqual(self.reports({"d.ts": "const d;"}), ["d.ts:1 syntax error"])

    def test_too_many_files(self) -> None:
        """More than two hundred sources are refused as a whole; tests don't count."""
        names = (f"f{number}" for number in range(200))
        files = {f"{name}{end}": "" for name in names for end in (".ts", ".test.ts")}
        self.assertEqual(self.reports(files), [])
        files["one.more.ts"] = "eval(s)"
        self.assertEqual(self.reports(files), ["more than 200 source files"])

    def test_too_large(self) -> None:
        """More than 2 MiB of sources are refused as a whole, and not read."""
        self.assertEqual(
            self.reports({"a.ts": "eval(s)\n", "b.ts": "\n" * SOURCE_BYTES}),
            ["a.ts:1 eval", "more than 2097152 bytes of source"],
        )

    def test_at_most(self) -> None:
        """No more than fifty hits are reported of a tree."""
        files = {f"{number}.ts": "eval(1)\n" * 40 for number in range(3)}
        self.assertEqual(len(self.reports(files)), POLICY_HITS)


class PropertyTests(SynchronousTestCase):
    @given(st.binary(max_size=300), st.sampled_from(["a.ts", "b.tsx", "c/d.mjs"]))
    @settings(max_examples=150)
    def test_any_bytes(self, content: bytes, name: str) -> None:
        """Any bytes are scanned without an exception."""
        for hit in scan_source(name, content):
            self.assertEqual(hit.file, name)
            self.assertGreaterEqual(hit.line, 1)
