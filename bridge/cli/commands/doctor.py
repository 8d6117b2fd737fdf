"""``plugin-bridge doctor``: check the installation, and show how to fix it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

import click
from attrs import evolve
from twisted.internet.defer import Deferred

from ...approval.native import native_approver
from ...approval.prompts import Operation, Prompt
from ...freedesktop import Notifications
from ...protocol.errors import BridgeError
from ...settings.config import BY_NAME, HOST_OPTIONS
from ...settings.options import Paths
from ...settings.values import Address
from ...wiring import oneshot
from ..command import command, json_option
from ..diagnosis.checkup import (
    Finding,
    Level,
    daemon,
    finding_lines,
    notification_server,
    on_disk,
    without_prompts,
)
from ..diagnosis.probing import is_dev
from ..diagnosis.supportfile import Support
from ..terminal import CommandError, print_json, print_line

TEST_PROMPT: Final = Prompt(
    Operation.INSTALL,
    "Is this prompt shown?",
    "You asked plugin-bridge doctor to show a prompt.",
    "Nothing is installed, whatever you choose.",
)


@command(
    "doctor",
    "Check the data directory, the token, the bundler, the host's sources, the theme "
    "directory, the port and the notification server, and show how to fix each "
    "problem. It finds plugins that were changed, and what a start would lose. A "
    "daemon with --dev needs no notification server.",
    "--host reference",
    status="Exit status: 0 no problem, 1 a problem, 2 wrong usage.",
    table=(
        *HOST_OPTIONS,
        evolve(BY_NAME["listen"], about="address on which the daemon should listen"),
        evolve(BY_NAME["dev"], about="check for a daemon with --dev: no prompt needed"),
    ),
)
@click.option(
    "--prompt", is_flag=True, help="Show a test prompt and wait for the answer."
)
@json_option
@click.option(
    "--bundle",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a file for a bug report (tar.gz), and list its contents; it does not "
    "contain the token, your settings or the name of your home directory.",
)
def doctor(
    place: Paths,
    listen: Address,
    dev: bool,
    prompt: bool,
    as_json: bool,
    bundle: Path | None,
) -> int:
    """Run the checks and return the exit status."""
    from twisted.internet import reactor

    findings = [
        *on_disk(place),
        daemon(place, listen),
        *oneshot.run(reactor, lambda: on_desktop(reactor, place, prompt, dev)),
    ]
    _print(findings, as_json)
    if bundle is not None:
        support = Support.collect(place, findings, os.environ)
        try:
            support.write(bundle, _aside if as_json else print_line)
        except FileExistsError:
            raise CommandError(f"{bundle} exists already") from None
        except OSError as e:
            raise CommandError(f"{bundle} cannot be written: {e.strerror}") from None
    return 1 if any(finding.level is Level.WRONG for finding in findings) else 0


def _aside(text: str) -> None:
    """Print a line on standard error; standard output holds one JSON object."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _print(findings: list[Finding], as_json: bool) -> None:
    if as_json:
        ok = all(finding.level is not Level.WRONG for finding in findings)
        listed = [finding.fields() for finding in findings]
        print_json({"ok": ok, "findings": listed})
        return
    for line in finding_lines(findings):
        print_line(line)


async def on_desktop(
    reactor: Any, place: Paths, prompt: bool, dev: bool
) -> list[Finding]:
    """Check the notification server; with ``--prompt`` show a test prompt."""
    notifications = Notifications(reactor, os.environ)
    try:
        if sys.platform in ("win32", "darwin"):  # pragma: no cover
            findings = []
        else:
            findings = [await notification_server(notifications)]
            if not prompt and (dev or is_dev(place)):
                findings = [without_prompts(finding) for finding in findings]
        if prompt:
            approver = native_approver(
                sys.platform,
                reactor,
                notifications,
                place.profile.application,
                os.urandom,
            )
            if all(finding.level is Level.OK for finding in findings):
                _aside("answer the prompt on the desktop")
            findings.append(await answered(approver.approve(TEST_PROMPT)))
        return findings
    finally:
        await notifications.close()


async def answered(approving: Deferred[None]) -> Finding:
    """Report how a test prompt ended."""
    name = "test prompt"
    try:
        await approving
    except BridgeError as e:
        prefix = e.message.partition(":")[0]
        if prefix == "denied":
            return Finding(name, Level.OK, f"you did not confirm it: {e.message}")
        return Finding(name, Level.WRONG, e.message, "see notification server")
    return Finding(name, Level.OK, "you confirmed it")
