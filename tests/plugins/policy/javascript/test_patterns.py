"""What brackets mean."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.javascript.patterns import (
    all_texts,
    argument,
    arguments,
    is_assigned,
    is_pattern,
    key_name,
    keys,
    texts,
)
from bridge.plugins.policy.javascript.tokens import Code


def place(code: Code, text: str) -> int:
    """The index of the first token with a text."""
    return code.texts.index(text)


class PatternTests(SynchronousTestCase):
    """Brackets that are assigned to."""

    def holds(self, text: str) -> bool:
        """Whether the bracket around ``k`` is a pattern."""
        code = Code(text)
        return is_pattern(code, code.parent[place(code, "k")])

    def test_patterns(self) -> None:
        """They are assigned to, declared, looped over, or parameters."""
        for text in (
            "({ k: a } = b);",
            "const { k } = a;",
            "[k] = a;",
            "[{ k }] = a;",
            "({ a: { k } } = b);",
            "({ ...{ k } } = b);",
            "for (const { k } of a) b();",
            "for ({ k } in a) b();",
            "for await (const [{ k }] of a) b();",
            "f = ({ k }) => a;",
            "f = (a, [{ k }] = []) => a;",
            "function f({ k }) {\n}",
            "try {\n} catch ({ k }) {\n}",
            "x = { f({ k }) {\n} };",
        ):
            self.assertTrue(self.holds(text), text)

    def test_values(self) -> None:
        """Other brackets are values, or statements."""
        for text in (
            "x = { k: 1 };",
            "x = [{ k }];",
            "f({ k });",
            "{\n  k;\n}",
            "if ({ k }) {\n}",
            "switch ([k]) {\n}",
            "while ([{ k }]) {\n}",
            "for (a of [k]) b();",
            "f = (a = { k: 1 }) => b;",
            "x = { k } in a;",
            "x = a ? { k } : b;",
        ):
            self.assertFalse(self.holds(text), text)

    def test_assigned_members(self) -> None:
        """A member is assigned to by itself, in a pattern, or by a loop."""
        for text, is_target in (
            ("a.k = 1;", True),
            ("a.k += 1;", True),
            ("a.k ??= 1;", True),
            ("[a.k] = b;", True),
            ("({ b: a.k, c } = d);", True),
            ("for (a.k of b) c();", True),
            ("a.k;", False),
            ("a.k === 1;", False),
            ("x = [a.k];", False),
            ("x = { b: a.k };", False),
            ("if (a.k in b) c();", False),
            ("f(a.k, 1);", False),
        ):
            code = Code(text)
            self.assertEqual(is_assigned(code, place(code, "k")), is_target, text)


class KeyTests(SynchronousTestCase):
    """Names of members."""

    def test_keys(self) -> None:
        """Constant names are known, computed ones are there, spreads are not."""
        text = (
            'x = { a: 1, "b-c": 2, ["d"]: 3, [e]: 4, ...f, get g() {\n}, async *h() {'
            "\n}, get: 5, set() {\n}, static, async = 6 };"
        )
        code = Code(text)
        found = [name for _, name in keys(code, place(code, "{"))]
        names = ["a", "b-c", "d", None, "g", "h", "get", "set", "static", "async"]
        self.assertEqual(found, names)
        empty = Code("x = {};")
        self.assertEqual(list(keys(empty, 2)), [])

    def test_key_name(self) -> None:
        """After the name comes what follows the key."""
        for text, name in (("a: 1", "a"), ('["a"]: 1', "a"), ("[a]: 1", None)):
            code = Code(text)
            found, after = key_name(code, 0)
            self.assertEqual((found, code.text(after)), (name, ":"))


class TextTests(SynchronousTestCase):
    """Strings that an argument can be."""

    def found(self, given: str) -> list[str]:
        """The strings that the first argument of a call can be."""
        code = Code(f"f({given}, 'z');")
        return [value for _, value in texts(code, arguments(code, 1)[0])]

    def test_found(self) -> None:
        """In brackets, arrays, sums, choices and after functions."""
        for given in (
            '"a"',
            '("a")',
            '["a"]',
            '...["a"]',
            'b + "a"',
            'b ? "a" : c',
            'b || "a"',
            '(b, "a")',
            'function b(c = "d") {\n} + "a"',
            'function*(c = "d") {\n} + "a"',
            'class b {\n} + "a"',
            '__template || (__template = __templateObject(["a"]))',
            '"\\x61"',
        ):
            self.assertEqual(self.found(given), ["a"], given)

    def test_not_found(self) -> None:
        """Not those that are compared, nor those inside of functions and calls."""
        for given in (
            "b",
            'b === "a" ? c : d',
            'b("a")',
            'b["a"]',
            '{ b: "a" }',
            '(b = "a") => c',
            'async (b = "a") => c',
            '() => "a"',
            'function() {\n  return "a";\n}',
            'b("a")("c").d',
        ):
            self.assertEqual(self.found(given), [], given)


class CallTests(SynchronousTestCase):
    """Calls of ``f``, which is the first token."""

    def argument(self, text: str, number: int = 0) -> str | None:
        """The first token of an argument."""
        code = Code(text)
        at = argument(code, 0, number)
        return None if at is None else code.text(at)

    def test_attack_borrowed(self) -> None:
        """What call, apply and bind pass on is found behind what ``this`` is."""
        for text in (
            "f.call(t, a, b);",
            "f?.call(t, a, b);",
            "f.call?.(t, a, b);",
            "f.apply(t, [a, b]);",
            "f.bind(t, a, b);",
            "f.bind(t, a)(b);",
            "f.bind(t)(a, b);",
            "f.bind(t)?.(a, b);",
        ):
            found = [self.argument(text, number) for number in range(3)]
            self.assertEqual(found, ["a", "b", None], text)

    def test_none(self) -> None:
        """What is no call has no argument, nor has a list that is computed."""
        for text in ("f;", "f.g(a);", "f.apply(t, l);", "f.apply(t);", "f();"):
            self.assertIsNone(self.argument(text), text)

    def test_all_texts(self) -> None:
        """Those of every argument, wherever it is passed."""
        for text in ('f("a", "b");', 'f.call("a", "b");', 'f.apply("a", "b");'):
            found = [value for _, value in all_texts(Code(text), 0)]
            self.assertEqual(found, ["a", "b"], text)
        self.assertEqual(list(all_texts(Code('f["a"];'), 0)), [])
