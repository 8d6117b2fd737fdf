"""``plugin-bridge eval``; in a browser, see ``tests/whole/test_remote.py``."""

from __future__ import annotations

from twisted.python import usage

from bridge.cli.commands.evaluate import main

from .calls import CallCase


class EvalTests(CallCase):
    """Evaluating a snippet."""

    main = staticmethod(main)

    def test_value(self):
        """What the snippet returned is printed as JSON."""
        for value, text in (("é", '"é"'), (None, "null"), ([], "[]")):
            self.answering({"ok": True, "value": value})
            self.assertEqual(self.run_main("return 1"), (0, f"{text}\n", ""))
        params = {"code": "return 1", "timeoutMs": 10_000}
        self.assertEqual(self.server.asked[0], ("remote", "eval", params))

    def test_thrown(self):
        """What it threw is reported on standard error, without escapes; status 1."""
        self.answering({"ok": False, "error": "TypeError: no\x1b[31m\x07"})
        status, out, err = self.run_main("x")
        self.assertEqual((status, out), (1, ""))
        self.assertEqual(err, "plugin-bridge eval: TypeError: no\n")

    def test_standard_input(self):
        """Without a snippet, or with ``-``, it is read from standard input."""
        self.answering({"ok": True, "value": 1})
        for arguments in ((), ("-",), ("--timeout-ms=60000", "-")):
            self.assertEqual(self.run_main(*arguments, stdin="return 1\n")[0], 0)
            self.assertEqual(self.server.asked[-1][2]["code"], "return 1\n")
        self.assertEqual(self.server.asked[-1][2]["timeoutMs"], 60_000)

    def test_no_answer(self):
        """When no page answers, the daemon's refusal is reported; status 1."""
        self.refusing("unavailable", "no page is paired")
        status, _, err = self.run_main("x")
        self.assertEqual(status, 1)
        self.assertEqual(err, "plugin-bridge eval: unavailable: no page is paired\n")

    def test_usage(self):
        """A time that is none, and a snippet that is no text, are usage errors."""
        for arguments in (
            ("--timeout-ms=0", "x"),
            ("--timeout-ms=60001", "x"),
            ("--timeout-ms=soon", "x"),
            ("x", "y"),
        ):
            ended = self.assertRaises(SystemExit, self.run_main, *arguments)
            self.assertEqual(ended.code, 2, arguments)
        self.assertRaises(usage.UsageError, self.run_main, "\udce9")
        self.assertEqual(self.server.asked, [])
