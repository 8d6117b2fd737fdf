"""A test that runs a command in this process."""

import contextlib
import io
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.main import main

from ..directories import fresh_directory

Outcome = tuple[int, str, str]
"""The exit status of a command, its output, and its error messages."""


class Typed(io.StringIO):
    """What somebody types on a terminal."""

    def isatty(self) -> bool:
        return True


class CommandTestCase(SynchronousTestCase):
    """A test of a command that reads and writes files."""

    def setUp(self):
        super().setUp()
        self.root = fresh_directory(self)

    def run_main(
        self,
        *arguments: str,
        stdin: str | bytes = "",
        typed: str | None = None,
        program: str = "plugin-bridge",
    ) -> Outcome:
        """
        Run a command.

        :param typed: What is typed on a terminal, instead of ``stdin``.
        """
        read = stdin.encode() if isinstance(stdin, str) else stdin
        piped = io.TextIOWrapper(io.BytesIO(read), "utf-8")
        given = piped if typed is None else Typed(typed)
        out = io.StringIO() if typed is None else Typed()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(io.StringIO()) as err,
            mock.patch("sys.stdin", given),
        ):
            try:
                status = main(arguments, program)
            except SystemExit as e:
                assert isinstance(e.code, int)
                status = e.code
        return status, out.getvalue(), err.getvalue()

    def done(self, outcome: Outcome) -> str:
        """Check that a command has succeeded, without a warning; its output."""
        status, out, err = outcome
        self.assertEqual((status, err), (0, ""))
        return out

    def failed(self, outcome: Outcome, status: int = 1) -> str:
        """Check that a command has failed with one line, and nothing else; the line."""
        found, out, err = outcome
        self.assertEqual((found, out, err.count("\n")), (status, "", 1), err)
        return err

    def assert_fails(self, words: str, outcome: Outcome, status: int = 1) -> None:
        """Check that a command has failed with one line that has these words."""
        self.assertIn(words, self.failed(outcome, status))
