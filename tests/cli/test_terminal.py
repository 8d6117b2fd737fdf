"""What commands print."""

import errno
import io
import json
import os
import sys
import termios
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.cli import terminal
from bridge.protocol.text import visible

from ..directories import fresh_directory
from ..strategies import values
from .commandcase import Typed


class JsonTests(SynchronousTestCase):
    @given(values, st.booleans())
    def test_same_value(self, value, compact):
        """It is JSON of the same value, and without colours nothing in it hides."""
        with mock.patch("sys.stdout", io.StringIO()) as out:
            terminal.print_json(value, compact)
        text = out.getvalue().removesuffix("\n")
        self.assertEqual(json.loads(text), value)
        for line in text.split("\n"):
            self.assertEqual(visible(line), line)

    def test_narrow_encoding(self):
        """What a terminal can't show is escaped: no other value takes its place."""
        raw = io.BytesIO()
        with mock.patch("sys.stdout", io.TextIOWrapper(raw, "latin-1", "replace")):
            terminal.print_json("é漢😀")
            sys.stdout.flush()
            self.assertEqual(json.loads(raw.getvalue()), "é漢😀")

    def test_colours(self):
        """A terminal gets keys, strings, numbers and words in colours."""
        with (
            mock.patch("sys.stdout", Typed()) as out,
            mock.patch.dict(os.environ, {"TERM": "xterm", "NO_COLOR": ""}),
        ):
            terminal.print_json({"k": ["s", 1, None]}, compact=True)
        self.assertEqual(
            out.getvalue(),
            '{\x1b[34m\x1b[1m"k"\x1b[0m:[\x1b[32m"s"\x1b[0m,\x1b[36m1\x1b[0m,'
            "\x1b[35mnull\x1b[0m]}\n",
        )


class TableTests(SynchronousTestCase):
    def test_aligned(self):
        """Columns are as wide as a terminal shows their widest cell."""
        rows = [
            ("ID", "NAME", "STATE"),
            ("a", "\u65e5\u672c", "on"),
            ("bcd", "\u0e17\u0e35\u0e48", "off"),
        ]
        self.assertEqual(
            terminal.table(rows),
            [
                "ID   NAME  STATE",
                "a    \u65e5\u672c  on",
                "bcd  \u0e17\u0e35\u0e48     off",
            ],
        )


class PrivateFileTests(SynchronousTestCase):
    """Files that hold secrets or settings."""

    def setUp(self):
        self.path = fresh_directory(self) / "file"

    def test_attack_existing_file_or_link(self):
        """Neither a file nor what a link names is replaced or removed."""
        self.path.write_bytes(b"theirs")
        link = self.path.with_name("link")
        link.symlink_to(self.path.with_name("elsewhere"))
        for path in (self.path, link):
            with self.assertRaises(terminal.CommandError):
                terminal.write_private(path, b"ours")
        for error in (OSError(errno.EMFILE, "no descriptor"), KeyboardInterrupt()):
            with (
                mock.patch("os.open", side_effect=error),
                self.assertRaises((terminal.CommandError, KeyboardInterrupt)),
            ):
                terminal.write_private(self.path, b"ours")
        self.assertEqual(self.path.read_bytes(), b"theirs")
        self.assertTrue(link.is_symlink())
        self.assertFalse(self.path.with_name("elsewhere").exists())

    def test_nothing_is_left_of_a_failure(self):
        """A file that is not complete is removed."""
        error = OSError("disk full")
        with (
            mock.patch("os.fsync", side_effect=error),
            self.assertRaises(terminal.CommandError),
        ):
            terminal.write_private(self.path, b"half")
        self.assertFalse(self.path.exists())


class LineTests(SynchronousTestCase):
    def test_reader_goes(self) -> None:
        """The work goes on when nobody reads about it any more."""
        read, write = os.pipe()
        os.close(read)
        stream = self.enterContext(os.fdopen(write, "w", buffering=1))
        with mock.patch.object(sys, "stdout", stream):
            terminal.print_line("a line")
            terminal.print_line("and another")


def step(message, name="clone", **more):
    """Make the data of a ``progress`` event."""
    return {"step": name, "message": message, "operation": "op1", **more}


class ProgressTests(SynchronousTestCase):
    def setUp(self):
        self.patch(os, "environ", os.environ | {"TERM": "xterm", "NO_COLOR": "1"})

    def shown(self, bars: bool, *steps: dict[str, str], prompts: bool = True):
        """Show steps; gives what was written."""
        out = Typed() if bars else io.StringIO()
        line = terminal.ProgressLine(out, prompts)
        for data in steps:
            line.report(data)
        line.end()
        return out.getvalue()

    def test_lines(self):
        """Without a terminal each message is a line, once, without escapes."""
        unread = mock.Mock(write=mock.Mock(side_effect=BrokenPipeError))
        terminal.ProgressLine(unread).line("a")
        clone = step(name="clone", message="Cloning\x1b[31m")
        text = self.shown(False, clone, clone, step(name="build", message="Building"))
        self.assertEqual(text, "Cloning\nBuilding\n")

    def test_bar(self):
        """On a terminal a bar grows, never shrinks, and is removed at the end."""
        a, b = step(name="clone", message="a"), step(name="build", message="b")
        first, second, last = self.shown(True, a, b).split("\r\x1b[K")[1:]
        self.assertLess(first.count("#"), second.count("#"))
        self.assertEqual(second, f"[{'#' * 20}] b")
        self.assertEqual(last, "")
        self.assertEqual(self.shown(True, b, a).count("#"), 40)

    def test_colour(self):
        """Colours only when the user wants them."""
        moving = step(name="move", message="m")
        self.assertNotIn("\x1b[32m", self.shown(True, moving))
        os.environ["NO_COLOR"] = ""
        self.assertIn("\x1b[32m", self.shown(True, moving))

    def test_narrow(self):
        """A message never wraps: the bar could not be written over."""
        other_end, narrow = os.openpty()
        self.addCleanup(os.close, other_end)
        termios.tcsetwinsize(narrow, (10, 40))
        with open(narrow, "w") as err:
            terminal.ProgressLine(err).report(step("x" * 200))
        text = os.read(other_end, 4096).decode()
        self.assertLessEqual(max(map(len, text.split("\r\x1b[K"))), 40)

    def test_prompt(self):
        """A prompt asks the user to look at the desktop, however narrow the line is."""
        asking = step(name="awaiting_confirmation", message="Asking")
        where = {True: "Answer the prompt on your desktop", False: "No prompt is shown"}
        for prompts in where:
            found = self.shown(False, asking, prompts=prompts)
            self.assertEqual(found, f"{where[prompts]}: Asking\n")
        with mock.patch.dict(os.environ, {"COLUMNS": "60", "LINES": "10"}):
            self.assertIn("Answer the prompt on your desktop", self.shown(True, asking))
