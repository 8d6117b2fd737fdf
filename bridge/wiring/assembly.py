"""
From options to a daemon: every part, made in the order of dependencies.

Each part is passed what it needs; nothing below imports the reactor.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from attrs import astuple, evolve
from twisted.internet.defer import Deferred, DeferredList
from twisted.logger import ILogObserver

from .. import __version__
from ..daemon.controlsocket import ControlSocket
from ..daemon.daemon import Daemon, banner
from ..daemon.listening import Listening, StartError, bind, inherited_socket
from ..daemonlog import LogPush, Observer, Output, open_daemon_log
from ..datadir.paths import DataDir
from ..datadir.token import read_or_make_token
from ..freedesktop.notifications import Notifications
from ..http.client import HttpClient
from ..pagelog.pagefile import LogFileError, PageFile
from ..protocol.budgets import Budgets, TokenBucket
from ..protocol.text import Secrets
from ..provision.hostsources import check_directory_host
from ..provision.readiness import build_problem
from ..provision.service import SOCKET_UNIT, is_socket_on
from ..provision.setup import renew_sources
from ..rpc import Event, Hub
from ..services.logs import Logs
from ..settings.config import Config
from ..settings.host import Paths
from ..settings.values import Address
from ..store.store import Store
from ..system.locks import Lock, LockedError, name_holder
from ..system.processes import supervisor, to_journal
from ..web.guard import FollowedToken, Guard
from ..web.site import GuardedSite, Routes
from ..web.websocket.conversation import SharedContext
from ..web.websocket.sockets import BridgeFactory
from .services import (
    LIGHT,
    Core,
    Threads,
    make_approver,
    make_plugins,
    make_services,
)

# A command that checks for a daemon holds the lock for a moment.
LOCK_PATIENCE_SECONDS = 0.2


def assemble(
    reactor: Any,
    config: Config,
    paths: Paths,
    twistd: Mapping[str, Any] | None,
) -> Daemon:
    """
    Make a daemon.

    :param twistd: The options of twistd, when that has started us.
    :raise UserError: It can't start here.
    """
    data = paths.data
    opened = data.create()
    check_directory_host(paths)
    lock = _lock(data)
    value = read_or_make_token(data.token)
    token = FollowedToken(data.token, value, reactor.seconds)
    threads = Threads.make(reactor, config.threads)
    store = Store.open(data.state, threads.disk.call)
    hub = Hub()

    desktop = Notifications(reactor, os.environ)
    client = HttpClient(reactor, threads.fetches.call)
    core = Core(reactor, config, paths, threads, store, hub, desktop, client, time.time)
    registry = core.registry
    approver = make_approver(core)
    renewed = renew_sources(paths)
    notified = supervisor()

    def cannot_build() -> str:
        problem = build_problem(paths)
        notified.problem(problem)
        return problem

    plugins = make_plugins(core, approver, cannot_build)
    listening = inherited_socket() or _bound(config.listen)
    file, discarded = open_page_log(config, data)
    kept, not_kept = open_daemon_log(data)
    logs = Logs(file, threads.logs.call, reactor, core.now, token.secrets)
    not_for_osc = frozenset({listening.port, config.overlay_addr.port})
    fanout, finish = make_services(core, logs, not_for_osc)
    notices = opened, discarded, not_kept, store.notice, renewed, plugins.notice
    lines = partial(
        banner,
        config,
        paths,
        registry,
        fanout,
        approver,
        logs.location,
        tuple(filter(None, (*notices, cannot_build()))),
    )

    pushed = LogPush(partial(hub.push, Event.LOG), reactor.callFromThread)

    guard = _guard(reactor, config, token, listening.port)
    budgets = partial(Budgets, config.rate, config.burst, reactor.seconds, LIGHT)
    context = SharedContext(__version__, registry, hub, guard, budgets, logs, reactor)
    sockets = BridgeFactory(context)
    routes = Routes(__version__, registry, config.dev, sockets)
    commands = evolve(context, registry=core.for_commands, pages=False)

    def prepare() -> None:
        # Since the lock was acquired, twistd may have gone to the background.
        name_holder(data.lock)
        desktop.start()
        plugins.prepare()

    def settle() -> Deferred[Any]:
        # The banner names the server that shows prompts, whatever sinks there are.
        starting: list[Deferred[Any]] = [fanout.start(), desktop.look()]
        return DeferredList(starting, consumeErrors=True)

    last = desktop.close, logs.close, store.close, kept.close
    return Daemon(
        reactor=reactor,
        listening=listening,
        site=GuardedSite(guard, routes, reactor),
        control=ControlSocket(reactor, data.control_socket, commands, token.look),
        sockets=sockets,
        token=token,
        address_file=data.address,
        pools=astuple(threads, recurse=False),
        prepare=prepare,
        settle=settle,
        banner=lines,
        reopen=logs.reopen,
        finish=[*finish, *plugins.finish, *last],
        release=lock.release,
        output=make_log_output(reactor, config, twistd, token.secrets),
        observer=Observer(config.log, token.secrets, [kept, pushed]),
        supervisor=notified,
    )


def _guard(reactor: Any, config: Config, token: FollowedToken, port: int) -> Guard:
    def bucket() -> TokenBucket:
        return TokenBucket(config.rate, config.burst, reactor.seconds)

    added = frozenset(origin.encode("utf-8") for origin in config.allow_origin)
    return Guard(added, token, bucket(), bucket(), bucket(), port)


def _bound(address: Address) -> Listening:
    try:
        return bind(address)
    except StartError:
        if is_socket_on(address):
            raise StartError(
                f"cannot listen on {address}: {SOCKET_UNIT} does; run: systemctl "
                f"--user stop {SOCKET_UNIT}"
            ) from None
        raise


def _lock(data: DataDir) -> Lock:
    try:
        return data.claim(LOCK_PATIENCE_SECONDS)
    except LockedError as e:
        pid, how = (f" (process {e.pid})", f": kill {e.pid}") if e.pid else ("", "")
        raise StartError(
            f"another daemon{pid} uses {data.root}; "
            f"choose another directory with --data-dir, or stop it{how}"
        ) from None


def make_log_output(
    reactor: Any, config: Config, twistd: Mapping[str, Any] | None, secrets: Secrets
) -> ILogObserver | None:
    """
    Make what prints the daemon's own log lines.

    :param twistd: The options of twistd, when that has started us.
    :param secrets: What no line may contain.
    :return: ``None`` when twistd prints them.
    """
    if twistd is not None and (
        twistd.get("logfile")
        or twistd.get("logger")
        or twistd.get("syslog")
        or not twistd.get("nodaemon", True)
    ):
        return None
    is_journal = to_journal(sys.stderr, os.environ)
    output = Output(sys.stderr, config.log_format, is_journal)
    # twistd ends by the signal that it got: then Python calls nothing at the exit.
    reactor.addSystemEventTrigger("after", "shutdown", output.end)
    return Observer(config.log, secrets, [output])


def open_page_log(config: Config, data: DataDir) -> tuple[PageFile | None, str | None]:
    """
    Open the file of the page's log lines.

    :return: ``None`` when they are dropped; and why, unless an option asked for it.
    """
    if config.no_log_capture:
        return None, None
    try:
        return PageFile.open(config.log_file or data.log, config.log_max_bytes), None
    except LogFileError as e:
        return None, f"the page's log lines are discarded: {e}"
