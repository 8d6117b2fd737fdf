"""
The command line of ``twistd bridge``: options in, a daemon or the output of a mode out.

Only Twisted's plugin and the command import this module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from twisted.application.service import IService

# Autobahn's parts in C take 50 ms to load, and nothing here uses them.
os.environ.setdefault("AUTOBAHN_USE_NVX", "0")

from .daemon.listening import StartError, is_taken, knock
from .daemon.sd_notify import this_process
from .datadir.paths import DataDirError
from .datadir.token import TokenError
from .http.client import Reach
from .net.certificates import CaFileError, check_ca_file
from .protocol.strictjson import dumps
from .protocol.wire import unstructure
from .settings.config import Config, ConfigError, origin_of, read_config
from .settings.options import DaemonOptions, Paths, locate
from .store import StoreError
from .system.locks import is_held
from .wiring import assembly, oneshot
from .wiring.sinks import SINKS

T = TypeVar("T")

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
            sinks = (*SINKS, *self.paths.profile.sink_aliases)
            if not set(config.sink) <= set(sinks):
                self._refuse("sink", f"must be one of {', '.join(sinks)}")
        if config.overlay_addr.port in (0, config.listen.port):
            self._refuse("overlay-addr", "must have a port other than the daemon's")
        if config.ca_file is not None:
            try:
                check_ca_file(config.ca_file)
            except CaFileError:
                self._refuse("ca-file", "must contain certificates in PEM")

    def _check_listener(self, config: Config) -> None:
        """
        Check that a page which asks for a token asks the daemon of this directory.

        What is missing is not created for the daemon of another host, or for another
        program, unless the user has chosen both host and directory; what is there is
        printed with a warning.
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
        if data.token.exists() or self._is_chosen("host", "data-dir"):
            sys.stderr.write(f"plugin-bridge: warning: {why}\n")
            return
        sys.stderr.write(f"plugin-bridge: nothing was created: {why}\n")
        raise SystemExit(1)

    def _is_chosen(self, *names: str) -> bool:
        """Whether each of these was given, and not left to the default."""
        options = map(self.option, names)
        return all(
            option.name in {**self.given, **self.file.texts}
            or option.set_by(os.environ)
            for option in options
        )

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
    Make the daemon; see ``bridge.wiring.assembly.assemble``.

    :param reach: What ``outbound`` reaches: the public internet, except in tests.
    """
    return assembly.assemble(
        reactor, options.config, options.paths, options.parent, reach or Reach()
    )
