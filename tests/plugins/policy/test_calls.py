"""Refused arguments of calls."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.calls import call_rules, key_names, member_names

from .syntax import expression, nodes, parsed


class CallTests(SynchronousTestCase):
    """Calls one by one."""

    def rules(self, code: str) -> list[str]:
        """The rules a call breaks."""
        return list(call_rules(*expression(code)))

    def test_refused(self) -> None:
        """A refused argument is found through borrowed and computed callees."""
        tag = "createElement of a code-loading tag"
        for code, rule in (
            ("a['createElement']('script')", tag),
            ("a.createElement?.bind(a, 'embed')", tag),
            ("createElement.apply(a, ['frame'])", tag),
            ("setTimeout.apply(null, ['x()'])", "setTimeout with a string"),
            ("a.b.setInterval(`x`)", "setInterval with a string"),
            ("a.setAttributeNS(null, 'SRCDOC', x)", "srcdoc"),
            ("Reflect.set(a, `innerHTML`, x)", "innerHTML assignment"),
            ("Object.assign(a, b, { ['outerHTML']: x })", "outerHTML assignment"),
            ("Object.assign(a, { innerHTML })", "innerHTML assignment"),
            ("Object['defineProperty'](a, 'innerHTML', b)", "innerHTML assignment"),
        ):
            self.assertEqual(self.rules(code), [rule], code)

    def test_accepted(self) -> None:
        """Other arguments of these calls, and other calls, are accepted."""
        for code in (
            "createElement('div', 'a b')",
            "createElement(tag)",
            "setTimeout(f, 1, 'x')",
            "setTimeout()",
            "setTimeout(1 + 2)",
            "a.setAttribute('src', x)",
            "Reflect.has(a, 'b')",
            "Object.keys({ a: 1, ...b, [c]: d, e() {} })",
            "f()()('script')",
            "a[b]('script')",
            "(() => 1)('innerHTML')",
            "(() => 1).call(null, 'script')",
        ):
            self.assertEqual(self.rules(code), [], code)

    def test_member_names(self) -> None:
        """A member's name is known when it is constant."""
        for code, names in (("a.b", ["b"]), ("a['b']", ["b"]), ("a[b]", [])):
            node, page = expression(code)
            self.assertEqual(member_names(node, page), names)

    def test_key_names(self) -> None:
        """A key's name is known when it is constant."""
        root, page = parsed("x = { a: 1, 'b': 2, ['c' + 'd']: 3, [e]: 4 }")
        names = [list(key_names(pair, page)) for pair in nodes(root, "pair")]
        self.assertEqual(names, [["a"], ["b"], ["cd"], []])
