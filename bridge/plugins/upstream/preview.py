"""
Previews: what a repository holds, checked as for an install, and not installed.

Nothing of it is run or recorded.  A preview needs no prompt, so it must not serve to
explore the user's network: without ``--dev`` it only connects to public addresses,
except to one private host that a prompt of its own has shown, and to where a look for
updates goes: the address of an installed plugin, which was confirmed with its install.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from attrs import field
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from ...approval.prompts import Differences
from ...classes import define, frozen
from ...concurrency.shares import Holder
from ...http.target import NotPublicError, read_url
from ...protocol.budgets import TokenBucket
from ...protocol.errors import BridgeError, Code, Prefix, forget_traceback, plugin_error
from ...protocol.limits import (
    PREVIEWS_PER_MINUTE,
)
from ...protocol.steps import Step
from ..clone.history import LogEntry
from ..clone.repositories import Repositories
from ..clone.server import check_url
from ..installed.records import Record, is_recorded, recorded
from ..operations.candidate import Candidate, Pin
from ..operations.changes import PluginOperations, check_same_id
from ..operations.jobs import Job, Progress, Request, Watch, cancelled
from ..tree.about import About, read_about, read_changelog
from ..tree.manifest import Manifest, check_id, differences


@frozen
class PreviewedKey:
    """
    The key that signed a previewed tree.

    :ivar key_id: Its fingerprint.
    :ivar trusted: Whether the user has accepted it.
    :ivar trusted_at: When, in milliseconds since the epoch; only if it is trusted.
    """

    key_id: str
    trusted: bool
    trusted_at: int | None = None


@frozen
class InstalledVersion:
    """
    The installed plugin with the id of a previewed one.

    :ivar version: Empty when the tree was changed, or can't be read.
    :ivar commit: 40 hexadecimal digits.
    :ivar url: Where it was installed from.
    :ivar key_id: The fingerprint of its author's key.
    """

    version: str
    commit: str
    url: str
    key_id: str


@frozen
class Changelog:
    """
    What is new since the installed commit.

    :ivar notes: The sections of ``CHANGELOG.md`` about the versions after the installed
        one; empty without them. Plain text of others: never to be shown as HTML.
    :ivar commits: The commits since then, the newest first, at most 50; empty when
        the host did not answer in time.
    """

    notes: str
    commits: list[LogEntry]


@frozen
class Preview(Pin):
    """
    What would be installed; nothing of it is.

    :ivar url: Where it comes from.
    :ivar manifest: Its ``plugin.json``, with every list.
    :ivar about: Its README and its icon.
    :ivar expires_at: Until when its files are kept for an ``install`` or ``update``
        with its ``commit`` and ``digest`` as ``pin``: milliseconds since the epoch.
    :ivar key: Who signed it.
    :ivar changes: What it declares that the installed version does not, and the other
        way round; if none is installed, all of it is gained.
    :ivar installed: Only if a plugin of this id is installed.
    :ivar changelog: Only if another commit is installed from this URL.
    """

    url: str
    manifest: Manifest
    about: About
    expires_at: int
    key: PreviewedKey
    changes: Differences
    installed: InstalledVersion | None = None
    changelog: Changelog | None = None


Reach = Callable[[frozenset[tuple[str, int]]], Repositories]
"""
Returns what reaches public hosts, and the private addresses and names that are passed,
each with its port.
"""


@define(eq=False)
class Previewer(PluginOperations):
    """
    Previews repositories, one at a time.

    :ivar reach: What previews may connect to, but for those of installed plugins.
    :ivar may_ask: Whether a prompt may allow a private host.
    :ivar _job: The preview under way.
    :ivar _pages: Those that wait for it; when none is left, it ends.
    """

    _reach: Reach
    _may_ask: bool
    _clock: IReactorTime
    _budget: TokenBucket = field(init=False)
    _job: Job | None = field(default=None, init=False)
    _pages: dict[Holder, Watch] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self._budget = TokenBucket(
            PREVIEWS_PER_MINUTE / 60, PREVIEWS_PER_MINUTE, self._clock.seconds
        )

    def preview(
        self, request: Request, page: Holder, watch: Watch
    ) -> Deferred[Preview]:
        """
        Preview a plugin, or join the preview of it that is under way.

        :param request: Its subject is the URL of a repository or ``None``, and then the
            id of an installed plugin, at the URL it was installed from, or ``None``.
        :param page: Who asks; when all who asked are gone, it ends.
        :return: Fails with ``BridgeError``: what an install is refused with, or
            ``private_address``.
        :raise BridgeError: ``busy`` or ``rate_limited``, or the URL or plugin is not
            one.
        """
        current, known = self._job, self._jobs.find(request)
        if known is None and current is not None:
            if current.why_stopped is not None:
                # A reloaded page may ask before its former preview has ended.
                again = partial(self.preview, request, page, watch)
                return current.ended().addCallback(lambda _: again())
            if not current.request.is_same(request):
                why = "another preview is under way; wait for it to end"
                raise plugin_error(Prefix.BUSY, why)
            known = current
        if known is None:
            return self._begin(request, page, watch)
        if known is current:
            self._add(page, watch)
        return known.join(request.ref)

    def _begin(self, request: Request, page: Holder, watch: Watch) -> Deferred[Preview]:
        url, plugin_id = request.subject
        if url is not None:
            check_url(url)
        else:
            self._updatable(check_id(plugin_id or ""))
        if self._budget.take() is None:
            raise BridgeError(
                Code.RATE_LIMITED,
                f"at most {PREVIEWS_PER_MINUTE} previews a minute",
                math.ceil(self._budget.wait()),
            )

        async def body(job: Job, *subject: str | None) -> Preview:
            self._job = job
            self._add(page, watch)
            try:
                return await self._preview(job, *subject)
            finally:
                self._job = None
                self._pages.clear()

        return self._jobs.run(request, body, self._progress)

    def _add(self, page: Holder, watch: Watch) -> None:
        self._pages.setdefault(page, watch)
        page.on_close(self._left)

    def _left(self, page: Holder) -> None:
        self._pages.pop(page, None)
        if self._job is not None and not self._pages:
            self._job.interrupt(cancelled("the page that asked has gone"))

    def _progress(self, progress: Progress) -> None:
        for watch in list(self._pages.values()):
            watch(progress)

    async def _preview(
        self, job: Job, url: str | None, plugin_id: str | None
    ) -> Preview:
        remotes = self._reach(frozenset()) if url else self._fetcher.remotes
        if url is None:
            url = self._updatable(plugin_id or "").url
        try:
            candidate = await self._fetcher.fetch(job, url, remotes=remotes)
        except NotPublicError as e:
            remotes = await self._private_reach(job, url, e.addresses)
            candidate = await self._fetcher.fetch(job, url, remotes=remotes)
        if plugin_id is not None:
            check_same_id(candidate, plugin_id)
        return await self._compared(job, candidate, remotes)

    async def _private_reach(
        self, job: Job, url: str, addresses: tuple[str, ...]
    ) -> Repositories:
        """Ask whether this host may be reached, this once."""
        if not self._may_ask:
            raise _private("private hosts are not allowed")
        try:
            await self._prompting.ask_to_reach(job, url, addresses)
        except BridgeError as e:
            job.raise_if_stopping()
            asked = not e.message.startswith(f"{Prefix.APPROVAL_UNAVAILABLE}:")
            how = "was not confirmed" if asked else "could not be asked for"
            raise _private(f"connecting to it {how}") from None
        # The addresses that were shown, so that the name can't lead elsewhere now.
        target = read_url(url)
        allowed = addresses or (target.host,)
        return self._reach(frozenset((one, target.port) for one in allowed))

    async def _compared(
        self, job: Job, candidate: Candidate, remotes: Repositories
    ) -> Preview:
        """Compare a candidate with what is installed, and keep it."""
        job.reached(Step.COMPARE, "Comparing it with what is installed")
        manifest = candidate.manifest
        record = old = changelog = None
        if is_recorded(self._store, manifest.id):
            record = recorded(self._store, manifest.id)
            old = await self._in_thread(self._trees.sound_manifest, manifest.id, record)
            changelog = await self._changelog(job, candidate, record, old, remotes)
        job.raise_if_stopping()
        signed = candidate.signed
        trusted_at = self._trust.trusted_at(signed.key_id)
        return Preview(
            commit=candidate.commit,
            digest=signed.digest,
            url=candidate.url,
            manifest=manifest,
            about=read_about(candidate.tree),
            expires_at=self._fetcher.keep(candidate),
            key=PreviewedKey(signed.key_id, trusted_at is not None, trusted_at),
            changes=differences(old, manifest),
            installed=None if record is None else _installed(record, old),
            changelog=changelog,
        )

    async def _changelog(
        self,
        job: Job,
        candidate: Candidate,
        record: Record,
        old: Manifest | None,
        remotes: Repositories,
    ) -> Changelog | None:
        if record.url != candidate.url or record.commit == candidate.commit:
            return None
        notes = ""
        if old is not None:
            notes = await self._in_thread(
                read_changelog, candidate.tree, candidate.manifest.version, old.version
            )
        try:
            behind = await job.until(lambda: remotes.behind(record.url, record.commit))
        except BridgeError as e:
            forget_traceback(e)
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
