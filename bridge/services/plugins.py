"""
The ``plugins`` service: what it accepts and answers, and one-line bodies.

The operations themselves are in ``bridge.plugins``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, TypeVar

from attrs import asdict, evolve, field

from ..approval.approvers import Approver
from ..classes import define, frozen
from ..concurrency.shares import SharedRuns
from ..concurrency.threads import InThread
from ..plugins.bundle.build import Report
from ..plugins.clone.server import check_url
from ..plugins.installed.records import KeyEntry, Record, Trust, read_records
from ..plugins.installed.trees import ListEntry, PluginList, Trees
from ..plugins.operations.candidate import Pin
from ..plugins.operations.changes import InstallResult, PluginChanges, UpdateResult
from ..plugins.operations.jobs import End, Job, Jobs, Progress, Request
from ..plugins.operations.settlement import Rebuild
from ..plugins.tree.about import About
from ..plugins.tree.manifest import check_id
from ..plugins.upstream.preview import Preview, Previewer
from ..plugins.upstream.updates import Updates, UpdatesResult
from ..protocol import frames, limits
from ..protocol.errors import BridgeError, Code, Prefix, bad_request, plugin_error
from ..protocol.limits import REF_CHARACTERS, REF_LEAST_CHARACTERS
from ..protocol.steps import Operation, Step
from ..protocol.wire import AnyParams, string, unstructure
from ..rpc import Caller, Event, NoParams, NoResult, method
from ..settings.host import Paths
from ..store.store import Store

T = TypeVar("T")

_Ref = Annotated[
    str,
    string(
        REF_CHARACTERS,
        like=f"[A-Za-z0-9_-]{{{REF_LEAST_CHARACTERS},{REF_CHARACTERS}}}",
        least=REF_LEAST_CHARACTERS,
    ),
]


@frozen
class InstallParams:
    """
    What to install.

    :ivar url: An https URL of at most 512 characters, with a host; no user name,
        query or fragment.
    :ivar pin: The ``commit`` and ``digest`` of a preview, which it has to be.
    :ivar ref: The page's own name for the operation, fresh and random. A request with
        the ``ref`` of an earlier one gets the outcome of that one.
    """

    url: str
    pin: Pin | None = None
    ref: _Ref | None = None


@frozen
class AboutParams:
    """
    Which plugin.

    :ivar id: See ``uninstall``.
    """

    id: str


@frozen
class PluginIdParams:
    """
    Which plugin.

    :ivar id: 2 to 40 characters: lower-case letters, digits and hyphens.
    :ivar ref: See ``install``.
    """

    id: str
    ref: _Ref | None = None


@frozen
class UpdateParams:
    """
    Which plugin to update.

    :ivar id: 2 to 40 characters: lower-case letters, digits and hyphens.
    :ivar pin: The ``commit`` and ``digest`` of a preview, which it has to become.
    :ivar ref: See ``install``.
    """

    id: str
    pin: Pin | None = None
    ref: _Ref | None = None


@frozen
class PreviewParams:
    """
    What to preview: either a ``url`` or an ``id``.

    :ivar url: The URL of a repository; see ``install``.
    :ivar id: An installed plugin, at the URL it was installed from.
    :ivar ref: See ``install``.
    """

    url: str | None = None
    id: str | None = None
    ref: _Ref | None = None


@frozen
class BuildParams(AnyParams):
    """
    How to name a build.

    :ivar ref: See ``install``.
    """

    ref: _Ref | None = None


@frozen
class OperationParams:
    """
    Which operation.

    :ivar operation: Its name, as ``operations`` and ``progress`` have it.
    """

    operation: Annotated[str, string(limits.NAME_CHARACTERS)]


@frozen
class KeyParams:
    """
    Which key.

    :ivar key_id: Its fingerprint, as ``keys`` lists it.
    :ivar ref: See ``install``.
    """

    key_id: str
    ref: _Ref | None = None


@frozen
class Refusal:
    """
    The error of an operation, as its answer had it.

    :ivar code: Its code.
    :ivar message: Its message.
    """

    code: Code
    message: str


@frozen(kw_only=True)
class OperationEntry(Progress):
    """
    An operation that is under way, or ended in the last five minutes.

    :ivar started_at: Milliseconds since the epoch.
    :ivar ended_at: Milliseconds since the epoch; only when it has ended.
    :ivar outcome: Only when it has ended.
    :ivar error: Only when it was refused or cancelled.
    :ivar result: Only when it is done: what its method answers.
    """

    started_at: int
    ended_at: int | None = None
    outcome: End | None = None
    error: Refusal | None = None
    result: dict[str, Any] | None = None


@frozen
class OperationList:
    """
    The operations of this daemon.

    :ivar operations: Those under way first, the earliest first.
    """

    operations: list[OperationEntry]


@frozen
class PluginSet:
    """
    The installed plugins, after a change.

    :ivar plugins: List entries, by id.
    """

    plugins: list[ListEntry]


@frozen
class CheckUpdatesParams(AnyParams):
    """
    How to look for updates.

    :ivar fresh: Whether to ask every repository again; otherwise what was found within
        the last minute is good enough.
    """

    fresh: bool = False


@frozen
class KeysResult:
    """
    The accepted keys.

    :ivar keys: The last used first.
    """

    keys: list[KeyEntry]


@frozen
class Pushes:
    """
    Pushes the events of plugins to every page; see ``EventSink``.

    :ivar push: ``Hub.push``.
    """

    push: Callable[[str, Any], None]
    trust: Trust

    def progress(self, progress: Progress) -> None:
        """Push how far an operation is."""
        self.push(Event.PROGRESS, unstructure(progress))

    def plugins(self, entries: list[ListEntry]) -> None:
        found = PluginSet([one.with_trust(self.trust) for one in entries])
        self.push(Event.PLUGINS, unstructure(found))

    def built(self, report: Report) -> None:
        self.push(Event.BUILD, unstructure(report))


@define
class PluginService:
    """
    Clones, verifies and compiles plugins.

    :ivar paths: Where plugins are, and the bundle.
    :ivar build_problem: Returns why no bundle can be built; empty when one can.
    """

    _changes: PluginChanges
    _rebuild: Rebuild
    _store: Store
    _trees: Trees
    _trust: Trust
    _in_thread: InThread
    _updates: Updates
    _jobs: Jobs
    _previewer: Previewer
    _approver: Approver
    _paths: Paths
    _build_problem: Callable[[], str] = str
    _listings: SharedRuns[PluginList] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._listings = SharedRuns(self._listed)

    def describe(self) -> dict[str, Any]:
        """
        Return where plugins are, and how installing one is confirmed.

        ``host`` is the name of the host's profile, ``application`` that of the host.
        ``cannotBuild`` is there only when something is missing, or the last build has
        failed: why no bundle can be built, and what to run.
        """
        self._rebuild.try_again()
        problem = self._build_problem() or self._rebuild.owed
        return {
            **({"cannotBuild": problem} if problem else {}),
            "host": self._paths.profile.name,
            "application": self._paths.profile.application,
            "pluginsDir": str(self._paths.data.plugins),
            "bundle": str(self._paths.bundle),
            "confirmation": self._approver.description,
            "signatures": "ed25519, required",
            "installed": list(read_records(self._store)),
        }

    @method(InstallParams, InstallResult, seconds=limits.PROMPTED_CALL_SECONDS)
    async def install(self, params: InstallParams, caller: Caller) -> InstallResult:
        """
        Install a plugin from its repository, after a prompt on the desktop.

        :raise BridgeError: ``bad_request`` with a prefix: ``not_https``, ``denied``,
            ``approval_unavailable``, ``clone_failed``, ``no_manifest``,
            ``manifest_invalid``, ``invalid_id``, ``policy``, ``unsigned``,
            ``already_installed``, ``not_trusted``, ``downgrade``, ``build_failed``,
            ``moved``, ``busy`` or ``cancelled``; ``unavailable`` when too many
            operations are under way, of this page or in all.
        """
        subject = check_url(params.url), params.pin
        request = Request(Operation.INSTALL, subject, ref=params.ref, caller=caller)
        same = self._jobs.under_way(Operation.INSTALL, params.url)
        if self._jobs.find(request) is None and same is not None:
            why = "an install from this URL is already under way; wait for it to end"
            raise plugin_error(Prefix.BUSY, why)
        return await self._jobs.run(request, self._changes.install)

    @method(PreviewParams, Preview, seconds=limits.PROMPTED_CALL_SECONDS)
    async def preview(self, params: PreviewParams, caller: Caller) -> Preview:
        """
        Clone and check a plugin without installing it; nothing is asked or run.

        A host that is not on the public internet is asked for by a prompt of its own,
        unless the daemon runs with ``--dev``.  The preview ends with its page.

        :raise BridgeError: ``bad_request`` with a prefix: ``private_address``,
            ``busy``, ``cancelled``, ``not_https``, ``clone_failed``, ``no_manifest``,
            ``manifest_invalid``, ``invalid_id``, ``policy``, ``unsigned``,
            ``build_failed`` without a bundler, and with an ``id`` also
            ``not_installed`` or ``reinstall_required``; ``rate_limited`` after six
            previews in a minute; ``unavailable`` when too many operations are under
            way.
        """
        if (params.url is None) == (params.id is None):
            raise bad_request("one of url and id is required")

        def watch(progress: Progress) -> None:
            text = frames.push(Event.PROGRESS, unstructure(progress))
            caller.push(Event.PROGRESS, text)

        subject, by_page = (params.url, params.id), caller.is_page
        request = Request(
            Operation.PREVIEW, subject, params.id, params.ref, from_page=by_page
        )
        return await self._previewer.preview(request, caller, watch)

    @method(NoParams, OperationList)
    async def operations(self, params: NoParams) -> OperationList:
        """List the operations under way, and the outcomes of the last five minutes."""
        return OperationList([self._entry(one) for one in self._jobs.recent()])

    def _entry(self, job: Job) -> OperationEntry:
        error = job.error
        return OperationEntry(
            **asdict(job.progress(), recurse=False),
            started_at=job.started_at,
            ended_at=job.ended_at,
            outcome=job.outcome,
            error=Refusal(error.code, error.message) if error else None,
            result=_answer(job),
        )

    @method(OperationParams, NoResult)
    async def cancel(self, params: OperationParams) -> NoResult:
        """
        Cancel an operation: withdraw its prompt, stop its clone, roll it back.

        :raise BridgeError: ``bad_request`` with the prefix ``not_cancellable``: it
            commits already, has ended, or is unknown.
        """
        await self._jobs.cancel(params.operation)
        return NoResult()

    @method(AnyParams, PluginList)
    async def list(self, params: AnyParams) -> PluginList:
        """List the installed plugins, and why some are not in the bundle."""
        listing = await self._listings.ask()
        plugins = [one.with_trust(self._trust) for one in listing.plugins]
        return evolve(listing, plugins=plugins)

    async def _listed(self) -> PluginList:
        return self._rebuild.completed(await self._read(self._trees.listing))

    async def _read(self, read: Callable[..., T], *of: str) -> T:
        """Read trees: again, when what is installed or linked changes meanwhile."""
        now = await self._plugins_now()
        while True:
            before, refusal = now, None
            try:
                found: T = await self._in_thread(read, *of, before[0])
            except BridgeError as e:
                refusal = e
            now = await self._plugins_now()
            if now != before:
                continue
            if refusal is not None:
                raise refusal
            return found

    async def _plugins_now(self) -> tuple[Mapping[str, Record], object, object]:
        trees = self._trees
        async with trees.moving:
            return read_records(self._store), {*trees.unsettled}, {**trees.linked}

    @method(AboutParams, About)
    async def about(self, params: AboutParams) -> About:
        """
        Return the README and the icon of an installed plugin, as they were signed.

        :raise BridgeError: ``bad_request`` with a prefix: ``invalid_id``,
            ``not_installed``, and when its tree can't be used ``manifest_invalid``,
            ``policy``, ``unsigned``, ``not_trusted``, ``downgrade`` or
            ``reinstall_required``.
        """
        return await self._read(self._trees.about, check_id(params.id))

    @method(
        CheckUpdatesParams,
        UpdatesResult,
        seconds=limits.UPDATES_ANSWER_SECONDS + limits.CALL_SECONDS,
    )
    async def check_updates(self, params: CheckUpdatesParams) -> UpdatesResult:
        """
        List the plugins that are behind, and those of which it is not known.

        What is in none of the lists is up to date.  Slow repositories are ``pending``,
        and in the answer to a later call.
        """
        return await self._updates.check(fresh=params.fresh)

    @method(UpdateParams, UpdateResult, seconds=limits.PROMPTED_CALL_SECONDS)
    async def update(self, params: UpdateParams, caller: Caller) -> UpdateResult:
        """
        Update a plugin from its repository, after a prompt.

        When the repository has no other commit than the installed one, nothing is
        asked or changed.  Who asks for the same that is under way joins it.

        A new version that declares more permissions, hosts, actions or events than the
        installed one needs another prompt, which lists them.

        :raise BridgeError: ``bad_request`` with a prefix: ``invalid_id``,
            ``not_installed``, ``reinstall_required``, ``downgrade``, or one of
            ``install``'s; ``unavailable`` when too many operations are under way.
        """
        subject = check_id(params.id), params.pin
        request = Request(Operation.UPDATE, subject, params.id, params.ref, caller)
        same = self._jobs.find(request)
        same = same or self._jobs.under_way(Operation.UPDATE, *subject)
        if same is None:
            return await self._jobs.run(request, self._changes.update)
        joined: UpdateResult = await same.join(params.ref)
        return joined

    @method(PluginIdParams, NoResult, seconds=limits.PROMPTED_CALL_SECONDS)
    async def uninstall(self, params: PluginIdParams, caller: Caller) -> NoResult:
        """
        Remove a plugin and its settings, after a prompt on the desktop.

        :raise BridgeError: ``bad_request`` with a prefix: ``invalid_id``,
            ``not_installed``, ``denied``, ``approval_unavailable`` or ``cancelled``;
            ``unavailable`` when too many operations are under way.
        """
        subject = (check_id(params.id),)
        request = Request(Operation.UNINSTALL, subject, params.id, params.ref, caller)
        await self._jobs.run(request, self._changes.uninstall)
        return NoResult()

    @method(BuildParams, Report, seconds=limits.PROMPTED_CALL_SECONDS)
    async def build(self, params: BuildParams, caller: Caller) -> Report:
        """
        Rebuild the bundle; a failed build is answered with a report, too.

        :raise BridgeError: ``unavailable``: the daemon is shutting down, or too many
            builds wait already.
        """
        request = Request(Operation.BUILD, ref=params.ref, caller=caller)
        return await self._jobs.run(request, self._build)

    async def _build(self, job: Job) -> Report:
        job.commit()
        if self._jobs.commit_lock.locked:
            job.reached(Step.BUILD, "Waiting for what is under way")
        begun = partial(job.reached, Step.BUILD, "Building the bundle")
        return await self._rebuild.ask(begun)

    @method(AnyParams, KeysResult)
    async def keys(self, params: AnyParams) -> KeysResult:
        """List the authors' keys that were accepted."""
        records = read_records(self._store)
        return KeysResult(self._trust.keys({of: r.key_id for of, r in records.items()}))

    @method(KeyParams, NoResult, seconds=limits.PROMPTED_CALL_SECONDS)
    async def forget_key(self, params: KeyParams, caller: Caller) -> NoResult:
        """
        Stop trusting an author's key, after a prompt; uninstalls nothing.

        What is known of the times it has signed at is forgotten, too.

        :raise BridgeError: ``bad_request`` with a prefix: ``not_trusted``, ``denied``,
            ``approval_unavailable`` or ``cancelled``; ``unavailable`` when too
            many operations are under way.
        """
        subject = (params.key_id,)
        request = Request(Operation.FORGET_KEY, subject, ref=params.ref, caller=caller)
        await self._jobs.run(request, self._changes.forget_key)
        return NoResult()


def _answer(job: Job) -> dict[str, Any] | None:
    """Return what the method of an operation that is done has answered."""
    if job.outcome is not End.DONE:
        return None
    return {} if job.result is None else unstructure(job.result)
