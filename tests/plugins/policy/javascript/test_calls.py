"""Calls, and which argument of theirs the callee gets."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.javascript.calls import all_texts, argument
from bridge.plugins.policy.javascript.tokens import Code


class CallTests(SynchronousTestCase):
    """Calls of ``f``, which is the first token."""

    def argument(self, text: str, number: int = 0) -> str | None:
        """The first token of an argument."""
        code = Code(text)
        at = argument(code, 0, number)
        return None if at is None else code.text(at)

    def test_plain(self) -> None:
        """Arguments are counted from 0, also of a call that may not happen."""
        for text in ("f(a, b);", "f?.(a, b);", "(f)(a, b);"):
            code = Code(text)
            name = next(at for at in range(3) if code.text(at) == "f")
            found = [argument(code, name, number) for number in range(3)]
            texts = [None if at is None else code.text(at) for at in found]
            self.assertEqual(texts, ["a", "b", None], text)

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
