"""``plugin-bridge eval``: a snippet, evaluated in the paired page."""

from __future__ import annotations

from typing import ClassVar

from twisted.python import usage

from ...protocol.limits import REMOTE_MILLISECONDS, REMOTE_MOST_MILLISECONDS
from ...protocol.text import visible
from ...settings.values import whole
from ..asking.session import CALL_STATUS, CallerOptions, ended, session
from ..terminal import failed, given_or_read


class EvalOptions(CallerOptions):
    """The command line of ``plugin-bridge eval``."""

    synopsis = "Usage: plugin-bridge eval [--timeout-ms N] [--compact] [CODE|-]"
    longdesc = (
        "Evaluates CODE in the page that is paired with the running daemon, and prints "
        "the result. The daemon must run with --dev. CODE is the body of an async "
        "JavaScript function; without it, or with -, the command reads standard input. "
        "In scope are host, manager, text(selector), click(selector), "
        "visible(selector), rects(selector) and sleep(ms). For example: "
        "plugin-bridge eval 'return text(\"h1\")'. If the code throws, standard error "
        "has the message and the status is 1. " + CALL_STATUS
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        [
            "timeout-ms",
            None,
            str(REMOTE_MILLISECONDS),
            f"how long to wait for the page, at most {REMOTE_MOST_MILLISECONDS}",
        ]
    ]

    def parseArgs(self, code: str = "-") -> None:
        """Accept the snippet."""
        self["code"] = code

    def postOptions(self) -> None:
        """Read the time to wait."""
        try:
            self["timeout"] = whole(1, REMOTE_MOST_MILLISECONDS)(self["timeout-ms"])
        except ValueError as e:
            raise usage.UsageError(f"--timeout-ms: {e}") from None


def main(arguments: list[str]) -> int:
    """Evaluate a snippet and return the exit status."""
    options = EvalOptions()
    options.parseOptions(arguments)
    return ended("eval", lambda: evaluate(options), words=str)


def evaluate(options: EvalOptions) -> int:
    """
    Evaluate a snippet, and print what it returns.

    :return: The exit status; 1 after a line on standard error when it threw.
    :raise UsageError: The snippet is not UTF-8.
    """
    code = given_or_read(options["code"])
    try:
        code.encode("utf-8")
    except UnicodeEncodeError:
        raise usage.UsageError("CODE must be UTF-8") from None
    with session(options, dev=True) as asked:
        evaluation = asked.call(
            "remote", "eval", code=code, timeoutMs=options["timeout"]
        )
    if not evaluation["ok"]:
        return failed("eval", visible(str(evaluation["error"])))
    options.print(evaluation["value"])
    return 0
