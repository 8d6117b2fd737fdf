"""
The composition root: options in, a daemon out.

``assemble`` makes every part, in the order in which they rest on each other, and hands
each what it needs.  Nothing below imports the reactor, and nothing imports this module
but Twisted's plugin and the command.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from twisted.application.service import IService
from twisted.internet.defer import Deferred, DeferredList

# Autobahn's parts in C take 50 ms to load; bridge.web.framing needs none of them.
os.environ.setdefault("AUTOBAHN_USE_NVX", "0")

from . import __version__, oneshot
from .banner import Banner
from .config import Config, ConfigError, read_config
from .daemon import Daemon, Logged
from .datadir import DataDir, DataDirError
from .desktop import Notifications
from .listening import StartError, bind
from .listening import this_process as inherited_socket
from .lock import LockedError, acquire
from .logs.output import make_output
from .logs.pagefile import LogFileError, PageFile
from .logs.push import make_log_push
from .logs.writer import LogWriter
from .options import DaemonOptions, Place, locate
from .outbound.fetcher import Reach, make_fetcher
from .parts import Threads, make_plugins, make_sinks, make_sql
from .plugins.dial import tls_context
from .plugins.journal import JournalError
from .protocol.bucket import TokenBucket
from .protocol.errors import BridgeError
from .protocol.session import Rates
from .protocol.wire import dumps, unstructure
from .rpc.dispatch import Dispatcher
from .rpc.hub import Event, Hub
from .rpc.registry import Registry
from .services.catalogue import LIGHT
from .services.logs import Logs
from .services.notify import Notify
from .services.osc import Osc
from .services.outbound import Outbound
from .services.remote import Remote
from .services.state import State
from .sinks.maker import find
from .store import Store, StoreError
from .supervisor import this_process
from .threads import Pool
from .token import PairingToken, TokenError
from .web.conversation import Edge
from .web.guard import Guard, Origins
from .web.site import make_site
from .web.socket import BridgeFactory

T = TypeVar("T")

# A command that looks whether a daemon is there holds the lock for a moment.
LOCK_PATIENCE_SECONDS = 0.2


class Options(DaemonOptions):
    """The command line of ``twistd bridge``."""

    config: Config
    place: Place

    def getSynopsis(self) -> str:
        """Give the line of usage."""
        return "Usage: plugin-bridge run [options], or twistd -n bridge [options]"

    def getUsage(self, width: int | None = None) -> str:
        """Say what each option means, and which sinks there are."""
        sinks = ", ".join(maker.name for maker in find())
        return f"{super().getUsage(width)}\nSinks that are installed: {sinks}.\n"

    def postOptions(self) -> None:
        """Read what was given; a mode that does one thing does it, and exits."""
        self.config = config = read_config(self.given, os.environ)
        self.place = locate(config.host, config.data_dir, config.theme_dir)
        _check(config, self.place)
        if config.print_token or config.rotate_token:
            token = _told(lambda: oneshot.token(self.place.data, config.rotate_token))
            sys.stdout.write(f"{token}\n")
            raise SystemExit(0)
        if config.build_plugins:
            from twisted.internet import reactor

            report = _told(
                lambda: oneshot.run(reactor, lambda: oneshot.build(reactor, self.place))
            )
            sys.stdout.write(dumps(unstructure(report)).decode("utf-8") + "\n")
            raise SystemExit(1 if report.errors else 0)


def _check(config: Config, place: Place) -> None:
    """
    Check what takes more than the option itself to judge.

    :raise ConfigError: Naming the option.
    """
    if config.sink:
        sinks = (*(m.name for m in find()), *place.profile.sink_aliases)
        if not set(config.sink) <= set(sinks):
            raise ConfigError(f"--sink: must be one of {', '.join(sinks)}")
    if config.overlay_addr.port in (0, config.listen.port):
        raise ConfigError("--overlay-addr: must have a port that is not the daemon's")
    if config.ca_file is not None:
        try:
            tls_context(config.ca_file)
        except BridgeError:
            raise ConfigError("--ca-file: must hold certificates in PEM") from None


def makeService(options: Options) -> IService:
    """Make the daemon; Twisted's plugin system asks for it by this name."""
    from twisted.internet import reactor

    return _told(lambda: assemble(reactor, options))


def _told(make: Callable[[], T]) -> T:
    """Let a failure end the process with one line, and no traceback."""
    try:
        return make()
    except (DataDirError, JournalError, StartError, StoreError, TokenError) as e:
        sys.stderr.write(f"plugin-bridge: {e}\n")
        raise SystemExit(1) from None


def assemble(reactor: Any, options: Options, reach: Reach | None = None) -> IService:
    """
    Make every part of the daemon.

    :param reach: What ``outbound`` reaches: the public internet, but in tests.
    :raise StartError: It can't start here; so do ``DataDirError``, ``JournalError``,
        ``StoreError`` and ``TokenError``.
    """
    config, data = options.config, options.place.data
    opened = data.create()
    lock = _lock(data)
    token = PairingToken.load_or_create(data.token)
    threads = Threads.make(reactor, config.threads)
    store = Store.open(data.state, threads.disk.call)
    page_log, notices = _open_page_log(config, data, threads.logs)
    hub = Hub()
    desktop = Notifications(reactor, os.environ, threads.checks.call)
    fanout = make_sinks(reactor, config, options.place, threads, desktop)
    plugins = make_plugins(reactor, config, options.place, threads, store, hub, desktop)
    logs = Logs(page_log, reactor, lambda: [token.reveal()])
    fetcher = make_fetcher(reactor, threads.fetches.call, reach or Reach())

    listening = inherited_socket() or bind(config.listen)
    taken = frozenset({listening.port, config.overlay_addr.port})
    osc = Osc(reactor, hub.push, taken)

    sql = make_sql(reactor, options.place, threads)

    registry = Registry()
    registry.register("logs", logs)
    profile = options.place.profile
    registry.register(
        "notify", Notify(fanout, profile.application, profile.sink_aliases)
    )
    registry.register("osc", osc)
    registry.register("outbound", Outbound(fetcher))
    registry.register("plugins", plugins.service)
    if config.dev:
        registry.register("remote", Remote(hub.ask, os.urandom, reactor))
    registry.register("sql", sql)
    registry.register("state", State(store, data.state))

    sockets = BridgeFactory(
        Edge(
            __version__,
            Dispatcher(registry),
            hub,
            _guard(reactor, config, token, listening.port),
            Rates(config.rate, config.burst, reactor.seconds, LIGHT),
            logs,
            reactor,
        )
    )
    site = make_site(sockets.edge, sockets, config.dev, reactor)
    banner = Banner(
        config,
        data.root,
        options.place.theme_dir,
        data.token,
        registry,
        fanout,
        plugins.approver,
        str(page_log.path) if page_log is not None else "disabled",
        tuple(filter(None, (opened, *notices, store.notice, *plugins.notices))),
    )

    def prepare() -> None:
        desktop.start()
        plugins.prepare()

    def settle() -> Deferred[Any]:
        return DeferredList([fanout.start(), desktop.find()], consumeErrors=True)

    ended: list[Any] = [store, *([page_log] if page_log is not None else []), logs]
    return Daemon(
        reactor=reactor,
        listening=listening,
        site=site,
        sockets=sockets,
        token=token,
        address_file=data.address,
        pools=threads.all(),
        prepare=prepare,
        settle=settle,
        banner=banner,
        finish=[osc, sql, fetcher, fanout, *plugins.finish, desktop, *ended],
        release=lock.release,
        logged=_logged(reactor, options, token, hub),
        supervisor=this_process(),
        reopen=page_log.reopen if page_log is not None else lambda: None,
    )


def _guard(reactor: Any, config: Config, token: PairingToken, port: int) -> Guard:
    def bucket() -> TokenBucket:
        return TokenBucket(config.rate, config.burst, reactor.seconds)

    added = frozenset(origin.encode("utf-8") for origin in config.allow_origin)
    return Guard(Origins(added), token, bucket(), bucket(), port)


def _logged(reactor: Any, options: Options, token: PairingToken, hub: Hub) -> Logged:
    config = options.config

    def secrets() -> Sequence[str]:
        return [token.reveal()]

    output = make_output(sys.stderr, config.log, config.log_format, secrets, os.environ)
    push = make_log_push(
        lambda record: hub.push(Event.LOG, record),
        config.log,
        secrets,
        reactor.callFromThread,
    )
    return Logged(output if _is_ours_to_print(options) else None, push)


def _is_ours_to_print(options: Options) -> bool:
    """Whether twistd was not told, and does not mean, to log somewhere else."""
    twistd = options.parent
    return twistd is None or not (
        twistd.get("logfile")
        or twistd.get("logger")
        or twistd.get("syslog")
        or not twistd.get("nodaemon", True)
    )


def _lock(data: DataDir) -> Any:
    try:
        return acquire(data.lock, LOCK_PATIENCE_SECONDS)
    except LockedError as e:
        pid = f" (process {e.pid})" if e.pid else ""
        raise StartError(f"another daemon{pid} uses {data.root}") from None
    except OSError as e:
        raise StartError(f"cannot lock {data.root}: {e.strerror}") from None


def _open_page_log(
    config: Config, data: DataDir, pool: Pool
) -> tuple[LogWriter | None, list[str]]:
    if config.no_log_capture:
        return None, []
    try:
        file = PageFile.open(config.log_file or data.log, config.log_max_bytes)
    except LogFileError as e:
        return None, [f"the page's log lines are dropped: {e}"]
    return LogWriter(file, pool.call), []
