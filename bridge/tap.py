"""
The composition root: options in, a daemon out.

``assemble`` makes every part, in the order in which they rest on each other, and hands
each what it needs.  Nothing below imports the reactor, and nothing imports this module
but Twisted's plugin and the command.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from twisted.application.service import IService
from twisted.internet.defer import Deferred, DeferredList

# Autobahn's parts in C take 50 ms to load; bridge.web.unmasking calls one without that.
os.environ.setdefault("AUTOBAHN_USE_NVX", "0")

from . import __version__
from .daemon.banner import Banner
from .daemon.daemon import Daemon
from .daemon.listening import StartError, bind
from .daemon.listening import this_process as inherited_socket
from .daemon.sd_notify import this_process
from .datadir.lock import LockedError, acquire
from .datadir.paths import DataDir, DataDirError
from .datadir.token import PairingToken, TokenError
from .freedesktop import Notifications
from .outbound.fetcher import Reach
from .plugins.clone.dial import tls_context
from .plugins.installed.journal import JournalError
from .protocol.bucket import TokenBucket
from .protocol.errors import BridgeError
from .protocol.limits import UPGRADES_BURST, UPGRADES_PER_SECOND
from .protocol.session import Rates
from .protocol.wire import dumps, unstructure
from .rpc.dispatch import Dispatcher
from .rpc.hub import Hub
from .services.logs import Logs
from .settings.config import Config, ConfigError, origin_of, read_config
from .settings.options import DaemonOptions, Place, locate
from .store import Store, StoreError
from .web.conversation import Edge
from .web.guard import Guard, Origins
from .web.site import make_site
from .web.socket import BridgeFactory
from .wiring import oneshot
from .wiring.core import Foundation, Threads
from .wiring.logs import make_logged, open_page_log
from .wiring.plugins import make_plugins
from .wiring.services import LIGHT, make_services
from .wiring.sinks import find

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
        return f"{super().getUsage(width)}\nInstalled sinks: {sinks}.\n"

    def postOptions(self) -> None:
        """Read what was given; a mode that does one thing does it, and exits."""
        self.config = config = read_config(self.given, os.environ, self.known)
        self.place = locate(config.host, config.data_dir, config.theme_dir)
        self._check(config)
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

    def _check(self, config: Config) -> None:
        """
        Check what takes more than the option itself to judge.

        :raise ConfigError: Naming the option or the variable.
        """
        if config.sink:
            sinks = (*(m.name for m in find()), *self.place.profile.sink_aliases)
            if not set(config.sink) <= set(sinks):
                self._refuse("sink", f"must be one of {', '.join(sinks)}")
        if config.overlay_addr.port in (0, config.listen.port):
            self._refuse("overlay-addr", "must have a port other than the daemon's")
        if config.ca_file is not None:
            try:
                tls_context(config.ca_file)
            except BridgeError:
                self._refuse("ca-file", "must contain certificates in PEM")

    def _refuse(self, name: str, rule: str) -> NoReturn:
        origin = origin_of(self.option(name), self.given, os.environ)
        raise ConfigError(f"{origin}: {rule}") from None


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
    config, place, data = options.config, options.place, options.place.data
    opened = data.create()
    lock = _lock(data)
    token = PairingToken.load_or_create(data.token)

    def secrets() -> list[str]:
        return [token.reveal()]

    threads = Threads.make(reactor, config.threads)
    store = Store.open(data.state, threads.disk.call)
    page_log = open_page_log(config, data, threads.logs)
    hub = Hub()
    desktop = Notifications(reactor, os.environ, threads.checks.call)

    foundation = Foundation(reactor, config, place, threads, store, hub, desktop)
    plugins = make_plugins(foundation)
    logs = Logs(page_log.writer, reactor, secrets)
    listening = inherited_socket() or bind(config.listen)
    taken = frozenset({listening.port, config.overlay_addr.port})
    services = make_services(foundation, logs, plugins.service, taken, reach or Reach())

    edge = Edge(
        __version__,
        Dispatcher(services.registry),
        hub,
        _guard(reactor, config, token, listening.port),
        Rates(config.rate, config.burst, reactor.seconds, LIGHT),
        logs,
        reactor,
    )
    sockets = BridgeFactory(edge)
    site = make_site(edge, sockets, config.dev, reactor)
    notices = (opened, *page_log.notices, store.notice, *plugins.notices)
    banner = Banner(
        config,
        data.root,
        place.theme_dir,
        data.token,
        services.registry,
        services.fanout,
        plugins.approver,
        page_log.where,
        tuple(filter(None, notices)),
    )

    def prepare() -> None:
        desktop.start()
        plugins.prepare()

    def settle() -> Deferred[Any]:
        # The banner names the server that shows prompts, whatever sinks there are.
        starting: list[Deferred[Any]] = [services.fanout.start(), desktop.find()]
        return DeferredList(starting, consumeErrors=True)

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
        finish=[
            *services.finish,
            *plugins.finish,
            desktop,
            store,
            *page_log.finish(),
            logs,
        ],
        release=lock.release,
        logged=make_logged(reactor, config, options.parent, secrets, hub),
        supervisor=this_process(),
        reopen=page_log.reopen,
    )


def _guard(reactor: Any, config: Config, token: PairingToken, port: int) -> Guard:
    def bucket() -> TokenBucket:
        return TokenBucket(config.rate, config.burst, reactor.seconds)

    added = frozenset(origin.encode("utf-8") for origin in config.allow_origin)
    upgrades = TokenBucket(UPGRADES_PER_SECOND, UPGRADES_BURST, reactor.seconds)
    return Guard(Origins(added), token, bucket(), bucket(), port, upgrades)


def _lock(data: DataDir) -> Any:
    try:
        return acquire(data.lock, LOCK_PATIENCE_SECONDS)
    except LockedError as e:
        pid = f" (process {e.pid})" if e.pid else ""
        raise StartError(
            f"another daemon{pid} uses {data.root}; "
            "stop it, or choose another directory with --data-dir"
        ) from None
    except OSError as e:
        raise StartError(f"cannot lock {data.root}: {e.strerror}") from None
