"""``plugin-bridge check``: what a plugin would be refused for, before it is."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from twisted.internet.defer import Deferred, succeed

from ....plugins.policy.hits import Hit
from ....protocol.wire import dumps, unstructure
from ....settings.options import HostOptions
from ....wiring import oneshot
from ...authoring.sources import hit_lines
from ...authoring.trial import Trial
from ...authoring.verdict import STATUS, Verdict
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


def as_json(verdict: Verdict) -> str:
    """Return the verdict as one line of JSON."""
    return dumps(unstructure(verdict)).decode("utf-8") + "\n"


def as_text(verdict: Verdict) -> str:
    """Return the verdict as text: a line for each step, and details."""
    lines = []
    for step in verdict.steps:
        first, *rest = step.message.split("\n")
        outcome = step.outcome.replace("_", " ")
        lines.append(f"{step.step:<10} {outcome}: {first}")
        lines += [f"  {line}" for line in rest]
        if step.step == "policy":
            for hit in verdict.hits:
                lines += hit_lines(Hit(hit.file, hit.line, hit.rule), hit.source)
    return "\n".join(lines) + "\n"
