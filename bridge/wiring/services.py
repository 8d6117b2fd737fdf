"""
What every part depends on: reactor, options, threads, state; and every service.

That of plugins has most parts: all that installs, builds, updates and links them, and
asks the user first.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from attrs import field
from twisted.logger import Logger

from .. import __version__
from ..approval.approvers import Approver, DevApprover, native_approver
from ..approval.prompts import DESKTOP_ENTRY, sender
from ..classes import frozen
from ..concurrency.threads import Pool
from ..freedesktop.notifications import Notifications
from ..http.client import HttpClient
from ..http.target import AddressPolicy
from ..plugins.bundle.build import Builder
from ..plugins.bundle.publishing import is_current, sweep
from ..plugins.clone.repositories import Repositories
from ..plugins.installed.exchange import Journal, notice_of, recover
from ..plugins.installed.records import Trust, read_records
from ..plugins.installed.trees import Trees
from ..plugins.operations.candidate import CandidateFetcher
from ..plugins.operations.changes import PluginChanges
from ..plugins.operations.jobs import Jobs
from ..plugins.operations.prompting import Prompting
from ..plugins.operations.settlement import InstalledSet, Rebuild
from ..plugins.policy.scan import Scanner
from ..plugins.upstream.preview import Previewer, Reach
from ..plugins.upstream.updates import Updates
from ..protocol.limits import OUTBOUND_THREADS, SQL_STATEMENTS_AT_ONCE
from ..rpc import Hub, Registry
from ..services.linking import DevLinks
from ..services.logs import Logs
from ..services.notify import Notify
from ..services.osc import Osc
from ..services.outbound import Outbound
from ..services.plugins import PluginService, Pushes
from ..services.remote import SnippetEvaluator
from ..services.sql import Sql
from ..services.state import State
from ..settings.config import Config
from ..settings.host import Paths
from ..sinks.fanout import Fanout, Sink
from ..sinks.freedesktop import Freedesktop
from ..sinks.icons import IconFiles
from ..sinks.overlay import Overlay
from ..sinks.websocket import ovrtoolkit, xsoverlay
from ..store.store import Store
from ..system.files import remove

_log: Final = Logger()

LIGHT: Final = frozenset(
    {
        ("logs", "info"),
        ("notify", "targets"),
        ("osc", "send"),
        ("plugins", "cancel"),
        # It answers in time only if it begins at once.
        ("plugins", "check_updates"),
        ("plugins", "list"),
        ("plugins", "operations"),
        ("remote", "result"),
        ("state", "get"),
        ("state", "list"),
    }
)
"""Methods with a budget of their own; see ``bridge.protocol.budgets.Budgets``."""


@frozen(eq=False, repr=False)
class Threads:
    """
    The pools, in the order in which they end; see docs/decisions/0007.

    :ivar fetches: Reads what was fetched.
    :ivar checks: Unpacks, reads and validates trees.
    :ivar sql: Reads databases.
    :ivar icons: Decodes the images of notifications.
    :ivar logs: Writes the page's log lines.
    :ivar disk: Writes the state file.
    """

    fetches: Pool
    checks: Pool
    sql: Pool
    icons: Pool
    logs: Pool
    disk: Pool

    @classmethod
    def make(cls, reactor: Any, size: int) -> Threads:
        """Make them; they work once started."""
        return cls(
            fetches=Pool(reactor, "fetches", OUTBOUND_THREADS),
            checks=Pool(reactor, "checks", size),
            sql=Pool(reactor, "sql", SQL_STATEMENTS_AT_ONCE),
            icons=Pool(reactor, "icons", 1),
            logs=Pool(reactor, "logs", 1),  # keeps the lines in their order
            disk=Pool(reactor, "disk", 1),
        )


@frozen(eq=False, repr=False)
class Core:
    """
    The dependencies that the parts share.

    :ivar config: The options, from the command line and the environment.
    :ivar paths: The host's profile, and the directories.
    :ivar store: The state.
    :ivar hub: Pushes events to the pages.
    :ivar desktop: The user's desktop, if there is one.
    :ivar client: Makes every request of the daemon.
    :ivar now: The time of day, in seconds since the epoch.
    :ivar registry: What pages may call.
    :ivar for_commands: What commands may call.
    """

    reactor: Any
    config: Config
    paths: Paths
    threads: Threads
    store: Store
    hub: Hub
    desktop: Notifications
    client: HttpClient
    now: Callable[[], float]
    registry: Registry = field(factory=Registry)
    for_commands: Registry = field(factory=Registry)

    def offer(self, name: str, service: object) -> None:
        """Let pages and commands call a service."""
        for registry in (self.registry, self.for_commands):
            registry.register(name, service)


@frozen
class PluginWiring:
    """
    What is left to do with the parts that handle plugins.

    :ivar notice: What the operator should see at the start; ``None``: nothing.
    :ivar prepare: Resumes interrupted work; called before listening.
    :ivar finish: What closes the parts at the end, in order.
    """

    notice: str | None
    prepare: Callable[[], object]
    finish: list[Callable[[], object]]


def make_approver(core: Core) -> Approver:
    """Make what confirms privileged operations."""
    application = core.paths.profile.application
    if core.config.dev:
        return DevApprover(core.desktop, application)
    return native_approver(core.reactor, core.desktop, application)


def make_plugins(
    core: Core, approver: Approver, cannot_build: Callable[[], str]
) -> PluginWiring:
    """
    Make every part that has to do with plugins, and what calls them.

    :param cannot_build: Returns why no bundle can be built; empty when one can.
    :raise JournalError: What a killed daemon was doing can't be settled.
    """
    reactor, config, paths, store = core.reactor, core.config, core.paths, core.store
    check = core.threads.checks.call
    random_name = partial(secrets.token_hex, 8)
    trees = Trees(paths.data, paths.profile, random_name)
    journal = Journal(paths.data.journal)
    recovered = recover(journal, store, trees)
    trust = Trust(store)
    sink = Pushes(core.hub.push, trust)
    jobs = Jobs(sink.progress, reactor, core.now, random_name, partial(check, remove))
    builder = Builder(paths, reactor, check)
    rebuild = Rebuild(store, trees, builder, sink, jobs.commit_lock, reactor)
    profile = paths.profile
    words = profile.permission_words
    prompting = Prompting(approver, profile.application, words, trust)
    scanner = Scanner(reactor, check, builder.executable, [profile.api_module])
    client = core.client.trusting(config.ca_file)
    reached = AddressPolicy(config.public_clones_only)
    remotes = Repositories(client, reactor, check, reached)
    fetcher = CandidateFetcher(remotes, scanner, trees, reactor, core.now, check)
    built = jobs, store, trees, rebuild, sink, check
    installed = InstalledSet(*built, journal)

    updates = Updates(store, remotes, reactor)
    parts = jobs, prompting, fetcher, trust, store, trees, check
    changes = PluginChanges(*parts, installed)
    # With ``--dev`` previews reach what installs do.
    reach: Reach = (lambda also: remotes) if config.dev else remotes.public
    previewer = Previewer(*parts, reach, not config.public_clones_only, reactor)
    service = PluginService(
        changes,
        rebuild,
        store,
        trees,
        trust,
        check,
        updates,
        jobs,
        previewer,
        approver,
        paths,
        cannot_build,
    )
    core.offer("plugins", service)
    links = DevLinks(*built, scanner)
    if config.dev:
        core.for_commands.register("dev", links)

    def prepare() -> None:
        sweep(paths.bundle.parent)
        if recovered is not None:
            installed.resume(recovered)
        elif not (
            is_current(paths.bundle, __version__, read_records(store), paths.data.host)
            or cannot_build()
        ):
            rebuild.begin()

    notice = None if recovered is None else notice_of(recovered, store)
    end = partial(installed.close, links.close, reactor)
    return PluginWiring(notice, prepare, [updates.close, end, fetcher.close])


def make_services(
    core: Core, logs: Logs, reserved_ports: frozenset[int]
) -> tuple[Fanout, list[Callable[[], object]]]:
    """
    Make every service but that of plugins.

    :param reserved_ports: The ports that are not for OSC.
    :return: What brings notifications to the sinks; and what closes the parts at the
        end, in order.
    """
    profile = core.paths.profile
    fanout = make_sinks(core)
    osc = Osc(core.reactor, core.hub.push, reserved_ports, core.store, core.now)
    osc.restore()
    core.hub.on_join(osc.joined)
    in_thread = core.threads.fetches.call
    outbound = Outbound(AddressPolicy(), core.reactor, in_thread, core.client)
    sql = _make_sql(core)

    core.offer("logs", logs)
    core.offer("notify", Notify(fanout, profile.application, profile.sink_aliases))
    core.offer("osc", osc)
    core.offer("outbound", outbound)
    core.offer("sql", sql)
    core.offer("state", State(core.store, core.paths.data.state))
    finish: list[Callable[[], object]] = [osc.close, sql.close]
    finish += [outbound.close, fanout.close]
    if core.config.dev:
        remote = SnippetEvaluator(core.hub.ask, os.urandom, core.reactor)
        core.offer("remote", remote)
        finish.append(remote.close)
    return fanout, finish


def make_sinks(core: Core) -> Fanout:
    """Make the sinks that are wanted, without those that can't be made."""
    aliases = core.paths.profile.sink_aliases
    wanted = {aliases.get(name, name) for name in core.config.sink or USUAL_SINKS}
    sinks = []
    for name, make in SINKS.items():
        if name in wanted:
            try:
                sinks.append(make(core))
            except Exception:  # noqa: BLE001
                _log.failure("sink {name} is skipped: it could not be made", name=name)
    return Fanout(core.reactor, sinks)


def _freedesktop(core: Core) -> Freedesktop:
    icons = core.paths.data.icons
    files = IconFiles(icons, core.reactor, core.threads.icons.call)
    profile = core.paths.profile
    entry, application = profile.desktop_entry, profile.application
    reserved = sender(application), DESKTOP_ENTRY
    return Freedesktop(core.desktop, files, core.reactor, entry, application, reserved)


SINKS: Final[dict[str, Callable[[Core], Sink]]] = {
    "overlay": lambda core: Overlay(core.reactor, core.config.overlay_addr),
    "freedesktop": _freedesktop,
    "xsoverlay": lambda core: xsoverlay(core.reactor, core.paths.profile.application),
    "ovrtoolkit": lambda core: ovrtoolkit(core.reactor),
}
"""What makes each sink, by its name, in their order."""

USUAL_SINKS: Final = ("overlay", "freedesktop")
"""Those that are made when no ``--sink`` is given."""


def _make_sql(core: Core) -> Sql:
    """Make what reads the host application's databases."""
    profile, root = core.paths.profile, core.paths.data.root
    paths = {alias: profile.database(alias, root) for alias in profile.databases}
    about = {alias: found.about for alias, found in profile.databases.items()}
    in_thread = core.threads.sql.call
    return Sql(paths, about, core.reactor, in_thread, time.monotonic)
