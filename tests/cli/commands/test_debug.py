"""``call`` and ``eval``; in a browser, see ``tests/e2e/test_remote.py``."""

from .calls import CallCase


class CallTests(CallCase):
    command = "call"

    def test_parameters(self):
        """They are an argument, standard input, or nothing."""
        for line, stdin, params in (
            ("a/b -", '{"x": 1}', {"x": 1}),
            ("a/b", "", {}),
            ('a/b {"x":1}', "", {"x": 1}),
        ):
            self.assertEqual(self.call(*line.split(), stdin=stdin)[0], 0)
            self.assertEqual(self.server.asked[-1], ("a", "b", params))
        # An option may stand before and after them.
        self.answering({"a": [1, 2]})
        for line in ("--compact a/b", "a/b {} --compact"):
            self.assertEqual(self.call(*line.split()), (0, '{"a":[1,2]}\n', ""))

    def test_wrong_parameters(self):
        """What is wrong with names and parameters is reported, status 2."""
        for arguments, shown in (
            (("a/b", "[]"), "PARAMS must be an object"),
            (("a/b", "{"), "PARAMS: not JSON; it must be an object, such as"),
            (("a/b", '{"\udce9": 1}'), "'[PARAMS]': must be UTF-8"),
            (("a/\udce9",), "'SERVICE/METHOD': must be UTF-8"),
            (("a/b", "-"), "PARAMS must be UTF-8"),
            (("a/../b",), "SERVICE/METHOD must be names"),
            (("state",), "SERVICE/METHOD must be names"),
            ((), "SERVICE/METHOD"),
            (("a/b", "{}", "{}"), "unexpected extra argument"),
            (("a/b", "{}", "--nonsense"), "--nonsense"),
        ):
            self.assert_fails(shown, self.call(*arguments, stdin=b"\xff"), 2)
        self.assertEqual(self.server.asked, [])


class EvalTests(CallCase):
    command = "eval"

    def test_value(self):
        """What the snippet returned is printed as JSON."""
        for value, text in (("é", '"é"'), (None, "null"), ([], "[]")):
            self.answering({"ok": True, "value": value})
            self.assertEqual(self.call("return 1"), (0, f"{text}\n", ""))
        params = {"code": "return 1", "timeoutMs": 10_000}
        self.assertEqual(self.server.asked[0], ("remote", "eval", params))

    def test_thrown(self):
        """What it threw is reported on standard error, without escapes; status 1."""
        self.answering({"ok": False, "error": "TypeError: no\x1b[31m\x07"})
        self.assertEqual(self.call("x"), (1, "", "plugin-bridge eval: TypeError: no\n"))

    def test_standard_input(self):
        """Without a snippet, or with ``-``, it is read from standard input."""
        self.answering({"ok": True, "value": 1})
        for arguments in ((), ("-",), ("--timeout-ms=60000", "-")):
            self.assertEqual(self.call(*arguments, stdin="return 1\n")[0], 0)
            self.assertEqual(self.server.asked[-1][2]["code"], "return 1\n")
        self.assertEqual(self.server.asked[-1][2]["timeoutMs"], 60_000)

    def test_usage(self):
        """A time that is none, and a snippet that is no text, are usage errors."""
        for arguments in (
            ("--timeout-ms=0", "x"),
            ("--timeout-ms=60001", "x"),
            ("--timeout-ms=soon", "x"),
            ("x", "y"),
            ("\udce9",),
        ):
            self.assertEqual(self.call(*arguments)[0], 2, arguments)
        self.assertEqual(self.server.asked, [])
