"""Which names are the global object's."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.scopes import Aliases, Scope, object_names, pattern_keys

from .syntax import expression, nodes, parsed


class ScopeTests(SynchronousTestCase):
    """Declared names."""

    def test_binds(self) -> None:
        """A name is bound where it is declared and in what is inside."""
        outer = Scope(None, {"self"})
        self.assertTrue(Scope(Scope(outer)).binds("self"))
        self.assertFalse(Scope(outer).binds("top"))

    def test_attack_deep(self) -> None:
        """A name declared too far out does not count as declared."""
        scope = Scope(None, {"self"})
        for _ in range(300):
            scope = Scope(scope)
        self.assertFalse(scope.binds("self"))

    def test_declare(self) -> None:
        """Every name of a pattern that matters is declared, and no other."""
        root, page = parsed(
            "let { self, a: [top, ...frames], b: { parent = 1 }, c: x = 2,"
            " process: y } = z"
        )
        scope = Scope()
        (pattern, *_) = nodes(root, "object_pattern")
        scope.declare(pattern, page)
        self.assertEqual(scope.names, {"self", "top", "frames", "parent"})


class AliasTests(SynchronousTestCase):
    """Names that stand for others."""

    def test_chain(self) -> None:
        """An alias of an alias stands for the same, in circles too."""
        aliases, scope = Aliases(), Scope()
        aliases.bind("a", "document", scope)
        aliases.bind("b", "a", scope)
        aliases.bind("a", "b", scope)
        self.assertEqual(list(aliases.roots("b", scope)), ["document"])
        self.assertTrue(aliases.knows("a"))

    def test_bound(self) -> None:
        """An alias of the author's own variable stands for nothing."""
        aliases, scope = Aliases(), Scope(None, {"parent"})
        aliases.bind("a", "parent", scope)
        aliases.bind("a", "a", scope)
        self.assertEqual(list(aliases.roots("a", scope)), [])
        self.assertEqual(list(aliases.roots("x", scope)), [])

    def test_attack_bound_elsewhere(self) -> None:
        """A variable of the same name elsewhere does not hide the global one."""
        for first, second in ((None, {"document"}), ({"document"}, None)):
            aliases = Aliases()
            for names in (first, second):
                aliases.bind("a", "document", Scope(None, names or set()))
            self.assertEqual(list(aliases.roots("a", Scope())), ["document"])

    def test_object_names(self) -> None:
        """Names are seen through casts and choices; of members only a document."""
        node, page = expression("(a as any) || (b, c)! || x.y.document || d.e || f()")
        self.assertEqual(set(object_names(node, page)), {"a", "c", ".document"})

    def test_pattern_keys(self) -> None:
        """The keys of a pattern are known, whatever they are bound to."""
        root, page = parsed("let { a, b: c, d = 1, ['e']: f, ...g } = h")
        (pattern,) = nodes(root, "object_pattern")
        self.assertEqual(
            [page.text(key) for key in pattern_keys(pattern)], ["a", "b", "d", "['e']"]
        )
