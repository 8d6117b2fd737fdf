"""Disguises that random programs and readers of the code have found."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from .scanning import scan_source

TAG = "createElement of a code-loading tag"


class FoundTests(SynchronousTestCase):
    """Each was live in a bundle, and no hit."""

    def rules(self, code: str) -> list[str]:
        """The rules that a source breaks."""
        return [hit.rule for hit in scan_source("src/a.ts", code.encode())]

    def test_attack_comment_in_a_pattern(self) -> None:
        """The bundler writes brackets around a target with a comment in front."""
        for code, rule in (
            ("({a:/* x */o.outerHTML}=x)", "outerHTML assignment"),
            ("({a:/*x*/o.outerHTML= 1}=x)", "outerHTML assignment"),
            ("({a:// x\no.innerHTML}=x)", "innerHTML assignment"),
            ("[/*x*/o.innerHTML]=x", "innerHTML assignment"),
            ("({a:/*x*/{constructor:y}}=x)", "constructor"),
            ("({a:/*x*/{constructor:y}=1}=x)", "constructor"),
        ):
            self.assertEqual(self.rules(code), [rule], code)

    def test_attack_statement_after_a_block(self) -> None:
        """A bracket that begins a statement after a block groups a value."""
        for block in ("function f(){a()}", "class A{x}", "if(a){try{b()}catch{}}"):
            for code, rule in (
                ("(0, d.createElement)('script')", TAG),
                ("(c?d.createElement:0)('script')", TAG),
                ("(a,document).cookie", "document.cookie"),
            ):
                self.assertEqual(self.rules(f"{block}\n{code}"), [rule], block + code)

    def test_attack_grouped_timer(self) -> None:
        """A timer of any object is one in brackets, too."""
        rule = "setTimeout with a string"
        self.assertEqual(self.rules("(0, d.x.setTimeout)('a')"), [rule])

    def test_attack_bound(self) -> None:
        """A function's first arguments can be bound to it."""
        for code, rule in (
            ("x = document.createElement.bind(document)('script')", TAG),
            ("x = document.createElement.bind(document, 'script')()", TAG),
            ("setTimeout.bind(null)('x')", "setTimeout with a string"),
        ):
            self.assertEqual(self.rules(code), [rule], code)
        self.assertEqual(self.rules("f(d.createElement.bind(d)('div'))"), [])

    def test_attack_folded_in_a_file_with_pragmas(self) -> None:
        """Constants are folded in files that are read twice, too."""
        code = """/* @jsx h */
for (o[(`i${"nn"}` + `erHTML`)] of x) f(<b/>)
"""
        found = [hit.rule for hit in scan_source("src/a.tsx", code.encode())]
        self.assertEqual(found, ["innerHTML assignment"])

    def test_empty_array_after_a_block(self) -> None:
        """An array that begins a statement after a block is no member."""
        self.assertEqual(self.rules("class A{}\n([]/x/g)"), [])


class HonestTests(SynchronousTestCase):
    """What published code has, and what is no construct."""

    def rules(self, code: str) -> list[str]:
        """The rules that a source breaks."""
        return [hit.rule for hit in scan_source("src/a.ts", code.encode())]

    def test_method_called_import(self) -> None:
        """A method may be called import; a call of it is one of a member."""
        code = "class A { async import(key: any) { return key } static import(b) {} }"
        self.assertEqual(
            self.rules(f"{code}\nx = {{ import(a) {{}} }}; x.import(1)"), []
        )

    def test_environment_of_the_build(self) -> None:
        """What the build replaces by a constant is no process."""
        self.assertEqual(self.rules("if (process.env.NODE_ENV !== 'x') f()"), [])
        self.assertEqual(self.rules("f(process.env.HOME)"), ["process"])
