"""From a URL to a tree that may be installed: fetched, checked, and not yet trusted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import ClassVar, Final, Protocol

from attrs import define, frozen
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...approval import host_of
from ...concurrency.threads import InThread
from ...protocol.errors import Prefix, plugin_error
from ...settings.host import HostProfile
from ..esbuild.executable import BundlerError
from ..installed.trees import Trees
from ..policy.hits import Hit
from ..policy.scan import refuse
from ..tree.manifest import Manifest, load_manifest
from ..tree.signature import Signed, verify_tree
from .operations import Running
from .progress import Step

REMOVE_CLONE: Final = "remove the clone"
"""The step of an undo that removes a candidate."""


class Cloner(Protocol):
    """Fetches repositories; see ``GitCloner``."""

    def clone(
        self,
        url: str,
        into: Path,
        progress: Callable[[int], None],
        stop: threading.Event,
    ) -> str:
        """
        Clone the default branch of ``url`` and return its commit; blocks.

        :param progress: Accepts the bytes received so far; called in this thread, at
            most ``PROGRESS_PER_SECOND`` times a second.
        """


class Scans(Protocol):
    """Scans trees against the source policy; see ``Scanner``."""

    async def scan(self, root: Path, modules: Collection[str] = ()) -> list[Hit]:
        """Return the violations in the tree at ``root``."""


@frozen
class Candidate:
    """
    A clone that passed every check.

    :ivar root: Its temporary directory; removed unless it is moved.
    :ivar signed: The author's signature; the key may not be trusted.
    """

    root: Path
    url: str
    commit: str
    manifest: Manifest
    signed: Signed


@define(eq=False)
class CandidateFetcher:
    """
    Runs the steps from ``clone`` to ``signature``.

    :ivar in_thread: Where the checks run.
    :ivar clone_in_thread: Where clones run, which can take minutes.
    :ivar from_thread: Calls back into the reactor's thread, in order.
    """

    _cloner: Cloner
    _scanner: Scans
    _trees: Trees
    _profile: HostProfile
    _clock: IReactorTime
    _in_thread: InThread
    _clone_in_thread: InThread
    _from_thread: Callable[..., object]

    _log: ClassVar[Logger] = Logger()

    async def fetch(self, running: Running, url: str) -> Candidate:
        """
        Fetch what is at ``url``, and check it.

        :param url: Already checked.
        :raise BridgeError: It was refused, or the operation has to end.  The
            operation's undo removes what is left.
        """
        root = self._trees.fresh()
        running.undo.add(
            REMOVE_CLONE, lambda: self._in_thread(self._trees.remove, root)
        )
        commit = await self._clone(running, url, root)
        running.check()
        running.reached(Step.VALIDATE, "Reading plugin.json")
        manifest = await self._in_thread(load_manifest, root, self._profile)
        running.check()
        running.reached(Step.POLICY, "Scanning the sources")
        await self._scan(root)
        running.check()
        running.reached(Step.SIGNATURE, "Verifying the author's signature")
        now = self._clock.seconds()
        signed = await self._in_thread(
            verify_tree, root, manifest.id, self._profile, now
        )
        return Candidate(root, url, commit, manifest, signed)

    async def _scan(self, root: Path) -> None:
        try:
            hits = await self._scanner.scan(root, [self._profile.api_module])
        except BundlerError as e:
            # Without a bundler there will be no bundle either.
            raise plugin_error(Prefix.BUILD_FAILED, str(e)) from None
        self._report(hits)
        refuse(hits)

    async def _clone(self, running: Running, url: str, root: Path) -> str:
        def received(count: int) -> None:
            running.reached(Step.CLONE, f"Received {count:,} bytes")

        running.reached(Step.CLONE, f"Cloning from {host_of(url)}")
        # Never cancelled: the thread would go on writing to what is being removed.
        commit: str = await self._clone_in_thread(
            self._cloner.clone,
            url,
            root,
            lambda count: self._from_thread(received, count),
            running.stop,
        )
        return commit

    def _report(self, hits: list[Hit]) -> None:
        for hit in hits:
            self._log.warn("source policy: {hit}", hit=hit.report)
