"""The walk over syntax nodes."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.finding import Finding
from bridge.plugins.policy.reading import Reading

from .syntax import parsed


class ReadingTests(SynchronousTestCase):
    """One walk."""

    def rules(self, code: str, suffix: str = ".ts") -> list[str]:
        """The rules a code breaks."""
        root, page = parsed(code, suffix)
        finding = Finding(f"a{suffix}", ())
        reading = Reading(finding, is_script=suffix == ".js")
        reading.read(root, len(page.data), page)
        return [rule for _, rule in finding.hits()]

    def test_types_end(self) -> None:
        """What follows a type is read again, on every level."""
        for code in (
            "let x: typeof a = fetch",
            "f<typeof a>(fetch)",
            "(x as typeof a, fetch)",
            "x = { y: a as B, z: fetch }",
            "function f(a: B): C { fetch }",
            "class A<B> implements C { x: D = fetch }",
            "interface A {}\nfetch",
            "type A = B; fetch",
            "declare const a: B;\nfetch",
        ):
            self.assertEqual(self.rules(code), ["fetch"], code)

    def test_scopes_end(self) -> None:
        """A name is the author's in its block and no further."""
        for code in (
            "{ let self = 1; self.x }\nself.y",
            "{ { let self = 1 } self.y }",
            "f = (self) => self.x, self.y",
            "for (const self of x) self.x\nself.y",
            "if (a) { const self = 1 } else { self.y }",
            "class A { f(self) { self.x } g() { self.y } }",
        ):
            self.assertEqual(self.rules(code), ["self"], code)

    def test_end(self) -> None:
        """Statements from the end of the piece on are left out."""
        root, page = parsed("f();\nfetch;\nfetch;")
        finding = Finding("a.ts", ())
        Reading(finding, is_script=False).read(root, 5, page)
        self.assertEqual(finding.hits(), [])

    def test_doubts(self) -> None:
        """A slash or an angle bracket is refused only where readers could differ."""
        self.assertEqual(self.rules("x = { }\n / 2"), ["ambiguous syntax"])
        self.assertEqual(self.rules("x = {}.y / 2 / f() / a[1] / (3)"), [])
        self.assertEqual(self.rules("if (a) {}\n/b/.test(c)"), [])
        self.assertEqual(self.rules("x = a > /b/"), ["ambiguous syntax"])
        self.assertEqual(self.rules("/a/"), [])
        self.assertEqual(self.rules("x = <a><b/>{<c/>}<d>e</d></a>", ".tsx"), [])

    def test_legacy_comments(self) -> None:
        """Comments of the oldest scripts are refused, comparisons are not."""
        self.assertEqual(self.rules("x <!--y", ".js"), ["html comment"])
        self.assertEqual(self.rules("x\n--> y", ".js"), ["html comment"])
        self.assertEqual(self.rules("<!-- x", ".js"), ["html comment"])
        self.assertEqual(self.rules("while (i --> 0) f()", ".js"), [])
        self.assertEqual(self.rules("a < !b", ".js"), [])

    def test_empty(self) -> None:
        """An empty text has nothing to find."""
        self.assertEqual(self.rules(""), [])
