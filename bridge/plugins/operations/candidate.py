"""
From a URL to a tree that may be installed: fetched, checked, and not yet trusted.

The tree of the last preview is kept for the install or update that may follow.  It
stays a temporary one: no record names it, and the next start removes it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar

from attrs import evolve, field
from twisted.internet.defer import Deferred, DeferredSemaphore, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from ...approval.prompts import host_of
from ...classes import define, frozen
from ...concurrency.threads import InThread
from ...concurrency.timers import Expiring
from ...protocol import limits
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.steps import Step
from ...protocol.wire import string
from ...system.files import remove
from ..clone.repositories import Repositories
from ..installed.trees import Trees
from ..policy.scan import Scanner, SourcesRefusedError, refuse
from ..tree.manifest import Manifest, load_manifest
from ..tree.tree import Signed, Tree, read_tree, verify_tree
from .jobs import Job


@frozen
class Pin:
    """
    Exactly one tree, as a preview has shown it.

    :ivar commit: Its commit, in hexadecimal digits.
    :ivar digest: The digest that its author signed, in hexadecimal digits.
    """

    commit: Annotated[str, string(40, like="[0-9a-f]{40}", least=40)]
    digest: Annotated[str, string(64, like="[0-9a-f]{64}", least=64)]


def moved(detail: str) -> BridgeError:
    """Return the refusal of another tree than the pinned one: ``moved: <detail>``."""
    return plugin_error(Prefix.MOVED, detail)


@frozen(eq=False)
class Candidate:
    """
    A clone that passed every check.

    :ivar root: Its temporary directory; removed unless it is moved.
    :ivar tree: Its files, as they were checked; without those of one that is kept.
    :ivar signed: The author's signature; the key may not be trusted.
    """

    root: Path
    tree: Tree
    url: str
    commit: str
    manifest: Manifest
    signed: Signed

    @property
    def pin(self) -> Pin:
        """What identifies exactly this tree."""
        return Pin(self.commit, self.signed.digest)


@define(eq=False)
class CandidateFetcher:
    """
    Runs the steps from ``clone`` to ``signature``.

    :ivar remotes: Where installs fetch from.
    :ivar now: The time of day, in seconds since the epoch.
    :ivar in_thread: Where the checks run.
    :ivar _kept: What a preview has kept: one tree at most.
    """

    remotes: Repositories
    _scanner: Scanner
    _trees: Trees
    _clock: IReactorTime
    _now: Callable[[], float]
    _in_thread: InThread
    _kept: Expiring[Candidate] = field(init=False)
    _removed: Deferred[Any] = field(factory=lambda: succeed(None), init=False)
    _places: DeferredSemaphore = field(
        factory=lambda: DeferredSemaphore(limits.CLONES_AT_ONCE), init=False
    )

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        expired = self._remove_kept
        self._kept = Expiring(self._clock, limits.PREVIEW_KEPT_SECONDS, expired)

    def keep(self, candidate: Candidate) -> int:
        """
        Keep a candidate's tree for ``fetch``, instead of the one before.

        :return: Until when, in milliseconds since the epoch.
        """
        self._kept.keep(evolve(candidate, tree=Tree({})), at_most=1)
        return int((self._now() + limits.PREVIEW_KEPT_SECONDS) * 1000)

    def kept(self, url: str, pin: Pin | None) -> Candidate | None:
        """Return what is kept of a tree; ``None`` when nothing is."""
        same = (one for one in self._kept if (one.url, one.pin) == (url, pin))
        return next(same, None)

    def _remove_kept(self, kept: Candidate) -> None:
        self._removed = self._in_thread(remove, kept.root).addErrback(
            lambda failure: self._log.failure("a previewed tree stays", failure)
        )

    def close(self) -> Deferred[Any]:
        """
        Remove the tree, if one is kept.

        :return: Fires when that is done; a failure is only logged, as the next start
            removes what is left.
        """
        self._kept.close()
        return self._removed

    async def fetch(
        self,
        job: Job,
        url: str,
        pin: Pin | None = None,
        remotes: Repositories | None = None,
    ) -> Candidate:
        """
        Fetch what is at ``url``, or take what a preview has kept, and check it.

        :param url: Already checked.
        :param pin: The tree it has to be; any when it is ``None``.
        :param remotes: Where to fetch from, if not from ``self.remotes``.
        :raise BridgeError: It was refused, or the operation has to end.  The
            operation removes what is left.
        """
        kept = self.kept(url, pin)
        if kept is not None:
            self._kept.take(kept)
            root, commit = kept.root, kept.commit
            job.clones.append(root)
            job.reached(Step.CLONE, "Using what was previewed")
            # Nothing is known of what has happened to its files since.
            tree = await self._in_thread(self._read_kept, root, kept.pin)
        else:
            root = self._trees.fresh()
            job.clones.append(root)
            commit = await self._clone(job, url, root, remotes or self.remotes)
            if pin is not None and commit != pin.commit:
                raise moved("the repository has another commit now; preview it again")
            tree = await self._in_thread(read_tree, root)
        candidate = await self._check(job, url, root, tree, commit)
        if pin is not None and candidate.pin != pin:
            raise moved("the tree is not the one that was previewed")
        return candidate

    def _read_kept(self, root: Path, pin: Pin) -> Tree:
        """Read the kept files, if they still are those that were previewed."""
        with contextlib.suppress(BridgeError):
            tree = read_tree(root)
            if tree.digest(self._trees.profile.tree_domain) == pin.digest:
                return tree
        raise moved("the previewed files were changed on this computer")

    async def _check(
        self, job: Job, url: str, root: Path, tree: Tree, commit: str
    ) -> Candidate:
        job.reached(Step.VALIDATE, "Reading plugin.json")
        manifest = await self._in_thread(load_manifest, tree, self._trees.profile)
        job.about = f"{manifest.id} {manifest.version}"
        job.reached(Step.POLICY, "Scanning the sources")
        await self._scan(job, tree)
        job.reached(Step.SIGNATURE, "Verifying the author's signature")
        signed = await self._in_thread(
            verify_tree, tree, manifest.id, self._trees.profile, self._now()
        )
        return Candidate(root, tree, url, commit, manifest, signed)

    async def _scan(self, job: Job, tree: Tree) -> None:
        try:
            await refuse(job.until(lambda: self._scanner.scan(tree)))
        except SourcesRefusedError as e:
            for hit in e.hits:
                why = f": {hit.why}" if hit.why else ""
                self._log.warn("source policy: {hit}{why}", hit=hit.report, why=why)
            raise

    async def _clone(
        self, job: Job, url: str, root: Path, remotes: Repositories
    ) -> str:
        def received(count: int) -> None:
            job.reached(Step.CLONE, f"Received {count:,} bytes")

        async def cloned() -> str:
            async with self._places:
                job.reached(Step.CLONE, f"Cloning from {host_of(url)}")
                return await remotes.clone(url, root, received)

        if not self._places.tokens:
            job.reached(Step.CLONE, "Waiting for another clone to end")
        # A page sees that a slow host has not made the daemon hang.
        reporting = LoopingCall(job.report)
        reporting.clock = self._clock
        reporting.start(limits.CLONE_REPORT_SECONDS, now=False)
        try:
            return await job.until(cloned)
        finally:
            reporting.stop()
