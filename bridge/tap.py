"""
The composition root: options in, a daemon out.

``assemble`` makes what listens.  ``bridge.wiring.parts`` makes the rest, loaded
later (docs/decisions/0067).  Each part is passed what it needs.  Nothing below
imports the reactor, and only Twisted's plugin and the command import this module.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from twisted.application.service import IService

# Autobahn's parts in C take 50 ms to load; bridge.web.websocket.unmasking calls one
# without that.
os.environ.setdefault("AUTOBAHN_USE_NVX", "0")

from . import __version__
from .daemon.controlsocket import ControlSocket
from .daemon.daemon import Daemon, Parts
from .daemon.late import Late
from .daemon.listening import Listening, StartError, bind, is_taken, knock
from .daemon.listening import this_process as inherited_socket
from .daemon.sd_notify import this_process
from .datadir.lock import LockedError, acquire, is_held
from .datadir.paths import DataDir, DataDirError
from .datadir.token import FollowedToken, PairingToken, TokenError
from .protocol.bucket import TokenBucket
from .protocol.strictjson import dumps
from .protocol.wire import unstructure
from .rpc.hub import Hub
from .settings.config import Config, ConfigError, origin_of, read_config
from .settings.options import DaemonOptions, Paths, locate
from .store import Store, StoreError
from .web.guard import Guard, Origins
from .web.site import GuardedSite, Health
from .wiring.core import Front, Threads
from .wiring.logs import make_log_observers
from .wiring.names import WARMED, service_names

if TYPE_CHECKING:
    from .http.client import Reach

T = TypeVar("T")

# A command that checks for a daemon holds the lock for a moment.
LOCK_PATIENCE_SECONDS = 0.2

# A daemon that a supervisor starts answers within that time.
KNOCK_SECONDS = 5.0


class Options(DaemonOptions):
    """The command line of ``twistd bridge``."""

    config: Config
    paths: Paths

    def getSynopsis(self) -> str:
        """Return the usage line."""
        return "Usage: plugin-bridge run [options], or twistd -n bridge [options]"

    def getUsage(self, width: int | None = None) -> str:
        """Return the help of the options, and the sinks."""
        from .wiring.sinks import SINKS

        return f"{super().getUsage(width)}\nSinks: {', '.join(SINKS)}.\n"

    def postOptions(self) -> None:
        """Read what was given; a mode that does one thing does it, and exits."""
        self.config = config = read_config(
            self.given, os.environ, self.known, self.file
        )
        self.paths = locate(config.host, config.data_dir, config.theme_dir)
        self._check(config)
        if config.print_token:
            self._check_listener(config)
        if not (config.print_token or config.rotate_token or config.build_plugins):
            return
        from .wiring import oneshot

        if config.print_token or config.rotate_token:
            token = _exit_on_error(
                lambda: oneshot.token(self.paths.data, config.rotate_token)
            )
            sys.stdout.write(f"{token}\n")
            raise SystemExit(0)
        from twisted.internet import reactor

        report = _exit_on_error(
            lambda: oneshot.run(reactor, lambda: oneshot.build(reactor, self.paths))
        )
        sys.stdout.write(dumps(unstructure(report)).decode("utf-8") + "\n")
        raise SystemExit(1 if report.errors else 0)

    def _check(self, config: Config) -> None:
        """
        Check what the option's reader alone cannot.

        :raise ConfigError: Naming the option or the variable.
        """
        if config.sink:
            from .wiring.sinks import SINKS

            sinks = (*SINKS, *self.paths.profile.sink_aliases)
            if not set(config.sink) <= set(sinks):
                self._refuse("sink", f"must be one of {', '.join(sinks)}")
        if config.overlay_addr.port in (0, config.listen.port):
            self._refuse("overlay-addr", "must have a port other than the daemon's")
        if config.ca_file is not None:
            from .net.certificates import CaFileError, check_ca_file

            try:
                check_ca_file(config.ca_file)
            except CaFileError:
                self._refuse("ca-file", "must contain certificates in PEM")

    def _check_listener(self, config: Config) -> None:
        """
        Check that a page which asks for a token asks the daemon of this directory.

        What is missing is not created for the daemon of another host, or for another
        program; what is there is printed with a warning.
        """
        data = self.paths.data
        if is_held(data.lock) or not is_taken(config.listen):
            return
        knock(config.listen, KNOCK_SECONDS)
        if is_held(data.lock):
            return
        why = (
            f"no daemon of the host {self.paths.profile.name} runs in {data.root}, but "
            f"another one, or another program, listens on {config.listen}; choose its "
            "host with --host, or its directory with --data-dir"
        )
        if data.token.exists():
            sys.stderr.write(f"plugin-bridge: warning: {why}\n")
            return
        sys.stderr.write(f"plugin-bridge: nothing was created: {why}\n")
        raise SystemExit(1)

    def _refuse(self, name: str, rule: str) -> NoReturn:
        origin = origin_of(self.option(name), self.given, os.environ, self.file)
        raise ConfigError(f"{origin}: {rule}") from None


def makeService(options: Options) -> IService:
    """Make the daemon; Twisted's plugin system asks for it by this name."""
    from twisted.internet import reactor

    return _exit_on_error(lambda: assemble(reactor, options))


def _exit_on_error(make: Callable[[], T]) -> T:
    """End the process with one line, and no traceback, when it cannot start."""
    try:
        return make()
    except (DataDirError, StartError, StoreError, TokenError) as e:
        this_process().failed(str(e))
        sys.stderr.write(f"plugin-bridge: {e}\n")
        raise SystemExit(1) from None


def assemble(reactor: Any, options: Options, reach: Reach | None = None) -> IService:
    """
    Make what listens, and what loads every other part after that.

    :param reach: What ``outbound`` reaches: the public internet, except in tests.
    :raise StartError: It can't start here; so do ``DataDirError``, ``StoreError`` and
        ``TokenError``.
    """
    config, paths, data = options.config, options.paths, options.paths.data
    opened = data.create()
    lock = _lock(data)
    token = FollowedToken(PairingToken.load_or_create(data.token), reactor.seconds)

    def secrets() -> list[str]:
        return [token.reveal()]

    threads = Threads.make(reactor, config.threads)
    store = Store.open(data.state, threads.disk.call)
    hub = Hub()
    listening = inherited_socket() or bind(config.listen)
    guard = _guard(reactor, config, token, listening.port)
    # What pages spend must not keep out the user's commands.
    apart = _guard(reactor, config, token, listening.port)
    health = Health(__version__, service_names(config.dev)).body
    front = Front(
        reactor,
        config,
        paths,
        threads,
        store,
        hub,
        guard,
        apart,
        secrets,
        listening.port,
        health,
        opened,
    )

    def make() -> Parts:
        from .wiring.parts import make_parts

        return make_parts(front, reach)

    late = Late(reactor, WARMED, make, lambda: _stop_failed(reactor))
    if os.path.lexists(data.journal):
        _settle(late, listening)
    site = GuardedSite(guard, health, lambda: late.get().endpoints, reactor)
    control = ControlSocket(
        reactor, data.control_socket, lambda: late.get().control_context, token.look
    )
    return Daemon(
        reactor=reactor,
        listening=listening,
        site=site,
        token=token,
        address_file=data.address,
        pools=threads.all(),
        control=control,
        late=late,
        finish=[store],
        release=lock.release,
        log_observers=make_log_observers(reactor, config, options.parent, secrets, hub),
        supervisor=this_process(),
    )


def _stop_failed(reactor: Any) -> None:
    """Stop in order, and end with status 1, so that a supervisor starts it again."""
    # What runs the reactor, twistd, ends with status 0 whenever that was stopped.
    atexit.register(_exit_failed)
    reactor.stop()


def _exit_failed() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


def _settle(late: Late[Parts], listening: Listening) -> None:
    """
    Settle what a killed daemon was doing, which may end the start.

    :raise StartError: It can't be settled.
    """
    from .plugins.installed.journal import JournalError

    try:
        late.get()
    except JournalError as e:
        listening.close()
        raise StartError(str(e)) from None


def _guard(reactor: Any, config: Config, token: FollowedToken, port: int) -> Guard:
    def bucket() -> TokenBucket:
        return TokenBucket(config.rate, config.burst, reactor.seconds)

    added = frozenset(origin.encode("utf-8") for origin in config.allow_origin)
    return Guard(Origins(added), token, bucket(), bucket(), bucket(), port)


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
