"""``plugin-bridge check``: what a plugin would be refused for, before it is."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from twisted.internet.defer import Deferred, succeed

from ....settings.options import HostOptions
from ....wiring import oneshot
from ...authoring.trial import Trial
from ...authoring.verdict import STATUS, as_json, as_text
from ...terminal import DirectoryArgument


class CheckOptions(DirectoryArgument, HostOptions):
    """The command line of ``plugin-bridge check``."""

    synopsis = "Usage: plugin-bridge check [--unsigned] [--json] [--host NAME|PATH] DIR"
    longdesc = (
        "Checks the plugin in DIR as the daemon does when it installs it: the files, "
        "the manifest, the source policy, the signature, and a trial build with the "
        "bundler and the host's sources of the data directory. It also compares the id "
        "that main.ts exports with the manifest, compares apiVersion with the host's "
        "sources, and runs tsc if it is on PATH. In a git work tree it ignores what "
        "git ignores. Exit status: 0 passed, 1 something was refused, 2 wrong usage, 4 "
        "nothing was refused, but a step could not run."
    )
    optFlags: ClassVar[list[list[str | None]]] = [
        ["unsigned", None, "accept a plugin without a signature"],
        ["json", None, "print one JSON object"],
    ]


def main(arguments: list[str]) -> int:
    """Check a plugin and return the exit status."""
    from twisted.internet import reactor

    options = CheckOptions()
    options.parseOptions(arguments)
    return check(reactor, options)


def check(reactor: Any, options: CheckOptions) -> int:
    """
    Check a plugin; runs the reactor, which the bundler needs.

    :return: The exit status.
    """
    with TemporaryDirectory(prefix="plugin-bridge-check-") as scratch:
        trial = Trial(
            reactor,
            _at_once,
            options.paths(),
            options.value("host"),
            Path(options["directory"]),
            Path(scratch),
            bool(options["unsigned"]),
            time.time,
        )
        verdict = oneshot.run(reactor, trial.run)
    sys.stdout.write(as_json(verdict) if options["json"] else as_text(verdict))
    return STATUS[verdict.outcome]


def _at_once(work: Any, *arguments: Any) -> Deferred[Any]:
    # Nothing else runs in this process, so nothing minds being blocked.
    return succeed(None).addCallback(lambda _: work(*arguments))
