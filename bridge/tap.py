"""
The command line of ``twistd bridge``: options in, a daemon or the output of a mode out.

Only Twisted's plugin and the command import this module.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import click
from click.core import ParameterSource
from twisted.application.service import IService
from twisted.python import usage

from .daemon.listening import is_taken, knock
from .http.client import holds_authorities
from .protocol.errors import UserError
from .protocol.strictjson import dumps
from .protocol.wire import unstructure
from .settings.config import Config, ConfigError
from .settings.host import Paths, locate
from .settings.options import config_of, daemon_command, origin_of, parsed, refusing
from .system.files import is_user
from .system.locks import is_held
from .system.processes import end_once, prepare_process, report_failure, supervisor
from .system.reactor import run_once, steady_reactor
from .wiring import assembly, oneshot
from .wiring.services import SINKS

# A daemon that a supervisor starts answers within that time.
KNOCK_SECONDS = 5.0


class Options(usage.Options):
    """
    The command line of ``twistd bridge``.

    :ivar given: Its options, parsed; ``plugin-bridge run`` has done so before.
    """

    config: Config
    paths: Paths

    def __init__(self, given: click.Context | None = None) -> None:
        super().__init__()
        self.given = given

    def parseOptions(self, options: Sequence[str] | None = None) -> None:
        """Read what was given; a mode that does one thing does it, and exits."""
        prepare_process()
        given = self.read(options or ())
        config = self.config
        if config.print_token:
            self._check_listener(config, given)
        if config.print_token or config.rotate_token:
            with _exiting():
                token = oneshot.token(self.paths, config.rotate_token)
            sys.stdout.write(f"{token}\n")
            raise SystemExit(0)
        if config.build_plugins:
            reactor = steady_reactor()
            with _exiting():
                report = run_once(reactor, lambda: oneshot.build(reactor, self.paths))
            sys.stdout.write(dumps(unstructure(report)).decode("utf-8") + "\n")
            raise SystemExit(1 if report.errors else 0)

    def read(self, options: Sequence[str] = ()) -> click.Context:
        """Read what was given, without doing what a mode does."""
        given = self.given or parsed(daemon_command(), options, "plugin-bridge run")
        with refusing(starts=True):
            self.config = config = config_of(given)
            self.paths = locate(config.host, config.data_dir, config.theme_dir)
            self._check(config, given)
        return given

    def _check(self, config: Config, given: click.Context) -> None:
        """
        Check what the option's reader alone cannot.

        :raise ConfigError: Naming the option or the variable.
        """
        if self.parent and not is_user(self.parent.get("uid")):
            # twistd changes the user afterwards: then nothing could be saved.
            raise ConfigError("--uid: must be yours; start twistd as that user instead")
        if config.sink:
            sinks = (*SINKS, *self.paths.profile.sink_aliases)
            if not set(config.sink) <= set(sinks):
                _refuse(given, "sink", f"must be one of {', '.join(sinks)}")
        if config.overlay_addr.port in (0, config.listen.port):
            _refuse(given, "overlay_addr", "must have a port of its own, not 0")
        if config.ca_file is not None and not holds_authorities(config.ca_file):
            _refuse(given, "ca_file", "must contain certificates in PEM")

    def _check_listener(self, config: Config, given: click.Context) -> None:
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
        chosen = all(
            given.get_parameter_source(name) is not ParameterSource.DEFAULT
            for name in ("host", "data_dir")
        )
        if data.token.exists() or chosen:
            sys.stderr.write(f"plugin-bridge: warning: {why}\n")
            return
        sys.stderr.write(f"plugin-bridge: nothing was created: {why}\n")
        raise SystemExit(1)


def _refuse(given: click.Context, name: str, rule: str) -> NoReturn:
    params = given.command.get_params(given)
    param = next(param for param in params if param.name == name)
    raise ConfigError(f"{origin_of(given, param)}: {rule}")


def makeService(options: Options) -> IService:
    """Make the daemon; Twisted's plugin system asks for it by this name."""
    reactor = steady_reactor()
    with _exiting():
        made = assemble(reactor, options)
    # Another Ctrl-C, or the same signal from a shell, would be an error of Twisted's,
    # whose handlers are there when it runs.
    reactor.callWhenRunning(end_once)
    return made


@contextmanager
def _exiting() -> Iterator[None]:
    """End the process with one line, and no traceback, when it cannot start."""
    try:
        yield
    except UserError as e:
        report_failure(str(e), supervisor().address)
        raise SystemExit(1) from None


def assemble(reactor: Any, options: Options) -> IService:
    """Make the daemon; see ``bridge.wiring.assembly.assemble``."""
    return assembly.assemble(reactor, options.config, options.paths, options.parent)
