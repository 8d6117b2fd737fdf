"""``plugin-bridge check``: what a plugin would be refused for, before it is."""

from __future__ import annotations

from pathlib import Path

import click

from ....protocol.wire import unstructure
from ....settings.options import Paths
from ...authoring.checker import check_plugin
from ...authoring.report import STATUS, report_lines
from ...command import command, directory_argument, json_option
from ...terminal import print_result


@command(
    "check",
    "--unsigned .",
    status="Exit status: 0 passed, 1 something was refused, 2 wrong usage, 4 nothing "
    "was refused, but a step could not run.",
)
@click.option("--unsigned", is_flag=True, help="Leave the signature out.")
@click.option(
    "--tsc",
    metavar="PATH",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The TypeScript compiler.  [default: (tsc on PATH)]",
)
@json_option
@directory_argument
def check(
    place: Paths, directory: Path, unsigned: bool, tsc: Path | None, as_json: bool
) -> int:
    """
    Check the plugin in DIR as the daemon does when it installs it: the files, the
    manifest, the source policy, the signature, and a trial build with the bundler and
    the host's sources of the data directory.

    It also compares the id that main.ts exports with the manifest, compares apiVersion
    with the host's sources, and checks types with tsc. At the top of a git work
    tree it ignores what git ignores.
    """
    report = check_plugin(place, directory, unsigned, tsc)
    print_result(as_json, unstructure(report), report_lines(report))
    return STATUS[report.outcome]
