"""``plugin-bridge doctor``: check the installation, and show how to fix it."""

from __future__ import annotations

import contextlib
import io
import os
import platform
import re
import sys
import tarfile
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any, Final

import click
from attrs import asdict, evolve
from twisted.internet.defer import Deferred

from ... import __version__
from ...approval.approvers import native_approver
from ...approval.prompts import Prompt
from ...datadir.token import TokenError, read_token
from ...freedesktop.notifications import Notifications
from ...plugins.installed.records import RECORDS, read_record
from ...protocol.errors import BridgeError, Prefix
from ...protocol.limits import KIB
from ...protocol.steps import Operation
from ...protocol.strictjson import dumps
from ...protocol.text import redacted
from ...settings.config import BY_NAME, HOST_OPTIONS, OPTIONS
from ...settings.host import Paths
from ...settings.options import click_option
from ...settings.values import Address
from ...store.state import StoreError, read_state
from ...system.files import open_regular
from ...system.reactor import run_once, steady_reactor
from .. import checkup
from ..checkup import Finding, Level
from ..command import command, json_option, path_option, prefix_of
from ..terminal import print_result, write_private

TEST_PROMPT: Final = Prompt(
    Operation.INSTALL,
    "Is this prompt shown?",
    "You asked plugin-bridge doctor to show a prompt.",
    "Nothing is installed, whatever you choose.",
)
_LOG_BYTES: Final = 128 * KIB
_USERINFO: Final = re.compile(r"(?<=://)[^/@\s]+@")
_QUERY: Final = re.compile(r"[?#].*")
_PACKAGE: Final = re.compile(r"[A-Za-z0-9._-]+")


@command(
    "doctor",
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
@path_option(
    "--bundle",
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
    """
    Check the data directory, the token, the bundler, the host's sources, the theme
    directory, the port and the notification server, and show how to fix each problem.

    It finds plugins that were changed, and what a start would lose. A daemon with --dev
    needs no notification server.
    """
    reactor = steady_reactor()
    found, is_dev = checkup.daemon(place, listen)
    no_prompts = (dev or is_dev) and not prompt
    findings = [
        *checkup.on_disk(place),
        found,
        *run_once(reactor, lambda: on_desktop(reactor, place, prompt, no_prompts)),
    ]
    ok = all(finding.level is not Level.WRONG for finding in findings)
    value = {"ok": ok, "findings": list(map(asdict, findings))}
    if bundle is not None:
        write_report(bundle, report_parts(place, findings, os.environ))
    print_result(as_json, value, checkup.finding_lines(findings))
    return 0 if ok else 1


async def on_desktop(
    reactor: Any, place: Paths, prompt: bool, no_prompts: bool
) -> list[Finding]:
    """
    Check the notification server.

    :param prompt: Whether to show a test prompt.
    :param no_prompts: Whether none is needed.
    """
    notifications = Notifications(reactor, os.environ)
    try:
        findings = []
        if sys.platform not in ("win32", "darwin"):  # pragma: no branch
            server = checkup.notification_server(notifications, no_prompts)
            findings.append(await server)
        if prompt:
            application = place.profile.application
            approver = native_approver(reactor, notifications, application)
            if all(finding.level is Level.OK for finding in findings):
                print("answer the prompt on the desktop", file=sys.stderr)
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
        if prefix_of(e) is Prefix.DENIED:
            return Finding(name, Level.OK, f"you did not confirm it: {e.message}")
        return Finding(name, Level.WRONG, e.message, "see notification server")
    return Finding(name, Level.OK, "you confirmed it")


def report_parts(
    place: Paths, findings: Sequence[Finding], environ: Mapping[str, str]
) -> dict[str, bytes]:
    """
    Collect what a bug report needs, without personal data.

    :param environ: Of which the daemon's variables are taken.
    :return: The contents of files, by name.
    """
    options = [click_option(option, place.profile.names) for option in OPTIONS]
    names = [name for option in options for name in option.envvar or ()]
    variables = [f"{name}={environ[name]}" for name in names if name in environ]
    texts = {
        "doctor.json": dumps(list(map(asdict, findings))).decode(),
        "versions.txt": "\n".join(_versions()),
        "variables.txt": "\n".join(variables),
        **_of_state(place),
        "plugins.log": _tail(place.data.log),
        "daemon.log": _tail(place.data.daemon_log),
    }
    token = ""
    with contextlib.suppress(FileNotFoundError, TokenError):
        token = read_token(place.data.token)
    secrets = (token, str(Path.home()).rstrip("/"))
    return {name: _part(text, secrets) for name, text in texts.items()}


def _part(text: str, secrets: Sequence[str]) -> bytes:
    text = _USERINFO.sub("", redacted(text, lambda: secrets)).removesuffix("\n")
    return f"{text}\n".encode("utf-8", "replace") if text else b""


def write_report(path: Path, parts: Mapping[str, bytes]) -> None:
    """
    Write the file for a bug report, and list its contents on standard error.

    :param path: Made with mode 0600; an existing file is never replaced.
    :raise CommandError: It can't be written.
    """
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, content in parts.items():
            member = tarfile.TarInfo(f"plugin-bridge/{name}")
            member.size, member.mode = len(content), 0o600
            tar.addfile(member, io.BytesIO(content))
    write_private(path, made.getvalue())
    report = partial(print, file=sys.stderr)
    report("the file contains these parts, without token, settings and home directory:")
    for name, content in parts.items():
        report(f"  {name:<14} {len(content)} bytes")
    report(f"wrote {path}; read it before you send it")


def _versions() -> list[str]:
    lines = [
        f"plugin-bridge {__version__}",
        f"python {sys.version.split()[0]}",
        f"system {platform.platform()}",
    ]
    with contextlib.suppress(PackageNotFoundError):
        for line in requires("plugin-bridge") or ():
            found = _PACKAGE.match(line)
            if found is not None and "extra ==" not in line:
                lines.append(f"{found[0]} {version(found[0])}")
    return lines


def _of_state(place: Paths) -> dict[str, str]:
    try:
        view = read_state(place.data.state)
    except StoreError as e:
        return {"settings.txt": str(e)}
    sizes = [
        f"{ns}: {len(entries)} values, {len(dumps(entries))} bytes"
        for ns in view.namespaces()
        if (entries := view.entries(ns))
    ]
    plugins = []
    for plugin_id, value in sorted(view.entries(RECORDS).items()):
        record = read_record(value)
        url = _QUERY.sub("", record.url)
        plugins.append(f"{plugin_id} {record.commit} {record.key_id} {url}")
    return {"settings.txt": "\n".join(sizes), "plugins.txt": "\n".join(plugins)}


def _tail(path: Path) -> str:
    """Return the last lines of a log; empty if there is none."""
    try:
        with open_regular(path) as file:
            start = max(0, os.fstat(file.fileno()).st_size - _LOG_BYTES)
            file.seek(start)
            text = file.read(_LOG_BYTES).decode("utf-8", "replace")
            # Part of a line may be part of what is kept out.
            return text.partition("\n")[2] if start else text
    except OSError:
        return ""
