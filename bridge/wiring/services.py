"""Every service, and its dependencies."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final

from twisted.logger import Logger

from ..approval.prompts import DESKTOP_ENTRY, sender
from ..classes import frozen
from ..databases.databases import Databases
from ..http.target import AddressPolicy
from ..outbound.fetcher import HttpFetcher
from ..rpc import Registry
from ..services.logs import Logs
from ..services.notify import Notify
from ..services.osc import Osc
from ..services.outbound import Outbound
from ..services.remote import SnippetEvaluator
from ..services.sql import Sql
from ..services.state import State
from ..sinks.fanout import Fanout, Sink
from ..sinks.freedesktop import Freedesktop
from ..sinks.icons import IconFiles
from ..sinks.overlay import Overlay
from ..sinks.websocket import ovrtoolkit, xsoverlay
from .core import Core
from .plugins import PluginWiring

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
"""Methods with a budget of their own; see ``bridge.protocol.budgets.Rates``."""


@frozen(eq=False, repr=False)
class ServiceWiring:
    """
    What pages may call.

    :ivar for_commands: What commands may call: with ``--dev``, links too.
    :ivar fanout: Brings notifications to the sinks.
    :ivar finish: What closes the parts at the end, in order.
    """

    registry: Registry
    for_commands: Registry
    fanout: Fanout
    finish: list[Callable[[], object]]


def make_services(
    core: Core,
    logs: Logs,
    plugins: PluginWiring,
    reserved_ports: frozenset[int],
) -> ServiceWiring:
    """
    Make every service.

    :param reserved_ports: The ports that are not for OSC.
    """
    profile = core.paths.profile
    fanout = make_sinks(core)
    osc = Osc(core.reactor, core.hub.push, reserved_ports, core.store, core.now)
    osc.restore()
    core.hub.on_join(osc.joined)
    in_thread = core.threads.fetches.call
    fetcher = HttpFetcher(AddressPolicy(), core.reactor, in_thread, core.client)
    sql = _make_sql(core)

    registry = Registry()
    registry.register("logs", logs)
    registry.register(
        "notify", Notify(fanout, profile.application, profile.sink_aliases)
    )
    registry.register("osc", osc)
    registry.register("outbound", Outbound(fetcher))
    registry.register("plugins", plugins.service)
    finish: list[Callable[[], object]] = [osc.close, sql.close]
    finish += [fetcher.close, fanout.close]
    if core.config.dev:
        remote = SnippetEvaluator(core.hub.ask, os.urandom, core.reactor)
        registry.register("remote", remote)
        finish.append(remote.close)
    registry.register("sql", sql)
    registry.register("state", State(core.store, core.paths.data.state))
    dev = core.config.dev
    commands = registry.extended("dev", plugins.links) if dev else registry
    return ServiceWiring(registry, commands, fanout, finish)


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
    databases = Databases(paths, core.reactor, core.threads.sql.call, time.monotonic)
    return Sql(databases, about, core.reactor)
