"""From a URL to a tree that may be installed: fetched, checked, and not yet trusted."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from pathlib import Path
from typing import ClassVar, Protocol

from attrs import field
from twisted.internet.defer import DeferredSemaphore
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from ...approval import host_of
from ...classes import define, frozen
from ...concurrency.threads import InThread
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.limits import CLONE_REPORT_SECONDS, CLONES_AT_ONCE
from ...protocol.steps import Step
from ...settings.host import HostProfile
from ..clone.repositories import Remotes
from ..esbuild.executable import BundlerError
from ..installed.trees import Trees
from ..policy.rules.table import Hit
from ..policy.scan import refuse
from ..tree.manifest import Manifest, load_manifest
from ..tree.signature import Signed, verify_tree
from ..tree.tree import Tree, read_tree
from .job import Job
from .kept import KeptTree, Pin, moved


class Scans(Protocol):
    """Scans trees against the source policy; see ``Scanner``."""

    async def scan(self, tree: Tree, modules: Collection[str] = ()) -> list[Hit]:
        """Return the violations in a tree."""


@frozen
class Candidate:
    """
    A clone that passed every check.

    :ivar root: Its temporary directory; removed unless it is moved.
    :ivar tree: Its files, as they were checked.
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

    :ivar in_thread: Where the checks run.
    """

    _remotes: Remotes
    _scanner: Scans
    _trees: Trees
    _profile: HostProfile
    _clock: IReactorTime
    _in_thread: InThread
    _kept: KeptTree
    _places: DeferredSemaphore = field(
        factory=lambda: DeferredSemaphore(CLONES_AT_ONCE), init=False
    )

    _log: ClassVar[Logger] = Logger()

    def previewed(self, url: str, pin: Pin | None) -> Manifest | None:
        """Return the manifest that ``fetch`` will find, if that is known already."""
        return self._kept.manifest(url, pin)

    async def fetch(
        self,
        job: Job,
        url: str,
        pin: Pin | None = None,
        remotes: Remotes | None = None,
    ) -> Candidate:
        """
        Fetch what is at ``url``, or take what a preview has kept, and check it.

        :param url: Already checked.
        :param pin: The tree it has to be; any when it is ``None``.
        :param remotes: Where to fetch from, if not from where installs do.
        :raise BridgeError: It was refused, or the operation has to end.  The
            operation removes what is left.
        """
        root = None if pin is None else self._kept.take(url, pin)
        if pin is not None and root is not None:
            job.clones.append(root)
            job.reached(Step.CLONE, "Using what was previewed")
            tree = await self._in_thread(self._read_kept, root, pin)
            commit = pin.commit
        else:
            root = self._trees.fresh()
            job.clones.append(root)
            commit = await self._clone(job, url, root, remotes or self._remotes)
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
            if tree.digest(self._profile.tree_domain) == pin.digest:
                return tree
        raise moved("the previewed files were changed on this computer")

    async def _check(
        self, job: Job, url: str, root: Path, tree: Tree, commit: str
    ) -> Candidate:
        job.raise_if_stopping()
        job.reached(Step.VALIDATE, "Reading plugin.json")
        manifest = await self._in_thread(load_manifest, tree, self._profile)
        job.raise_if_stopping()
        job.reached(Step.POLICY, "Scanning the sources")
        await self._scan(job, tree)
        job.raise_if_stopping()
        job.reached(Step.SIGNATURE, "Verifying the author's signature")
        now = self._clock.seconds()
        signed = await self._in_thread(
            verify_tree, tree, manifest.id, self._profile, now
        )
        job.raise_if_stopping()
        return Candidate(root, tree, url, commit, manifest, signed)

    async def _scan(self, job: Job, tree: Tree) -> None:
        modules = [self._profile.api_module]
        try:
            hits = await job.until(lambda: self._scanner.scan(tree, modules))
        except BundlerError as e:
            # Without a bundler there will be no bundle either.
            raise plugin_error(Prefix.BUILD_FAILED, str(e)) from None
        self._report(hits)
        refuse(hits)

    async def _clone(self, job: Job, url: str, root: Path, remotes: Remotes) -> str:
        def received(count: int) -> None:
            job.reached(Step.CLONE, f"Received {count:,} bytes")

        async def cloned() -> str:
            async with self._places:
                job.reached(Step.CLONE, f"Cloning from {host_of(url)}")
                return await remotes.clone(url, root, received)

        def still() -> None:
            job.reached(Step.CLONE, job.message)

        if not self._places.tokens:
            job.reached(Step.CLONE, "Waiting for another clone to end")
        # A page sees that a slow host has not made the daemon hang.
        reporting = LoopingCall(still)
        reporting.clock = self._clock
        reporting.start(CLONE_REPORT_SECONDS, now=False)
        try:
            return await job.until(cloned)
        finally:
            reporting.stop()

    def _report(self, hits: list[Hit]) -> None:
        for hit in hits:
            self._log.warn("source policy: {hit}", hit=hit.report)
