"""Sources made to keep the daemon busy: its own share of the work is bounded."""

from typing import Final

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.javascript.constructs import output_hits
from bridge.plugins.policy.reading import Source
from bridge.protocol.limits import KIB

from ...counting import calls_made
from .scanning import MARK, read_source, scan_source

_LINE: Final = 90


def repeated(unit: str, size: int) -> str:
    """Lines of one unit, up to a size."""
    line = unit * max(1, _LINE // len(unit)) + "\n"
    return line * (size // len(line))


SOURCES: Final = {
    "calls": repeated("eval(s);", 16 * KIB),
    "members": repeated("a.constructor;", 16 * KIB),
    "divisions": repeated("a/b/c;", 8 * KIB),
    "classes": repeated("class A{b(){}}", 8 * KIB),
    "brackets": "x = " + repeated("(", 8 * KIB),
    "arrows": "x = " + repeated("()=>", 8 * KIB) + "0",
    "lists": "f(window,\n" + repeated("[", 4 * KIB) + repeated("]", 4 * KIB) + ")",
    "texts": "setTimeout([\n" + repeated("'a',", 32 * KIB) + "])",
    "choices": f"document.createElement(\n{repeated('a?b:', 8 * KIB)}c)",
    "documents": "x = document\n" + repeated("||document", 32 * KIB),
    "members of documents": "x = a\n" + repeated("||document.a", 32 * KIB),
    "assignments": "let a;\n" + repeated("a=document;", 32 * KIB),
    "names": "a0=document;\n" + "".join(f"a{n + 1}=a{n};\n" for n in range(4_000)),
    "objects": "el.innerHTML = " + "Object.assign(\n" * 100 + "y" + ")" * 100,
    "wide objects": "el.innerHTML = Object.assign(\n"
    + repeated("Object.b(c),", 32 * KIB)
    + "d)",
    "patterns": "([\n" + repeated("{constructor:a},", 64 * KIB) + "] = x)",
    "exports": "export default a\n" + repeated("+a", 256 * KIB),
    "elements": "/* @jsx h */\n" + repeated("f(<a>b</a>);", 16 * KIB),
    "strings": "x = [window,\n" + repeated("'a',", 32 * KIB) + "]",
    "regular expressions": "x = [window,\n" + repeated("/[/]/,", 64 * KIB) + "]",
}
"""By what they are made of; none of them is honest."""

CALLS = 30
"""Calls for each byte of output, at most: twice what the worst of them takes."""


class Searched(bytes):
    """The content of a source, which counts how often all of it is looked through."""

    times = 0

    def __contains__(self, part: object) -> bool:
        self.times += 1
        return super().__contains__(part)  # type: ignore[operator]


class WorkTests(SynchronousTestCase):
    """Calls of functions, for each byte that the bundler writes."""

    def work(self, source: str) -> float:
        """How much work a source is, after the bundler has read it."""
        name, content = "a.tsx", source.encode()
        answer = read_source(name, content)
        given = Source(name, content)
        calls = calls_made(lambda: output_hits(given, answer, [], MARK))
        # A deep source is refused after a constant number of steps.
        return calls / (len(answer.code) + 64 * KIB)

    def test_attack_every_source(self) -> None:
        """Nothing that is repeated is more work than its size."""
        for name, source in SOURCES.items():
            self.assertLess(self.work(source), CALLS, name)

    def test_attack_many_names(self) -> None:
        """No source is looked through again for each of its names."""
        content = Searched(f"export default a\n{repeated('+a', KIB)}".encode())
        answer = read_source("a.tsx", bytes(content))
        output_hits(Source("a.tsx", content), answer, [], MARK)
        self.assertEqual(content.times, 1)


class VerdictTests(SynchronousTestCase):
    def rules(self, source: str) -> set[str]:
        return {hit.rule for hit in scan_source("a.ts", source.encode())}

    def test_attack_nesting(self) -> None:
        """Nesting that nobody writes is refused, wherever it is looked into."""
        for source in (
            "setTimeout(" + "[\n" * 300 + "f" + "]\n" * 300 + ")",
            "x = window[" + "{constructor:\n" * 300 + "1" + "}\n" * 300 + "]",
            "document;x=" + "a ?? (document ||\n(" * 300 + "1" + "))\n" * 300,
        ):
            self.assertEqual(self.rules(source), {"too complex to check"})

    def test_honest_sizes(self) -> None:
        """Nesting, and as many functions, as somebody might write is read."""
        for source in (
            "a(() => {\n" * 100 + "fetch(u)\n" + "})\n" * 100,
            "x = () => { const d = document; d.a(); return fetch(d.body) }\n" * 800,
        ):
            self.assertEqual(self.rules(source), {"fetch"})

    def test_attack_crowds(self) -> None:
        """No crowd hides what is refused."""
        crowd = "f(document.a)\n" * 1_500
        for source in (
            f"const d = document\n{crowd}d.cookie",
            f"{crowd}const d = document\nd.cookie",
            f"x = d => d.cookie\n{crowd}const d = document\nd.cookie",
        ):
            self.assertEqual(self.rules(source), {"document.cookie"})
