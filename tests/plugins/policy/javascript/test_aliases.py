"""Names for global objects."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.javascript import aliases
from bridge.plugins.policy.javascript.aliases import Uses
from bridge.plugins.policy.javascript.tokens import Code, UnreadableError

from ..scanning import scan_source

COOKIE = ["document.cookie"]


class AliasTests(SynchronousTestCase):
    """Sources that name the document."""

    def rules(self, code: str) -> list[str]:
        """The rules a source breaks."""
        return [hit.rule for hit in scan_source("a.ts", code.encode())]

    def test_attack_assignments(self) -> None:
        """Whatever a name is given the document by, it is the document."""
        for code in (
            "const d = document",
            "const d = a ? document : b",
            "const d = a || b.c || document",
            "const d = (f(), document)",
            "const d = ((f(), g()), a ?? document)",
            "let d; d ||= document",
            "let d; d ??= document",
            "let d = 1; d &&= document",
            "let d, e; d = e = document",
            "let d, e; e = document; d = e",
            "var { d = document } = x",
            "const [d = document] = x",
            "const a = 1, d = document",
            "let d; ({ a: d = document } = x)",
        ):
            self.assertEqual(self.rules(f"{code}; d.cookie"), COOKIE, code)

    def test_attack_uses(self) -> None:
        """However a value is used, its members are found."""
        for code in (
            "(a || document).cookie",
            "(a, document)?.cookie",
            "(await document).cookie",
            "(a ? b : document)['cookie']",
            "(d = document).cookie",
            "f(document?.cookie)",
            "const { ['coo' + 'kie']: c } = document",
        ):
            self.assertEqual(self.rules(f"let d; {code}"), COOKIE, code)
        self.assertEqual(self.rules("x = document?.[y]"), ["document["])
        self.assertEqual(self.rules("const { [y]: x } = document"), ["document["])

    def test_attack_after_a_block(self) -> None:
        """Brackets that begin a statement after a block call nothing."""
        code = "(a || document).cookie = x"
        for block in (
            "function f() { g() }",
            "if (q) { g(); while (1); }",
            "{ let a }",
        ):
            self.assertEqual(self.rules(f"{block}\n{code}"), COOKIE)

    def test_attack_use_before_the_name(self) -> None:
        """A function may use a name that its block declares later."""
        code = "function go() { return d.cookie }\nconst d = document; go()"
        self.assertEqual(self.rules(code), COOKIE)
        self.assertEqual(self.rules(f"function f() {{ {code} }}"), COOKIE)
        self.assertEqual(self.rules(f"x = () => {{ {{ {code} }} }}"), COOKIE)

    def test_attack_name_of_a_loop(self) -> None:
        """What a loop's head declares is used in its body."""
        for head in ("const d = document; a;", "let d = document, i = 0; a;"):
            self.assertEqual(self.rules(f"for ({head}) {{ d.cookie; b() }}"), COOKIE)
            code = f"function f() {{ for ({head}) {{ d.cookie; b() }} }}"
            self.assertEqual(self.rules(code), COOKIE)

    def test_attack_two_objects(self) -> None:
        """A name can be that of several objects."""
        names = ("document", "location")
        for one, other in (names, names[::-1]):
            code = f"let d = {one}; if (a) d = {other};"
            self.assertEqual(self.rules(f"{code} x = d.cookie"), COOKIE)
            self.assertEqual(self.rules(f"{code} x = d.href"), ["location.href"])

    def test_attack_shadowed_names(self) -> None:
        """A name that hides another one does not hide what that is."""
        code = "const d = document; { const d = 1; f(d) } x = d.cookie"
        self.assertEqual(self.rules(code), COOKIE)
        code = "const d = 1; { const d = document; x = d.cookie } f(d)"
        self.assertEqual(self.rules(code), COOKIE)

    def test_honest(self) -> None:
        """Other values, and other names, are none of this."""
        for code in (
            "const d = document.body; d.cookie",
            "const d = f(document); d.cookie",
            "const d = [document]; d.cookie",
            "const d = { a: document }; d.cookie",
            "const d = document === a; d.cookie",
            "const d = (a = document) => a; d.cookie",
            "const d = () => { return document }; d.cookie",
            "{ const d = document; d.body } { const d = f(); d.cookie }",
            "a.d = document; d.cookie",
            "const d = document; const e = { d: 1 }; e.d.cookie",
            "const location = f(); location.href",
            "const d = typeof document; d.cookie",
        ):
            self.assertEqual(self.rules(code), [], code)


class StepTests(SynchronousTestCase):
    """How far names are followed."""

    def follow(self, text: str) -> Uses:
        """Follow every ``document`` of a text."""
        code = Code(text)
        uses = Uses(code)
        texts = enumerate(code.texts)
        uses.follow({n: "document" for n, one in texts if one == "document"})
        return uses

    def test_attack_too_many(self) -> None:
        """Where there is no end to it, nothing is accepted."""
        most = 20_000
        self.patch(aliases, "_MOST", most)
        for text in (
            "x = " + "document || " * 5_000 + "y;",
            "document.a;\n" * (most + 1),
        ):
            self.assertRaises(UnreadableError, self.follow, text)

    def test_attack_crowd(self) -> None:
        """A crowd of uses hides no name, at its start or at its end."""
        crowd = "document.a;\n" * 20_000
        for text in (f"d = document;\n{crowd}d.b;", f"{crowd}d = document;\nd.b;"):
            uses = self.follow(text)
            self.assertEqual(len(uses.found), 20_002)

    def test_chain(self) -> None:
        """A chain of names is followed to its end, and each name once."""
        text = "a0 = document;\n" + "".join(
            f"a{n + 1} = a{n};\n" * 2 for n in range(5_000)
        )
        found = self.follow(text).found
        self.assertIn((len(Code(text).kinds) - 2, "document"), found)
        self.assertLess(len(self.follow("a = document;\n" * 9_000).found), 18_001)
