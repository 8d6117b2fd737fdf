"""
Previews: what a repository holds, checked as for an install, and not installed.

Nothing of it is run or recorded.  A preview needs no prompt, so it must not serve to
explore the user's network: without ``--dev`` it only connects to public addresses,
except to one private host that a prompt of its own has shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from attrs import field
from twisted.internet.defer import Deferred, DeferredList, fail
from twisted.internet.interfaces import IReactorTime

from ...approval import Operation
from ...classes import define, frozen
from ...concurrency.threads import InThread
from ...http.addresspolicy import NotPublicError
from ...http.target import read_url
from ...protocol.bucket import TokenBucket
from ...protocol.errors import BridgeError, Code, Prefix, plugin_error
from ...protocol.limits import PREVIEWS_PER_MINUTE
from ...protocol.steps import Step
from ...store import Store
from ..clone.urls import check_url
from ..installed.keys import Trust
from ..installed.records import Record, is_recorded, recorded
from ..installed.trees import Trees
from ..operations.candidate import Candidate, CandidateFetcher, Cloner
from ..operations.kept import KeptTree
from ..operations.prompting import Prompting
from ..operations.underway.operations import Operations
from ..operations.underway.progress import Progress
from ..operations.underway.running import Running, cancelled, ref_of
from ..operations.update import check_same_id, updatable
from ..tree.changelog import read_changelog
from ..tree.growth import differences
from ..tree.manifest import Manifest, check_id
from .history import LogEntry
from .previewed import Changelog, InstalledVersion, Preview, PreviewedKey
from .updates import Upstream


class Asker(Protocol):
    """The page that wants a preview; equal to itself, however often it asks."""

    def progress(self, progress: Progress) -> None:
        """Receive the progress of its preview."""

    def on_close(self, call: Callable[[], None]) -> None:
        """Call ``call`` when the page has gone; at once if it has already."""


@frozen
class Subject:
    """
    What to preview: one of the two.

    :ivar url: The URL of a repository.
    :ivar plugin_id: An installed plugin, at the URL it was installed from.
    """

    url: str | None
    plugin_id: str | None


@frozen
class Reach:
    """Reaches repositories, within what is allowed."""

    cloner: Cloner
    upstream: Upstream


@frozen
class Access:
    """
    Which hosts previews may connect to.

    :ivar reach: Returns what reaches public hosts, and the private addresses and names
        that are passed, each with its port.
    :ivar may_ask: Whether a prompt may allow a private host.
    """

    reach: Callable[[frozenset[tuple[str, int]]], Reach]
    may_ask: bool


@define(eq=False)
class _Current:
    """The preview under way, and the pages that wait for it."""

    subject: Subject
    running: Running | None = None
    _askers: list[Asker] = field(factory=list)

    def add(self, asker: Asker) -> None:
        """Report to another page; when no page is left, the preview ends."""
        if asker not in self._askers:
            self._askers.append(asker)
            asker.on_close(lambda: self._left(asker))

    def begin(self, running: Running) -> None:
        """Remember the operation; it ends if every page has left already."""
        self.running = running
        self._end_if_left()

    def progress(self, progress: Progress) -> None:
        """See ``Watcher``."""
        for asker in list(self._askers):
            asker.progress(progress)

    def end(self) -> None:
        """Release the result: pages that stay open keep referring to this."""
        self.running = None
        self._askers.clear()

    def _left(self, asker: Asker) -> None:
        self._askers = [one for one in self._askers if one != asker]
        self._end_if_left()

    def _end_if_left(self) -> None:
        if self.running is not None and not self._askers:
            self.running.interrupt(cancelled("the page that asked has gone"))


@define(eq=False)
class Previewer:
    """
    Previews repositories, one at a time.

    :ivar in_thread: Where trees are read.
    """

    _operations: Operations
    _prompting: Prompting
    _fetcher: CandidateFetcher
    _kept: KeptTree
    _access: Access
    _trust: Trust
    _store: Store
    _trees: Trees
    _clock: IReactorTime
    _in_thread: InThread
    _budget: TokenBucket = field(init=False)
    _current: _Current | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self._budget = TokenBucket(
            PREVIEWS_PER_MINUTE / 60, PREVIEWS_PER_MINUTE, self._clock.seconds
        )

    def preview(
        self, subject: Subject, ref: str | None, asker: Asker
    ) -> Deferred[Preview]:
        """
        Preview a plugin, or join the preview of it that is under way.

        :param ref: The page's name for the operation.
        :param asker: Receives the progress; when all who asked are gone, it ends.
        :return: Fails with ``BridgeError``: ``busy``, ``private_address``, what an
            install is refused with, or ``rate_limited``.
        """
        try:
            return self._join(subject, ref, asker) or self._begin(subject, ref, asker)
        except BridgeError as refused:
            return fail(refused)

    def _join(
        self, subject: Subject, ref: str | None, asker: Asker
    ) -> Deferred[Preview] | None:
        """Join an earlier request, or wait until one that is being cancelled ends."""
        current = self._current
        running = current.running if current else None
        known = self._operations.find(ref_of(ref, Operation.PREVIEW, subject))
        if known is not None:
            if current and known is running:
                current.add(asker)
            return known.join()
        if current is None or running is None:
            return None
        if running.stopping:
            # A page that was reloaded may ask before its former preview has ended.
            ended = DeferredList([running.ended])
            return ended.addCallback(lambda _: self.preview(subject, ref, asker))
        if current.subject != subject:
            why = "another preview is under way; wait for it to end"
            raise plugin_error(Prefix.BUSY, why)
        current.add(asker)
        return running.join()

    def _begin(
        self, subject: Subject, ref: str | None, asker: Asker
    ) -> Deferred[Preview]:
        if subject.url is not None:
            check_url(subject.url)
        else:
            updatable(self._store, check_id(subject.plugin_id or ""))
        if self._budget.take() is None:
            raise BridgeError(
                Code.RATE_LIMITED,
                f"at most {PREVIEWS_PER_MINUTE} previews a minute",
                math.ceil(self._budget.wait()),
            )
        current = _Current(subject)

        async def body(running: Running) -> Preview:
            self._current = current
            try:
                current.begin(running)
                return await self._preview(running, subject)
            finally:
                self._current = None
                current.end()

        current.add(asker)
        return self._operations.run(
            Operation.PREVIEW,
            subject.plugin_id,
            body,
            ref_of(ref, Operation.PREVIEW, subject),
            current,
        )

    async def _preview(self, running: Running, subject: Subject) -> Preview:
        url = subject.url
        if url is None:
            url = updatable(self._store, subject.plugin_id or "").url
        running.raise_if_stopping()
        reach = self._access.reach(frozenset())
        try:
            candidate = await self._fetcher.fetch_with(running, url, reach.cloner)
        except NotPublicError as e:
            reach = await self._private_reach(running, url, e.addresses)
            candidate = await self._fetcher.fetch_with(running, url, reach.cloner)
        if subject.plugin_id is not None:
            check_same_id(candidate, subject.plugin_id)
        return await self._compared(running, candidate, reach)

    async def _private_reach(
        self, running: Running, url: str, addresses: tuple[str, ...]
    ) -> Reach:
        """Ask whether this host may be reached, this once."""
        if not self._access.may_ask:
            raise _private("private hosts are not allowed")
        prompt = self._prompting.prompts.reach_host(url, addresses)
        try:
            await self._prompting.ask(running, prompt)
        except BridgeError as e:
            running.raise_if_stopping()
            asked = not e.message.startswith(f"{Prefix.APPROVAL_UNAVAILABLE}:")
            how = "was not confirmed" if asked else "could not be asked for"
            raise _private(f"connecting to it {how}") from None
        # The addresses that were shown, so that the name can't lead elsewhere now.
        target = read_url(url)
        allowed = addresses or (target.host,)
        return self._access.reach(frozenset((one, target.port) for one in allowed))

    async def _compared(
        self, running: Running, candidate: Candidate, reach: Reach
    ) -> Preview:
        """Compare a candidate with what is installed, and keep it."""
        running.reached(Step.COMPARE, "Comparing it with what is installed")
        manifest = candidate.manifest
        record = old = changelog = None
        if is_recorded(self._store, manifest.id):
            record = recorded(self._store, manifest.id)
            old = await self._in_thread(self._trees.sound_manifest, manifest.id, record)
            changelog = await self._changelog(running, candidate, record, old, reach)
        running.raise_if_stopping()
        signed = candidate.signed
        trusted_at = self._trust.trusted_at(signed.key_id)
        return Preview(
            commit=candidate.commit,
            digest=signed.digest,
            url=candidate.url,
            manifest=manifest,
            expires_at=self._kept.keep(
                candidate.url, candidate.pin, candidate.root, manifest
            ),
            key=PreviewedKey(signed.key_id, trusted_at is not None, trusted_at),
            changes=differences(old, manifest),
            installed=None if record is None else _installed(record, old),
            changelog=changelog,
        )

    async def _changelog(
        self,
        running: Running,
        candidate: Candidate,
        record: Record,
        old: Manifest | None,
        reach: Reach,
    ) -> Changelog | None:
        if record.url != candidate.url or record.commit == candidate.commit:
            return None
        notes = ""
        if old is not None:
            notes = await self._in_thread(
                read_changelog,
                candidate.tree,
                candidate.manifest.version,
                old.version,
            )
        try:
            behind = await running.until(
                lambda: Deferred.fromCoroutine(
                    reach.upstream.behind(record.url, record.commit)
                )
            )
        except BridgeError:
            behind = None
        commits = behind.changelog if behind else []
        return Changelog(notes, _up_to(candidate.commit, commits))


def _private(detail: str) -> BridgeError:
    return plugin_error(
        Prefix.PRIVATE_ADDRESS, f"the host is not on the public internet; {detail}"
    )


def _installed(record: Record, manifest: Manifest | None) -> InstalledVersion:
    version = manifest.version if manifest else ""
    return InstalledVersion(version, record.commit, record.url, record.key_id)


def _up_to(commit: str, newest_first: list[LogEntry]) -> list[LogEntry]:
    """Leave out what was pushed after ``commit`` was fetched."""
    commits = [entry.commit for entry in newest_first]
    return newest_first[commits.index(commit) :] if commit in commits else []
