"""Every part that is loaded once the daemon listens, in the order of dependencies."""

from __future__ import annotations

import gc
import os
from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred, DeferredList

from .. import __version__
from ..daemon.banner import Banner
from ..daemon.daemon import Parts
from ..freedesktop import Notifications
from ..http.client import Reach, make_client
from ..protocol.session import Rates
from ..provision.readiness import build_problem
from ..provision.setup import renew_sources
from ..rpc.dispatch import Dispatcher
from ..services.logs import Logs
from ..services.pluginoutline import PluginOutline
from ..web.site import Endpoints
from ..web.websocket.conversation import SharedContext
from ..web.websocket.socket import BridgeFactory
from .core import Core, Front
from .lateplugins import LatePlugins, make_approver
from .pagelog import open_page_log
from .services import LIGHT, make_services


def make_parts(front: Front, reach: Reach | None = None) -> Parts:
    """
    Make every part that is not needed to listen.

    :param reach: What ``outbound`` reaches: the public internet, except in tests.
    :raise JournalError: What a killed daemon was doing can't be settled.
    """
    reactor, config, paths = front.reactor, front.config, front.paths
    data, threads = paths.data, front.threads
    desktop = Notifications(reactor, os.environ, threads.checks.call)
    reach = reach or Reach()
    client = make_client(reactor, threads.fetches.call, reach.ca_file, reach.look_up)
    core = Core(
        reactor, config, paths, threads, front.store, front.hub, desktop, client
    )
    approver = make_approver(core)
    outline = PluginOutline(
        front.store,
        data.plugins,
        paths.bundle,
        approver,
        lambda: build_problem(paths),
    )
    renewed = renew_sources(paths)
    plugins = LatePlugins(core, approver, outline)
    plugin_notices = plugins.make_if_needed()
    page_log = open_page_log(config, data, threads.logs)
    logs = Logs(page_log.writer, reactor, front.secrets)
    reserved_ports = frozenset({front.port, config.overlay_addr.port})
    services = make_services(
        core, logs, plugins.service(), reserved_ports, reach.policy
    )
    dispatcher = Dispatcher(services.registry)
    context = SharedContext(
        __version__,
        dispatcher,
        front.hub,
        front.guard,
        Rates(config.rate, config.burst, reactor.seconds, LIGHT),
        logs,
        reactor,
    )
    sockets = BridgeFactory(context)
    commands = plugins.for_commands(services.registry)
    control_context = evolve(
        context,
        guard=front.control_guard,
        dispatcher=Dispatcher(commands),
        pages=False,
    )

    unbuildable = build_problem(paths)
    notices = (
        front.notice,
        *page_log.notices,
        front.store.notice,
        renewed,
        *plugin_notices,
    )
    banner = Banner(
        config,
        data.root,
        paths.theme_dir,
        data.token,
        services.registry,
        services.fanout,
        approver,
        page_log.where,
        tuple(filter(None, (*notices, unbuildable))),
    )

    def prepare() -> None:
        desktop.start()
        plugins.prepare()

    def settle() -> Deferred[Any]:
        # The banner names the server that shows prompts, whatever sinks there are.
        starting: list[Deferred[Any]] = [services.fanout.start(), desktop.find()]
        return DeferredList(starting, consumeErrors=True)

    def finish() -> list[Any]:
        plugins.close()
        made = [] if plugins.made is None else plugins.made.finish
        return [*services.finish, *made, desktop, *page_log.finish(), logs]

    # What is loaded by now stays.  Otherwise each full collection would look at all of
    # it, in a turn of 100 ms, and would wait until garbage is a quarter of it.
    gc.freeze()
    return Parts(
        endpoints=Endpoints(__version__, dispatcher, sockets, front.health, config.dev),
        control_context=control_context,
        prepare=prepare,
        settle=settle,
        banner=banner,
        finish=finish,
        status=unbuildable,
        reopen=page_log.reopen,
    )
