"""``plugin-bridge demo``: page, daemon and git server in one demonstration."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
import webbrowser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from ...demo.child import ChildError
from ...demo.demo import DemoPaths, Started, start
from ...demo.forge import ForgeError
from ...provision.npm import SetupError
from ...settings.host import load_profile
from .. import PROGRAM
from ..command import command
from ..terminal import CommandError, show


@command(
    "demo",
    "Start a daemon, the reference page, and a git server with a signed sample plugin. "
    "Everything is temporary and local to this machine; Ctrl-C stops and removes it. "
    "The demo needs git and the Python package trustme.",
    "--open",
    table=(),
)
@click.option("--open", "opens", is_flag=True, help="Open the page in your browser.")
def demo(opens: bool) -> None:
    """Run the demo until Ctrl-C."""
    from twisted.internet import reactor

    failures: list[str] = []
    with TemporaryDirectory(prefix="plugin-bridge-demo-") as root:
        place = DemoPaths(Path(root), load_profile("reference"))
        # Not task.react: it would die of the signal, and leave the directory behind.
        running = _demo(reactor, place, opens, failures)
        Deferred.fromCoroutine(running).addErrback(_broke, reactor, failures)
        reactor.run()
    if failures:
        raise CommandError("\n".join(failures))


async def _demo(
    reactor: Any, place: DemoPaths, opens: bool, failures: list[str]
) -> None:
    try:
        started = await start(reactor, place, _progress, os.urandom, int(time.time()))
    except (ChildError, ForgeError, SetupError) as e:
        _fail(str(e), reactor, failures)
        return
    _show(started)
    watch(reactor, started.ended, failures)
    if opens:
        webbrowser.open(started.page)


def watch(reactor: Any, ended: Deferred[None], failures: list[str]) -> None:
    """End the demo when its daemon ends by itself; Ctrl-C ends both."""
    leaving: list[bool] = []
    reactor.addSystemEventTrigger("before", "shutdown", leaving.append, True)

    def daemon_ended(_: None) -> None:
        if not leaving:
            why = "the demo's daemon has ended, so the demo ends too"
            _fail(why, reactor, failures)

    ended.addCallback(daemon_ended)


def _fail(why: str, reactor: Any, failures: list[str]) -> None:
    failures.append(why)
    # It may not be running yet, and then it can't be stopped.
    reactor.callLater(0, reactor.stop)


def _broke(failure: Failure, reactor: Any, failures: list[str]) -> None:
    _fail(failure.getTraceback(), reactor, failures)


def _show(started: Started) -> None:
    show(
        "\nOpen the page, pair it with the token, install the plugin, and reload.\n\n"
        f"  Page:    {started.page}\n"
        f"  Token:   {started.token}\n"
        f"  Plugin:  {started.plugin}\n"
        f"  Data:    {started.data}\n\n"
        "In another terminal, when the page is paired:\n\n"
        f"  {typed_name()} eval --host reference --data-dir {started.data} "
        "'return document.title'\n\n"
        "Ctrl-C ends the demo."
    )


def typed_name() -> str:
    """Return what another terminal has to type for this program."""
    if shutil.which(PROGRAM):
        return PROGRAM
    return shlex.quote(str(Path(sys.executable).with_name(PROGRAM)))


def _progress(line: str) -> None:
    show(f"- {line}")
