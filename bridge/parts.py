"""
The parts of the daemon that have to do with plugins or sinks, and their threads.

Continues ``bridge.tap``: what rests on what is the order of the lines.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from attrs import frozen
from twisted.logger import Logger

from . import __version__, oneshot
from .approval import (
    DevApprover,
    IApprover,
    Prompts,
    announcer,
    native_approver,
)
from .config import Config
from .databases.databases import Databases
from .desktop import INotifications
from .devsocket import DevSocket
from .options import Place
from .plugins.candidate import Fetcher
from .plugins.change import Change
from .plugins.git import GitCloner
from .plugins.journal import Journal
from .plugins.linking import Linking, build_without_linked
from .plugins.operations import Operations
from .plugins.pipeline import Installer
from .plugins.prompting import Prompting
from .plugins.rebuild import Ending, Rebuild
from .plugins.recovery import RecoveredBuild, recover
from .plugins.trees import Trees
from .plugins.trust import Trust
from .plugins.uninstall import KeyRing, Uninstaller
from .plugins.update import Updater
from .plugins.updates import Updates
from .plugins.upstream import GitUpstream
from .protocol.limits import (
    OUTBOUND_THREADS,
    SQL_STATEMENTS_AT_ONCE,
    UPDATES_AT_ONCE,
)
from .rpc.hub import Hub
from .services.plugins import PluginService, Pushes
from .services.sql import Sql
from .sinks.fanout import Fanout
from .sinks.maker import SinkParts, chosen, find
from .store import Store
from .threads import Pool

T = TypeVar("T")

_log = Logger()


@frozen
class Threads:
    """
    The pools; see docs/decisions/0007 and 0009.

    :ivar disk: Writes the state file.
    :ivar logs: Writes the page's log lines.
    :ivar checks: Reads and judges trees.
    :ivar clones: Fetches repositories.
    :ivar updates: Looks for updates.
    :ivar sql: Reads databases.
    :ivar icons: Decodes the images of notifications.
    :ivar fetches: Reads what was fetched.
    """

    disk: Pool
    logs: Pool
    checks: Pool
    clones: Pool
    updates: Pool
    sql: Pool
    icons: Pool
    fetches: Pool

    @classmethod
    def make(cls, reactor: Any, size: int) -> Threads:
        """Make them; they begin to work when they are started."""
        sizes = {"disk": 1, "logs": 1, "icons": 1, "checks": size, "clones": size}
        sizes["updates"] = UPDATES_AT_ONCE
        sizes["sql"] = SQL_STATEMENTS_AT_ONCE
        sizes["fetches"] = OUTBOUND_THREADS
        return cls(**{name: Pool(reactor, name, n) for name, n in sizes.items()})

    def all(self) -> list[Pool]:
        """Give all of them."""
        return [
            self.fetches,
            self.updates,
            self.clones,
            self.checks,
            self.sql,
            self.icons,
            self.logs,
            self.disk,
        ]


@frozen
class PluginParts:
    """
    What there is for plugins.

    :ivar notices: What was found at the start and should be known.
    :ivar prepare: Goes on with what was interrupted; called before listening.
    :ivar finish: The parts to close at the end, in order.
    """

    service: PluginService
    approver: IApprover
    notices: list[str]
    prepare: Callable[[], object]
    finish: list[Any]


def make_plugins(
    reactor: Any,
    config: Config,
    place: Place,
    threads: Threads,
    store: Store,
    hub: Hub,
    desktop: INotifications,
) -> PluginParts:
    """
    Make every part that has to do with plugins.

    :raise JournalError: What a killed daemon was doing can't be settled.
    """
    check = threads.checks.call
    approver = _approver(reactor, config, place.profile.application, desktop)
    trees = Trees(place.data, place.profile, lambda: os.urandom(8).hex())
    journal = Journal(place.data.journal)
    recovered = recover(journal, store, trees)
    trust = Trust(store)
    audience = Pushes(hub.push)
    operations = Operations(audience)
    builder = oneshot.make_builder(reactor, place, check)
    rebuild = Rebuild(store, trees, builder, audience, check)
    prompting = Prompting(approver, Prompts(place.profile.application), trust)
    fetcher = Fetcher(
        GitCloner(config.ca_file, config.public_clones_only, time.monotonic),
        trees,
        place.profile,
        reactor,
        check,
        threads.clones.call,
        reactor.callFromThread,
    )
    change = Change(store, trees, rebuild, audience, check, journal)

    def pipeline(kind: Callable[..., T]) -> T:
        return kind(
            operations,
            prompting,
            fetcher,
            change,
            trust,
            store,
            trees,
            reactor,
            check,
        )

    upstream = GitUpstream(config.ca_file, config.public_clones_only, time.monotonic)
    updates = Updates(store, upstream, reactor, threads.updates.call)
    service = PluginService(
        pipeline(Installer),
        pipeline(Updater),
        Uninstaller(operations, prompting, change, store, trees, check),
        KeyRing(operations, prompting, store, trust),
        rebuild,
        store,
        trees,
        trust,
        approver,
        place.bundle,
        check,
        updates,
    )
    linking = Linking(
        operations, rebuild, trees, store, place.profile, audience, reactor, check
    )
    dev = DevSocket(reactor, place.data.dev_socket, linking, __version__)

    def prepare() -> None:
        if recovered is not None:
            RecoveredBuild(operations, change).begin(recovered)
        build_without_linked(place.bundle.parent, rebuild)
        if config.dev:
            dev.listen()

    notices = [] if recovered is None else [recovered.notice]
    finish: list[Any] = [dev, updates, Ending(operations, rebuild, reactor)]
    return PluginParts(service, approver, notices, prepare, finish)


def make_sinks(
    reactor: Any,
    config: Config,
    place: Place,
    threads: Threads,
    desktop: INotifications,
) -> Fanout:
    """Make the sinks that are wanted; one that can't be made is logged, and skipped."""
    aliases = place.profile.sink_aliases
    parts = SinkParts(
        reactor,
        config.overlay_addr,
        place.profile.application,
        desktop,
        place.profile.desktop_entry,
        place.data.icons,
        threads.icons.call,
    )
    sinks = []
    for maker in chosen(find(), [aliases.get(name, name) for name in config.sink]):
        try:
            sinks.append(maker.make(parts))
        except Exception:  # noqa: BLE001
            _log.failure("sink {name} is skipped: it is broken", name=maker.name)
    return Fanout(reactor, sinks)


def _approver(
    reactor: Any, config: Config, application: str, desktop: INotifications
) -> IApprover:
    if config.dev:
        return DevApprover(announcer(desktop, application))
    return native_approver(sys.platform, reactor, desktop, application, os.urandom)


def make_sql(reactor: Any, place: Place, threads: Threads) -> Sql:
    """Make what reads the host application's databases."""
    profile = place.profile
    paths = {
        alias: profile.database(alias, place.data.root) for alias in profile.databases
    }
    databases = Databases(paths, reactor, threads.sql.call, time.monotonic)
    about = {alias: found.about for alias, found in profile.databases.items()}
    return Sql(databases, about, reactor)
