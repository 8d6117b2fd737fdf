"""Every service, and what it makes use of."""

from __future__ import annotations

import os
import time
from typing import Any, Final

from attrs import frozen
from twisted.logger import Logger

from ..databases.databases import Databases
from ..outbound.fetcher import Reach, make_fetcher
from ..rpc.registry import Registry
from ..services.logs import Logs
from ..services.notify import Notify
from ..services.osc import Osc
from ..services.outbound import Outbound
from ..services.plugins import PluginService
from ..services.remote import Remote
from ..services.sql import Sql
from ..services.state import State
from ..sinks.fanout import Fanout
from ..sinks.maker import SinkParts
from .core import Foundation
from .sinks import chosen, find

LIGHT: Final = frozenset({("osc", "send"), ("remote", "result")})
"""Methods called at the pace of a controller, which have a budget of their own."""

_log = Logger()


@frozen
class ServiceParts:
    """
    What pages may call.

    :ivar fanout: Brings notifications to the sinks.
    :ivar finish: The parts to close at the end, in order.
    """

    registry: Registry
    fanout: Fanout
    finish: list[Any]


def make_services(
    on: Foundation,
    logs: Logs,
    plugins: PluginService,
    taken: frozenset[int],
    reach: Reach,
) -> ServiceParts:
    """
    Make every service.

    :param taken: The ports that are not for OSC.
    :param reach: What ``outbound`` reaches.
    """
    profile = on.place.profile
    fanout = make_sinks(on)
    osc = Osc(on.reactor, on.hub.push, taken)
    on.hub.at_join(osc.joined)
    fetcher = make_fetcher(on.reactor, on.threads.fetches.call, reach)
    sql = _make_sql(on)

    registry = Registry()
    registry.register("logs", logs)
    registry.register(
        "notify", Notify(fanout, profile.application, profile.sink_aliases)
    )
    registry.register("osc", osc)
    registry.register("outbound", Outbound(fetcher))
    registry.register("plugins", plugins)
    finish: list[Any] = [osc, sql, fetcher, fanout]
    if on.config.dev:
        thread = on.threads.fetches.call
        remote = Remote(on.hub.ask, os.urandom, on.reactor, thread)
        registry.register("remote", remote)
        finish.append(remote)
    registry.register("sql", sql)
    registry.register("state", State(on.store, on.place.data.state))
    return ServiceParts(registry, fanout, finish)


def make_sinks(on: Foundation) -> Fanout:
    """Make the sinks that are wanted; one that can't be made is logged, and skipped."""
    profile = on.place.profile
    parts = SinkParts(
        on.reactor,
        on.config.overlay_addr,
        profile.application,
        on.desktop,
        profile.desktop_entry,
        on.place.data.icons,
        on.threads.icons.call,
    )
    wanted = [profile.sink_aliases.get(name, name) for name in on.config.sink]
    sinks = []
    for maker in chosen(find(), wanted):
        try:
            sinks.append(maker.make(parts))
        except Exception:  # noqa: BLE001
            _log.failure(
                "skipped sink {name} because it failed to load", name=maker.name
            )
    return Fanout(on.reactor, sinks)


def _make_sql(on: Foundation) -> Sql:
    """Make what reads the host application's databases."""
    profile, root = on.place.profile, on.place.data.root
    paths = {alias: profile.database(alias, root) for alias in profile.databases}
    about = {alias: found.about for alias, found in profile.databases.items()}
    databases = Databases(paths, on.reactor, on.threads.sql.call, time.monotonic)
    return Sql(databases, about, on.reactor)
