"""The bundler's output as tokens; what they mean, the corpus has."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.javascript.tokens import Code, Kind, UnreadableError


class TokenTests(SynchronousTestCase):
    """What is a token, and what is none."""

    def test_strings(self) -> None:
        """A string ends at its own quote, which no backslash precedes."""
        for text in ('""', "'\"'", r'"\""', r'"\\"', r'"a\\\"b"', '"//"', '"/*"'):
            code = Code(f"f({text}, a);")
            self.assertEqual(code.texts, ["f", "(", text, ",", "a", ")", ";"])
            self.assertIs(code.kinds[2], Kind.STRING)

    def test_attack_unreadable(self) -> None:
        """What the bundler never writes is refused, not guessed at."""
        for text in (
            *('"a', "'a\n'", '"\\"', "/* a", "// a", "(", ")", "(]", "{[}]", "x = /a"),
            *("`a`", "a \u00e9", "a\0b", "x = /\n/"),
        ):
            self.assertRaises(UnreadableError, Code, text)

    def test_attack_nesting(self) -> None:
        """Brackets nest so deep and no deeper."""
        Code("(" * 256 + ")" * 256)
        self.assertRaises(UnreadableError, Code, "(" * 257 + ")" * 257)


class BracketTests(SynchronousTestCase):
    """What brackets are for."""

    def test_groups(self) -> None:
        """Brackets group where they neither call nor declare."""
        for text, is_group in (
            ("(a);", True),
            ("x = (a);", True),
            ("{\n}\n(a);", True),
            ("return (a);", True),
            ("f(a);", False),
            ("f()(a);", False),
            ("if (a) b;", False),
            ("for (a of b) c;", False),
            ("x = (a) => b;", False),
            ("x = function(a) {\n};", False),
            ("try {\n} catch (a) {\n}", False),
            ("switch (a) {\n}", False),
        ):
            code = Code(text)
            at = code.texts.index("a")
            self.assertEqual(code.is_group(code.parent[at]), is_group, text)
        self.assertFalse(Code("a;").is_group(0))
