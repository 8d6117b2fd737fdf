"""The result of ``plugin-bridge check``: its steps, its hits, its exit status."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from ...classes import define, frozen
from .reading import ShownHit, hit_lines
from .worktree import Difference


class Outcome(StrEnum):
    """
    The outcome of a step.

    ``WARNED``: nothing is refused, but the plugin may not work. ``NOT_DONE``: something
    that the step needs is missing, or an earlier step failed. ``LEFT_OUT``: the step
    does not apply, or its tool is optional and missing.
    """

    OK = "ok"
    WARNED = "warned"
    REFUSED = "refused"
    NOT_DONE = "not_done"
    LEFT_OUT = "left_out"


class EndedError(Exception):
    """
    Why a step neither passed nor was refused; for the author.

    :ivar outcome: The outcome of the step.
    """

    def __init__(self, outcome: Outcome, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


def not_done(message: str) -> EndedError:
    """Return why a step can't be done; the message shows what to do about it."""
    return EndedError(Outcome.NOT_DONE, message)


def left_out(message: str) -> EndedError:
    """Return why a step does not apply."""
    return EndedError(Outcome.LEFT_OUT, message)


STATUS: Final = {Outcome.OK: 0, Outcome.REFUSED: 1, Outcome.NOT_DONE: 4}
"""The exit status for each outcome of a whole check."""


@frozen
class StepResult:
    """
    One step.

    :ivar step: One of ``STEPS`` of ``checker``.
    :ivar message: One line or more for its reader.
    """

    step: str
    outcome: Outcome
    message: str


@define(eq=False)
class Report:
    """
    All of it, as far as it is known; what ``check --json`` prints, with these keys.

    :ivar ok: Whether ``outcome`` is ``ok``.
    :ivar outcome: ``refused`` if a step was, else ``not_done`` if a step was, else
        ``ok``.
    :ivar id: The plugin's, when its manifest could be read; so is ``version``.
    :ivar key_id: The fingerprint of the key, when its signature verifies.
    :ivar signed_commit: The last commit that signed the plugin, when its signature does
        not verify, or was left out, and git knows one.
    :ivar changed: The files that differ from that commit.
    """

    ok: bool
    outcome: Outcome
    host: str
    id: str | None
    version: str | None
    key_id: str | None
    steps: list[StepResult]
    hits: list[ShownHit]
    signed_commit: str | None
    changed: list[Difference]

    @classmethod
    def begin(cls, host: str) -> Report:
        """Return that of a check that has taken no step."""
        return cls(False, Outcome.NOT_DONE, host, None, None, None, [], [], None, [])

    def finish(self) -> None:
        """Set the outcome, when every step was taken."""
        found = {step.outcome for step in self.steps}
        failures = (Outcome.REFUSED, Outcome.NOT_DONE)
        self.outcome = next((each for each in failures if each in found), Outcome.OK)
        self.ok = self.outcome is Outcome.OK


def report_lines(report: Report) -> list[str]:
    """Return the report for people: a line for each step, and details."""
    lines = []
    for step in report.steps:
        first, *rest = step.message.split("\n")
        outcome = step.outcome.replace("_", " ")
        lines.append(f"{step.step:<10} {outcome}: {first}")
        lines += [f"  {line}" for line in rest]
        if step.step == "policy":
            for hit in report.hits:
                lines += hit_lines(hit)
    return lines
