"""``plugin-bridge call``."""

from __future__ import annotations

from twisted.python import usage

from bridge.cli.commands.call import main

from .calls import CallCase


class CallTests(CallCase):
    """Calling a method."""

    main = staticmethod(main)

    def test_result(self):
        """The result is printed, indented; the parameters went out as they were."""
        self.answering({"value": [1, {"a": None}]})
        status, out, err = self.run_main("state", "get", '{"ns": "host", "key": "é"}')
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(
            out,
            '{\n  "value": [\n    1,\n    {\n      "a": null\n    }\n  ]\n}\n',
        )
        params = {"ns": "host", "key": "é"}
        self.assertEqual(self.server.asked, [("state", "get", params)])

    def test_compact(self):
        """With ``--compact`` it is one line."""
        self.answering({"a": [1, 2]})
        self.assertEqual(self.run_main("--compact", "a", "b"), (0, '{"a":[1,2]}\n', ""))

    def test_standard_input(self):
        """With ``-`` the parameters are read from standard input."""
        self.assertEqual(self.run_main("a", "b", "-", stdin='{"x": 1}')[0], 0)
        self.assertEqual(self.server.asked[0][2], {"x": 1})

    def test_no_parameters(self):
        """Without any, they are an empty object."""
        self.assertEqual(self.run_main("plugins", "list")[0], 0)
        self.assertEqual(self.server.asked[0][2], {})

    def test_refusal(self):
        """A refusal is reported on standard error: its code and message, status 1."""
        self.refusing("bad_request", "ns: required\x1b[2J")
        status, out, err = self.run_main("state", "get")
        self.assertEqual((status, out), (1, ""))
        self.assertEqual(err, "plugin-bridge call: bad_request: ns: required\n")

    def test_wrong_parameters(self):
        """What is wrong with the parameters is reported, object or not."""
        for text, shown_text in (
            ("[]", "JSON must be an object"),
            ("{", "JSON: not JSON; it must be an object, such as"),
            ('{"\udce9": 1}', "JSON must be UTF-8"),
        ):
            with self.assertRaises(usage.UsageError) as caught:
                self.run_main("state", "set", text)
            self.assertIn(shown_text, str(caught.exception))

    def test_options_follow(self):
        """An option may stand after the parameters."""
        self.answering({"a": [1, 2]})
        done = self.run_main("a", "b", "{}", "--compact")
        self.assertEqual(done, (0, '{"a":[1,2]}\n', ""))

    def test_usage(self):
        """Names that are none, and parameters that are no object, are usage errors."""
        for arguments in (
            ("State", "get"),
            ("state", "../get"),
            ("state", "get", "[]"),
            ("state", "get", "{"),
            ("state", "get", '{"\udce9": 1}'),
            ("state", "get", "{}", "--nonsense"),
        ):
            # The latter is reported by bridge.cli.main, with status 2.
            with self.assertRaises((SystemExit, usage.UsageError)) as caught:
                self.run_main(*arguments)
            self.assertEqual(getattr(caught.exception, "code", 2), 2, arguments)
        self.assertEqual(self.server.asked, [])
