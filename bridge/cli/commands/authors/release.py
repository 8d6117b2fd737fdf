"""``plugin-bridge release``: a version, checked, signed, committed and tagged."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

from ....classes import frozen
from ....datadir.paths import write_atomically
from ....plugins.tree.signature import sign_tree
from ....plugins.tree.tree import SIGNATURE_FILE
from ....settings.options import Paths
from ...authoring.keyfiles import SigningKey, chosen_key, key_option
from ...authoring.releasing import PARTS, Release, Repository
from ...authoring.trial import tried
from ...authoring.verdict import STATUS, Outcome, Verdict, as_text
from ...authoring.worktree import check_key_outside, published
from ...command import command, directory_argument, json_option, message_of
from ...terminal import CommandError, print_json

_WORDS = "|".join(reversed(PARTS))


class CheckFailedError(Exception):
    """
    The check did not pass.

    :ivar verdict: What it came to.
    """

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict)
        self.verdict = verdict


@command(
    "release",
    "Release the plugin in DIR, the top of a git work tree: set the version in "
    "plugin.json, check the plugin, sign it, commit both files, and tag the commit. It "
    "pushes nothing, and prints what to push. It refuses if anything is not committed, "
    "if the version is not newer than the last one that was signed, or if there is no "
    "key. After an interruption, the same command continues.",
    ". minor",
    status="Exit status: 0 done, 1 refused, 2 wrong usage, 4 nothing was refused, but "
    "the check could not run a step.",
    words=message_of,
)
@key_option
@json_option
@directory_argument
@click.argument("version", metavar=f"VERSION|{_WORDS}")
def release(
    place: Paths, directory: Path, version: str, key: Path | None, as_json: bool
) -> None:
    """Release a plugin."""
    signing = chosen_key(key, os.environ)
    repository = Repository.read(directory, place.profile)
    chosen = repository.choose(version)

    def check(root: Path) -> Verdict:
        return tried(place, root, True)

    try:
        releasing = Releasing(repository, chosen, signing, check, time.time)
        fingerprint = releasing.run()
    except CheckFailedError as e:
        if not as_json:
            sys.stdout.write(as_text(e.verdict))
        why = "the check did not pass; nothing was committed"
        raise CommandError(why, STATUS[e.verdict.outcome]) from None
    except OSError as e:
        why = f"a file cannot be read or written: {e.strerror}"
        raise CommandError(why) from None
    if not as_json:
        _report(repository, chosen, fingerprint)
        return
    print_json(
        {
            "id": repository.manifest.id,
            "version": chosen.version,
            "keyId": fingerprint,
            "tag": chosen.tag,
            "push": _push(repository, chosen),
        }
    )


@frozen
class Releasing:
    """One release, from wherever an earlier try was interrupted."""

    _repository: Repository
    _release: Release
    _key: SigningKey
    _check: Callable[[Path], Verdict]
    _now: Callable[[], float]

    def run(self) -> str:
        """
        Do what is left to do; return the fingerprint of the key.

        :raise CheckFailedError: Nothing was changed.
        :raise CommandError: git refuses, or something is in the way.
        :raise BridgeError: The manifest or the tree cannot be signed.
        :raise OSError: A file cannot be written.
        """
        repository, release = self._repository, self._release
        if release.is_committed:
            fingerprint = repository.verify_head(self._now())
        else:
            files = published(repository.root)
            check_key_outside(self._key, repository.root, files)
            self._set_version()
            self._sign()
            fingerprint = repository.commit_release(release, self._now())
        if not release.is_tagged:
            repository.tag(release)
        return fingerprint

    def _set_version(self) -> None:
        """Write the version, unless the plugin does not pass the check with it."""
        before = self._repository.set_version(self._release)
        passed = False
        try:
            verdict = self._check(self._repository.root)
            passed = verdict.outcome is Outcome.OK
        finally:
            if not passed:
                self._repository.restore(before)
        if not passed:
            raise CheckFailedError(verdict)

    def _sign(self) -> None:
        repository = self._repository
        text = sign_tree(
            repository.stage_manifest(self._release),
            repository.manifest.id,
            repository.profile,
            self._key.seed,
            int(self._now()),
        )
        write_atomically(repository.root / SIGNATURE_FILE, text, 0o644)


def _push(repository: Repository, release: Release) -> list[str]:
    """Return the command that publishes a release, as its words."""
    git = ["git", "-C", str(repository.root), "push", "--atomic"]
    return [*git, repository.remote() or "origin", repository.branch, release.tag]


def _report(repository: Repository, release: Release, fingerprint: str) -> None:
    again = release.is_tagged
    remote = repository.remote()
    git = shlex.join(["git", "-C", str(repository.root)])
    lines = [
        f"{'is released' if again else 'released':<12} "
        f"{repository.manifest.id} {release.version}",
        f"{'fingerprint':<12} {fingerprint}",
        f"{'tag':<12} {release.tag}",
        "Users get it when you push the default branch:",
        *([] if remote else [f"  {git} remote add origin URL"]),
        f"  {shlex.join(_push(repository, release))}",
    ]
    print("\n".join(lines))
