"""``plugin-bridge logs``; ``tests/e2e/test_commands.py`` follows a real log."""

import errno
import json
import os
from unittest import mock

from bridge.cli.commands import logs as module
from bridge.pagelog.logrecords import Record, write_records
from bridge.pagelog.pagefile import PageFile

from ..commandcase import CommandTestCase

TIME = "1970-01-01T00:00:00.000Z"


class LogsTests(CommandTestCase):
    def setUp(self):
        super().setUp()
        self.path = self.root / "logs" / "plugins.log"

    def write(self, *records):
        file = PageFile.open(self.path, 10**6)
        file.append(write_records(records, 0.0).encode())
        file.close()

    def shown(self, *arguments, sleep=None):
        """Run the command: its exit status, its output, and its error messages."""
        where = ["--host=reference", f"--data-dir={self.root}"]
        with mock.patch("time.sleep", sleep or self.interrupt):
            return self.run_main("logs", *where, *arguments)

    def interrupt(self, seconds):
        raise KeyboardInterrupt

    def test_last_lines(self):
        """The last 50 are shown, or as many as are asked for."""
        self.write(*[Record("info", "host", str(n)) for n in range(60)])
        out = self.done(self.shown())
        self.assertEqual(out.count("\n"), 50)
        self.assertTrue(out.endswith(f"{TIME} INFO  [host] 59\n"))
        self.assertEqual(self.shown("-n", "2")[1].count("\n"), 2)
        self.assertEqual(self.shown("-n", "0")[1], "")

    def test_nothing_to_show(self):
        """An empty log, or one without a line that matches, is reported as such."""
        self.path.parent.mkdir()
        self.path.touch()
        self.assertEqual(self.shown(), (0, "", f"{self.path} has no line yet\n"))
        self.write(Record("info", "host", "a"))
        self.assert_fails("no line of", self.shown("--level=error"), 0)
        self.assertEqual(self.shown("-n", "0")[2], "")

    def test_level_and_scope(self):
        """Only lines of the level and above, and of the scope, are shown."""
        self.write(
            Record("debug", "host", "a"),
            Record("warn", "host", "b"),
            Record("error", "a-plugin", "c"),
        )

        def messages(*arguments):
            return [line[-1] for line in self.shown(*arguments)[1].split("\n")[:-1]]

        self.assertEqual(messages("--level=debug"), ["a", "b", "c"])
        self.assertEqual(messages("--level=warn"), ["b", "c"])
        self.assertEqual(messages("--scope=host"), ["a", "b"])
        self.assertEqual(messages("--scope=host", "--level=error"), [])
        self.assertEqual(messages("--scope=host", "-n1"), ["b"])

    def test_json(self):
        """With ``--json`` each line is an object; a strange one has only its text."""
        self.write(Record("warn", "host", 'a "b"', 99.0), Record("info", "x", "c"))
        with self.path.open("a") as file:
            file.write("strange\n")
        lines = [json.loads(line) for line in self.shown("--json")[1].splitlines()]
        first = {"time": TIME, "level": "warn", "scope": "host", "message": 'a "b"'}
        self.assertEqual(
            lines,
            [
                {**first, "ts": "1970-01-01T00:01:39.000Z"},
                {"time": TIME, "level": "info", "scope": "x", "message": "c"},
                {"message": "strange"},
            ],
        )
        self.assertEqual(self.shown("--level=info")[1].count("\n"), 2)

    def test_attack_escapes_in_the_file(self):
        """What would command the terminal is not printed."""
        self.path.parent.mkdir()
        self.path.write_bytes(b"a\x1b[2J\x1b]0;title\x07\x9b\xff\xc2\x9b\rb\n")
        _, out, _ = self.shown()
        self.assertEqual(out, "a\ufffd\ufffdb\n")

    def test_follow(self):
        """With ``-f`` further lines are shown until Ctrl-C, which is no failure."""
        self.write(Record("info", "host", "before"))
        sleeps = []

        def sleep(seconds):
            sleeps.append(seconds)
            if len(sleeps) == 3:
                raise KeyboardInterrupt
            self.write(
                Record("debug", "host", "no"),
                Record("info", "host", f"after {len(sleeps)}"),
            )

        out = self.done(self.shown("-f", "--level=info", sleep=sleep))
        messages = [line.split("] ")[1] for line in out.splitlines()]
        self.assertEqual(messages, ["before", "after 1", "after 2"])

    def test_no_file(self):
        """A missing file is reported; with ``-f`` it is waited for."""
        why = f"plugin-bridge logs: there is no log file {self.path} yet\n"
        self.assertEqual(self.shown(), (1, "", why))
        self.assertEqual(self.shown("-f"), (0, "", f"waiting for {self.path}\n"))

    def test_unreadable(self):
        """A path that can't be read is reported."""
        self.path.parent.write_text("in the way")
        self.assert_fails("can't be read: Not a directory", self.shown())
        self.path.parent.unlink()
        self.path.mkdir(parents=True)
        self.assert_fails("not a regular file", self.shown())

    def test_reader_goes(self):
        """When nobody reads any more, it ends; a full disk is not the log's fault."""
        self.write(Record("info", "host", "0"))
        more = Record("info", "host", "x")
        full = "plugin-bridge: No space left on device\n"
        for code, why in ((errno.EPIPE, ""), (errno.ENOSPC, full)):
            ended = OSError(code, os.strerror(code))
            with mock.patch.object(module, "print", side_effect=ended, create=True):
                self.assertEqual(self.shown("-f"), (1, "", why))
                found = self.shown("-f", "-n0", sleep=lambda _: self.write(more))
                self.assertEqual(found, (1, "", why))

    def test_usage(self):
        """Numbers and levels that are none are usage errors."""
        for argument in ("-n-1", "--lines=x", "--level=all", "surplus"):
            self.assertEqual(self.shown(argument)[0], 2)
