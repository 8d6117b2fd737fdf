"""The commands before a plugin is published: ``check`` and ``release``."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from ....protocol.wire import unstructure
from ....settings.host import Paths
from ...authoring import worktree
from ...authoring.checker import STATUS, Outcome, check_plugin, report_lines
from ...authoring.releases import PARTS, Repository
from ...command import command, directory_argument, json_option
from ...terminal import CommandError, print_line, print_result, reported


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


@command(
    "release",
    ". minor",
    status="Exit status: 0 done, 1 refused, 2 wrong usage, 4 nothing was refused, but "
    "the check could not run a step.",
)
@worktree.key_option
@json_option
@directory_argument
@click.argument("version", metavar=f"VERSION|{'|'.join(reversed(PARTS))}")
def release(
    place: Paths, directory: Path, version: str, key: Path | None, as_json: bool
) -> None:
    """
    Release the plugin in DIR, the top of a git work tree: set the version in
    plugin.json, check the plugin, sign it, commit both files, and tag the commit.

    It pushes nothing, and prints what to push. It refuses if anything is not committed,
    if the version is not newer than the last one that was signed, if the clock is
    behind the last signature, or if there is no key. After an interruption, the same
    command continues.
    """
    signing = worktree.chosen_key(key)
    repository = Repository.read(directory, place.profile)
    chosen = repository.choose(version)
    if not chosen.is_committed:
        signing.check_outside(directory, worktree.published(directory))
        signing.check_clock(directory)
        with reported("plugin.json, plugin.sig or a temporary file cannot be used"):
            with repository.version_set(chosen):
                _check(place, directory, as_json)
            repository.commit(chosen, signing)
    fingerprint = repository.verify_head()
    if not chosen.is_tagged:
        repository.tag(chosen)
    value = {
        "id": repository.manifest.id,
        "version": chosen.version,
        "keyId": fingerprint,
        "tag": chosen.tag,
        "push": repository.push(chosen),
    }
    released = "is released" if chosen.is_tagged else "released"
    lines = [
        f"{released:<12} {repository.manifest.id} {chosen.version}",
        f"{'fingerprint':<12} {fingerprint}",
        f"{'tag':<12} {chosen.tag}",
    ]
    before = repository.signer_before(chosen)
    if before not in (None, fingerprint):
        lines.append(
            f"{'new key':<12} the last release has {before}, so each user is asked to "
            "accept this one"
        )
    lines.append(repository.when_users_get_it())
    if not repository.remote():
        add = ["git", "-C", str(directory), "remote", "add", "origin", "URL"]
        lines.append(f"  {shlex.join(add)}")
    lines.append(f"  {shlex.join(repository.push(chosen))}")
    print_result(as_json, value, lines)


def _check(place: Paths, root: Path, as_json: bool) -> None:
    """
    Check a plugin that will be signed.

    :raise CommandError: It does not pass.
    """
    report = check_plugin(place, root, True)
    if report.outcome is Outcome.OK:
        return
    if not as_json:
        print_line("\n".join(report_lines(report)))
    why = "the check did not pass; nothing was committed"
    raise CommandError(why, STATUS[report.outcome])
