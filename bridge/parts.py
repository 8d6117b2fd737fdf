"""
The parts of the daemon that have to do with plugins, and the threads they share.

Continues ``bridge.tap``: what rests on what is the order of the lines.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

from attrs import frozen

from . import __version__, oneshot
from .approval import DevApprover, IApprover, NobodyApprover, Prompts
from .config import Config
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
from .plugins.rebuild import Rebuild
from .plugins.recovery import RecoveredBuild, recover
from .plugins.trees import Trees
from .plugins.trust import Trust
from .plugins.uninstall import KeyRing, Uninstaller
from .plugins.update import Updater
from .plugins.updates import Updates
from .plugins.upstream import GitUpstream
from .protocol.limits import OUTBOUND_THREADS, UPDATES_AT_ONCE
from .rpc.hub import Hub
from .services.plugins import PluginService, Pushes
from .store import Store
from .threads import Pool

T = TypeVar("T")


@frozen
class Threads:
    """
    The pools; see docs/decisions/0007 and 0009.

    :ivar disk: Writes the state file.
    :ivar logs: Writes the page's log lines.
    :ivar checks: Reads and judges trees.
    :ivar clones: Fetches repositories.
    :ivar updates: Looks for updates.
    :ivar fetches: Reads what was fetched.
    """

    disk: Pool
    logs: Pool
    checks: Pool
    clones: Pool
    updates: Pool
    fetches: Pool

    @classmethod
    def make(cls, reactor: Any, size: int) -> Threads:
        """Make them; they begin to work when they are started."""
        sizes = {"disk": 1, "logs": 1, "checks": size, "clones": size}
        sizes |= {"updates": UPDATES_AT_ONCE, "fetches": OUTBOUND_THREADS}
        return cls(**{name: Pool(reactor, name, n) for name, n in sizes.items()})

    def all(self) -> list[Pool]:
        """Give all of them."""
        slow = [self.fetches, self.updates, self.clones, self.checks]
        return [*slow, self.logs, self.disk]


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
) -> PluginParts:
    """
    Make every part that has to do with plugins.

    :raise JournalError: What a killed daemon was doing can't be settled.
    """
    check = threads.checks.call
    approver: IApprover = DevApprover(_announce) if config.dev else NobodyApprover()
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
    finish: list[Any] = [dev, updates, operations, rebuild]
    return PluginParts(service, approver, notices, prepare, finish)


def _announce(title: str, body: str) -> None:
    """Say what was approved unasked; a notification, once there are sinks."""
