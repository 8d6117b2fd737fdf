"""``plugin-bridge release``: a version, checked, signed, committed and tagged."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final

from twisted.internet.defer import Deferred, succeed

from ....classes import frozen
from ....datadir.paths import write_atomically
from ....plugins.tree.signature import sign_tree
from ....plugins.tree.tree import SIGNATURE_FILE, Tree
from ....protocol.errors import BridgeError
from ....settings.options import HostOptions, Paths
from ....wiring import oneshot
from ...authoring.keyfiles import KEY_HELP, SigningKey, chosen_key
from ...authoring.releasing import PARTS, Release, Repository
from ...authoring.signing import check_key_outside, tracked_files
from ...authoring.trial import Trial
from ...authoring.verdict import STATUS, Outcome, Verdict, as_text
from ...terminal import CommandError, failed, print_json

_WORDS: Final = "|".join(reversed(PARTS))


class ReleaseOptions(HostOptions):
    """The command line of ``plugin-bridge release``."""

    synopsis = (
        f"Usage: plugin-bridge release [--json] [--key FILE] [--host NAME|PATH] DIR "
        f"VERSION|{_WORDS}"
    )
    longdesc = (
        "Releases the plugin in DIR, the top of a git work tree: sets the version in "
        "plugin.json, checks the plugin, signs it, commits both files, and tags the "
        "commit. It pushes nothing, and prints what to push. It refuses if anything is "
        "not committed, if the version is not newer than the last one that was signed, "
        "or if there is no key. After an interruption, the same command continues. "
        "Exit status: 0 done, 1 refused, 2 wrong usage, 4 nothing was refused, but the "
        "check could not run a step."
    )
    optParameters: ClassVar[list[list[str | None]]] = [["key", "k", None, KEY_HELP]]
    optFlags: ClassVar[list[list[str | None]]] = [
        ["json", None, "print one JSON object"]
    ]

    def parseArgs(  # type: ignore[override]
        self, directory: str, version: str
    ) -> None:
        """Accept the plugin's directory and the version."""
        self["directory"] = directory
        self["version"] = version


class CheckFailedError(Exception):
    """
    The check did not pass.

    :ivar verdict: What it came to.
    """

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict)
        self.verdict = verdict


def main(arguments: list[str]) -> int:
    """Release a plugin and return the exit status."""
    from twisted.internet import reactor

    options = ReleaseOptions()
    options.parseOptions(arguments)
    place = options.paths()

    def check(root: Path) -> Verdict:
        return _check(reactor, place, options.value("host"), root)

    return release(options, place, check, os.environ, time.time)


def _check(reactor: Any, place: Paths, host: str, root: Path) -> Verdict:
    def at_once(work: Any, *arguments: Any) -> Deferred[Any]:
        # Nothing else runs in this process, so nothing minds being blocked.
        return succeed(None).addCallback(lambda _: work(*arguments))

    with TemporaryDirectory(prefix="plugin-bridge-release-") as scratch:
        trial = Trial(
            reactor, at_once, place, host, root, Path(scratch), True, time.time
        )
        verdict: Verdict = oneshot.run(reactor, trial.run)
    return verdict


def release(
    options: ReleaseOptions,
    place: Paths,
    check: Callable[[Path], Verdict],
    environ: Mapping[str, str],
    now: Callable[[], float],
) -> int:
    """
    Release a plugin.

    :param check: Checks the tree in a directory, except for its signature.
    :param now: Seconds since the epoch.
    :return: The exit status.
    """
    root = Path(options["directory"])
    as_json = bool(options["json"])
    try:
        key = chosen_key(options["key"], environ)
        repository = Repository.read(root, place.profile)
        chosen = repository.choose(options["version"])
        releasing = Releasing(repository, chosen, key, check, now)
        fingerprint = releasing.run()
    except CheckFailedError as e:
        if not as_json:
            sys.stdout.write(as_text(e.verdict))
        why = "the check did not pass; nothing was committed"
        failed("release", why, as_json)
        return STATUS[e.verdict.outcome]
    except BridgeError as e:
        return failed("release", e.message, as_json)
    except CommandError as e:
        return failed("release", str(e), as_json)
    except OSError as e:
        why = f"a file cannot be read or written: {e.strerror}"
        return failed("release", why, as_json)
    if as_json:
        released = {
            "id": repository.manifest.id,
            "version": chosen.version,
            "keyId": fingerprint,
            "tag": chosen.tag,
            "push": _push(repository, chosen),
        }
        print_json(released, False)
        return 0
    _report(repository, chosen, fingerprint)
    return 0


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
            files = tracked_files(repository.root)
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
            Tree(repository.stage_manifest(self._release)),
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
