"""The scan of sources and trees, on a corpus of refused and honest code."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.reading import Source
from bridge.plugins.policy.rules.table import UNKNOWN
from bridge.plugins.policy.scan import Found, read_sources
from bridge.protocol.limits import POLICY_HITS

from .disguises import ACCEPTED, ACCEPTED_TSX, REFUSED, SNIPPETS
from .scanning import MARK, scan_source, scan_whole


def file_name(code: str) -> str:
    """Where a snippet stands: only one with JSX needs another grammar."""
    return (
        "src/a.tsx" if any(tag in code for tag in ("<div", "<iframe")) else "src/a.ts"
    )


def rules(code: str, name: str = "", rule: str = "") -> list[str]:
    """
    The rules a snippet breaks.

    :param rule: What is looked for, since most snippets declare nothing.
    """
    scan = scan_whole if rule == UNKNOWN else scan_source
    return [hit.rule for hit in scan(name or file_name(code), code.encode())]


class Again:
    """Asks the bundler, and gives other answers when a map is asked for."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.asked: list[str] = []
        self._answers = list(answers)

    def ask(self, request: dict[str, Any]) -> Deferred[Any]:
        """See ``Conversation.ask``."""
        is_mapped = "--sourcemap=external" in request["flags"]
        self.asked.append(f"{request['input'].decode()}{' mapped' * is_mapped}")
        return succeed(self._answers.pop(0))


class ReadingTests(SynchronousTestCase):
    """What is asked of the bundler, and when."""

    def read(self, bundler: Any, *texts: str) -> dict[str, Found]:
        """Read sources."""
        sources = [Source.of(f"{n}.ts", t.encode()) for n, t in enumerate(texts)]
        found: dict[str, Found] = {}
        reading = read_sources(bundler, sources, MARK, [], maybeDeferred, found)
        self.successResultOf(Deferred.fromCoroutine(reading))
        return found

    def test_only_what_breaks_a_rule_is_mapped(self) -> None:
        """It is read again, for its lines; the rest is not."""
        mapped = {"code": f"{MARK}eval();", "map": '{"mappings": ";;AAAA"}'}
        plain = {"code": "export {};\n", "map": ""}
        bundler = Again(plain, {**mapped, "map": ""}, mapped)
        self.assertEqual(
            self.read(bundler, "a", "b"), {"0.ts": [], "1.ts": [(1, "eval")]}
        )
        self.assertEqual(bundler.asked, ["a", "b", "b mapped"])

    def test_checked_when_all_are_read(self) -> None:
        """What is done with one answer makes no other source look too complex."""
        bundler = Again(*[{"code": "a;", "map": ""}] * 2)

        def in_thread(function: Any, *arguments: Any) -> Deferred[Any]:
            bundler.asked.append("check")
            return maybeDeferred(function, *arguments)

        sources = [Source.of("0.ts", b"a"), Source.of("1.ts", b"b")]
        reading = read_sources(bundler, sources, MARK, [], in_thread, {})  # type: ignore[arg-type]
        self.assertEqual(self.successResultOf(Deferred.fromCoroutine(reading)), [])
        self.assertEqual(bundler.asked, ["a", "b", "check", "check"])

    def test_lines(self) -> None:
        """Every hit has its line in the source."""
        for text, hit in (
            ("\n\neval('')", (3, "eval")),
            ("\nlet 1", (2, "syntax error")),
        ):
            [found] = scan_whole("a.ts", text.encode())
            self.assertEqual((found.line, found.rule), hit)

    def test_attack_second_answer(self) -> None:
        """A second answer acquits no source of what the first one showed."""
        bundler = Again(
            {"code": f"{MARK}eval();", "map": ""}, {"code": "a;", "map": ""}
        )
        self.assertEqual(self.read(bundler, "a"), {"0.ts": [(1, "eval")]})


class CorpusTests(SynchronousTestCase):
    """Each snippet by itself."""

    def test_attack_every_disguise(self) -> None:
        """Every construct is refused under its own rule in every disguise."""
        for rule, code in SNIPPETS:
            self.assertIn(rule, rules(code, rule=rule), code)

    def test_first_rule(self) -> None:
        """A construct written plainly is reported under its own rule first."""
        for rule, codes in REFUSED.items():
            self.assertEqual(rules(codes[0], rule=rule)[0], rule)

    def test_enough(self) -> None:
        """Each construct of the specification stands in three disguises or more."""
        thin = {rule for rule, codes in REFUSED.items() if len(codes) < 3}
        self.assertEqual(thin, {"location.replace"})
        self.assertGreaterEqual(len(ACCEPTED) + len(ACCEPTED_TSX), 60)

    def test_honest(self) -> None:
        """Everyday TypeScript is accepted."""
        for code in ACCEPTED:
            self.assertEqual(rules(code), [], code)

    def test_honest_tsx(self) -> None:
        """Everyday TSX is accepted, whatever its text is."""
        for code in ACCEPTED_TSX:
            self.assertEqual(rules(code, "src/a.tsx"), [], code)

    def test_honest_names(self) -> None:
        """Names of every page, declared ones, and questions about others pass."""
        for name, code in (
            ("a.ts", "export const a = [new URL('b', document.baseURI), Math.PI]"),
            ("a.ts", "export const runs = typeof Deno === 'undefined'"),
            ("a.ts", "import { b } from './b'; export function c(d) { return b(d) }"),
            ("a.cjs", "exports.a = function () { return arguments.length }"),
            ("a.js", "module.exports = process.env.NODE_ENV"),
            ("a.tsx", "import React from './react'; export const a = <div/>"),
            ("a.tsx", "/* @jsx h */ import { h } from './h'; export const a = <b/>"),
        ):
            self.assertEqual(rules(code, name, UNKNOWN), [], code)

    def test_javascript(self) -> None:
        """The same constructs are refused in JavaScript files."""
        for name in ("a.js", "a.mjs", "a.cjs", "a.jsx"):
            self.assertEqual(rules("const f = fetch", name), ["fetch"])
            self.assertEqual(rules("const f = (x) => x.fetch(1)", name), [])

    def test_attack_types_in_javascript(self) -> None:
        """Nothing hides in what a JavaScript file can only seem to call a type."""
        self.assertEqual(rules("f(a < import('x') > (b))", "a.js"), ["dynamic import"])
        self.assertEqual(rules("f(a < fetch, c > (d))", "a.js"), ["fetch"])
        for code in ("let x: self", "x as y", "enum A {}"):
            self.assertEqual(rules(code, "a.js"), ["syntax error"], code)

    def test_combined(self) -> None:
        """All honest snippets that declare nothing twice pass in one file."""
        code = "".join(f"{{\n{code}\n}}\n" for code in ACCEPTED if "port" not in code)
        found = {rule for rule in rules(code) if rule != "syntax error"}
        self.assertEqual(found, set())


class SourceTests(SynchronousTestCase):
    """What is reported of one file."""

    def test_report(self) -> None:
        """A hit is reported as file, line and rule."""
        (hit,) = scan_source("src/a.ts", b"f()\n\n  eval(s)\n")
        self.assertEqual(hit.report, "src/a.ts:3 eval")

    def test_order(self) -> None:
        """Tooling comes first, then the shape, then line by line imports and words."""
        code = (
            "fetch(u); eval(s)\n"
            "import x from '/x'; f(window)\n"
            "const a = '../eslint.config.mjs' // _0xdeadbeef\n"
        )
        self.assertEqual(
            [hit.report for hit in scan_source("src/a.ts", code.encode())],
            [
                "src/a.ts:3 references a tooling config",
                "src/a.ts:3 mangled identifiers",
                "src/a.ts:1 eval",
                "src/a.ts:1 fetch",
                "src/a.ts:2 import outside the plugin",
                "src/a.ts:2 window",
            ],
        )

    def test_at_most(self) -> None:
        """No more than fifty hits are reported."""
        self.assertEqual(len(scan_source("a.ts", b"eval(s)\n" * 60)), POLICY_HITS)

    def test_byte_order_mark(self) -> None:
        """A byte order mark at the start of a file is no invisible character."""
        self.assertEqual(scan_source("a.ts", b"\xef\xbb\xbff()"), [])
        self.assertEqual(
            scan_source("a.ts", b"\n\xef\xbb\xbff()")[0].rule, "invisible characters"
        )

    def test_line_ends(self) -> None:
        """Lines that end in CR LF are counted once."""
        (hit,) = scan_source("a.ts", b"f()\r\n\r\neval(s)\r\n")
        self.assertEqual(hit.line, 3)

    def test_attack_line_separator(self) -> None:
        """A character that ends a line for the bundler only is refused."""
        for character in ("\u2028", "\u2029", "\0"):
            code = f"// x {character}fetch(u)".encode()
            self.assertEqual(scan_source("a.ts", code)[0].rule, "invisible characters")

    def test_modules(self) -> None:
        """The host's own modules may be imported whatever they are called."""
        code = b"import { a } from 'host.test'"
        self.assertEqual(len(scan_source("a.ts", code)), 1)
        self.assertEqual(scan_source("a.ts", code, ["host.test"]), [])

    def test_control_characters(self) -> None:
        """A file's name is reported without control characters."""
        (hit,) = scan_source("a\x1b[1m\n.ts", b"eval(s)")
        self.assertEqual(hit.report, "a[1m.ts:1 eval")

    def test_large_file(self) -> None:
        """A hit far into a large file has its line in the whole file."""
        unit = b"export function f(a: number): number {\n  return a / 2;\n}\n"
        code = unit.replace(b"export ", b"x = ") * 4000
        code += b"\nconst self = 1; self.x; fetch(u)\n" + unit
        (hit,) = scan_source("a.ts", code)
        self.assertEqual(hit.report, "a.ts:12002 fetch")

    def test_large_statement(self) -> None:
        """One statement that fills a large file is read whole."""
        line = b"  { id: 'abc', names: ['a', 'b'], f: (x) => x },\n"
        code = b"const data = [\n" + line * 2500 + b"  fetch,\n];\n"
        (hit,) = scan_source("a.ts", code)
        self.assertEqual(hit.report, "a.ts:2502 fetch")

    def test_syntax_error_late(self) -> None:
        """A file that does not compile is refused for that, and only for that."""
        code = b"eval(s);\n" + b"f(1);\n" * 20_000 + b"const = 1;\n"
        self.assertEqual(
            [hit.report for hit in scan_source("a.ts", code)],
            ["a.ts:20002 syntax error"],
        )


class PropertyTests(SynchronousTestCase):
    """What holds of any source."""

    @given(st.binary(max_size=300), st.sampled_from(["a.ts", "b.tsx", "c/d.mjs"]))
    @settings(deadline=None, max_examples=150)
    def test_any_bytes(self, content: bytes, name: str) -> None:
        """Any bytes are scanned without an exception."""
        for hit in scan_source(name, content):
            self.assertEqual(hit.file, name)
            self.assertGreaterEqual(hit.line, 1)

    @given(
        st.lists(
            st.sampled_from([*"(){}[]<>/'\"`\\\n;,.=!?:", "fetch", "a ", "=>", "${"]),
            max_size=60,
        )
    )
    @settings(deadline=None, max_examples=150)
    def test_any_tokens(self, tokens: list[str]) -> None:
        """Any run of tokens is scanned without an exception."""
        scan_source("a.tsx", "".join(tokens).encode())

    @given(
        st.sampled_from(SNIPPETS),
        st.sampled_from(
            ["// a window, eval(x)\n", "/* fetch\n */ ", "\n", "'use x';\n"]
        ),
    )
    @settings(deadline=None)
    def test_comment_before(self, snippet: tuple[str, str], text: str) -> None:
        """A comment or a plain statement before a construct never hides it."""
        rule, code = snippet
        self.assertIn(rule, rules(text + code, file_name(code), rule))

    @given(
        st.sampled_from(ACCEPTED),
        st.text(
            st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Zl", "Zp"]),
            max_size=100,
        ),
    )
    @settings(deadline=None)
    def test_comment_after(self, code: str, text: str) -> None:
        """No comment of words makes honest code refused."""
        words = " ".join(text.replace("#", "").replace("@", "").split("_0x"))
        self.assertEqual(rules(f"{code}\n// {words}"), [])
