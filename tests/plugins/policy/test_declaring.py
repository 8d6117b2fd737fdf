"""What declarations bind."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.declaring import DECLARED, declare
from bridge.plugins.policy.scopes import Scope

from .syntax import nodes, parsed


class DeclarationTests(SynchronousTestCase):
    """Declarations one by one."""

    def names(self, code: str) -> set[str]:
        """The names that a code's declarations bind, inside or outside."""
        root, page = parsed(code)
        outer = Scope()
        inner = Scope(outer)
        for kind in DECLARED:
            for node in nodes(root, kind):
                declare(node, kind, inner, page)
        return outer.names | inner.names

    def test_bound(self) -> None:
        """Each way to declare a variable binds it."""
        for code in (
            "let self = 1",
            "function self() {}",
            "class self {}",
            "abstract class self {}",
            "enum self { a }",
            "function f(self) {}",
            "f = (self = 1) => 1",
            "f = self => 1",
            "f = { g(...self) {} }",
            "try {} catch (self) {}",
            "for (const self of x) {}",
            "import self from 'x'",
            "import * as self from 'x'",
            "import { self } from 'x'",
            "import { x as self } from 'x'",
            "import a, { b, self } from 'x'",
        ):
            self.assertEqual(self.names(code), {"self"}, code)

    def test_attack_not_bound(self) -> None:
        """What only looks like a variable, or is removed by the bundler, binds none."""
        for code in (
            "import type { self } from 'x'",
            "import { type self } from 'x'",
            "import 'x'",
            "import { self as x } from 'x'",
            "for (self of x) {}",
            "f = function self() {}",
            "try {} catch {}",
            "self: for (;;) {}",
            "x = { self: 1 }",
            "class A { self = 1 }",
        ):
            self.assertEqual(self.names(code), set(), code)
