"""
A session with the running daemon of a data directory, over its control socket.

Every command that asks a daemon has one.  It acts as a page does: the daemon applies
the same rules, and shows the same prompts.  The token goes nowhere else: the socket is
in a directory of this user, and the daemon that listens there holds its lock.
"""

from __future__ import annotations

import os
import select
import shlex
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from functools import wraps
from typing import Any, BinaryIO, Final

from attrs import field

from .. import __version__
from ..classes import define
from ..datadir.ownership import check
from ..datadir.paths import DataDir, NotASocketError, connected, control_address
from ..datadir.token import read_token
from ..plugins.installed.records import SWITCH
from ..protocol.errors import BridgeError, CloseReason, Code, Prefix, plugin_error
from ..protocol.strictjson import dumps, loads_own
from ..protocol.text import in_line, visible
from ..provision.service import UNIT, is_service_of, wake
from ..settings.host import HostProfile, Paths
from ..settings.values import Address, UnixAddress, listened_on
from ..store.state import HOST
from ..system.locks import is_held
from .command import EXIT_STATUS, Command, NoDaemonError, command, json_option
from .terminal import CommandError, ProgressLine, print_result

CONNECT_SECONDS: Final = 10.0
UNASKED: Final = "EVERY operation is approved without asking"
"""What ``--dev`` means to a user."""

_CODES: Final = {str(code): code for code in Code}
_GONE: Final = "the daemon ended before it answered"


@define(eq=False)
class Session:
    """
    A connection that is paired, and what its user sees of it.

    :ivar place: What the options name.
    :ivar json: Whether to print JSON.
    :ivar welcome: The frame with which the daemon has paired, as plain JSON.
    :ivar interrupted: Whether the user has pressed Ctrl-C.
    :ivar build_error: Why the last build of the operation has failed, if it has.
    """

    place: Paths
    _socket: socket.socket
    _lines: BinaryIO
    json: bool = False
    progress: ProgressLine = field(factory=lambda: ProgressLine(sys.stderr))
    welcome: Any = field(default=None, init=False)
    interrupted: bool = field(default=False, init=False)
    build_error: str = field(default="", init=False)
    _last: int = field(default=0, init=False)
    _ref: str = field(default="", init=False)
    _step: Any = field(default=None, init=False)

    @property
    def is_dev(self) -> bool:
        """Whether the daemon was started with ``--dev``."""
        return "remote" in self.welcome.get("services", {})

    @property
    def shows_prompts(self) -> bool:
        """Whether the daemon can ask its user."""
        about = self.welcome.get("services", {}).get("plugins", {})
        cannot = str(about.get("confirmation", "none")).startswith("none")
        return not (cannot or self.is_dev)

    def upgrade_problem(self) -> str:
        """Return that the daemon is not what is installed, and what to do; or ""."""
        if self.welcome.get("version") == __version__:
            return ""
        is_service = is_service_of(self.place)
        fix = f"run: systemctl --user restart {UNIT}" if is_service else "restart it"
        return f"{__version__} is installed, but the daemon of before still runs; {fix}"

    def call(self, service: str, method: str, /, **params: Any) -> Any:
        """
        Call one method, and wait for as long as it takes.

        :return: The result as plain JSON.
        :raise BridgeError: The daemon refuses.
        :raise CommandError: It ended before it answered, or has another version.
        """
        wanted = self.request(service, method, params)
        while True:
            frame = self.read()
            if frame.get("type") == "push":
                self.pushed(str(frame.get("event")), frame.get("data"))
            elif frame.get("id") == wanted:
                if frame.get("ok") is True:
                    return frame.get("result")
                raise BridgeError(*_refusal(frame))

    def request(self, service: str, method: str, params: Any) -> str:
        """Send a request; return its id.  An answer that no call waits for is lost."""
        self._last += 1
        wanted = str(self._last)
        call = {"service": service, "method": method, "params": params}
        self.send(type="request", id=wanted, **call)
        return wanted

    def send(self, **frame: Any) -> None:
        """Send a frame; that the daemon takes none any more, ``read`` reports."""
        with suppress(OSError):
            self._socket.sendall(dumps(frame) + b"\n")

    def wait(self, seconds: float) -> None:
        """
        Pass some time, in which nothing is asked, and what is pushed is lost.

        :raise CommandError: The daemon has ended meanwhile.
        """
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self._socket], [], [], left)[0]:
                self.read("the daemon has stopped")

    def read(self, gone: str = _GONE) -> Any:
        """
        Wait for the next frame.

        :param gone: What is wrong when there is none.
        :raise CommandError: The daemon has closed, or sends no frames.
        """
        try:
            line = self._lines.readline()
            frame = loads_own(line) if line.endswith(b"\n") else None
        except TimeoutError:
            raise CommandError(
                "the daemon does not answer; end it, and start it again"
            ) from None
        except (OSError, BridgeError):
            frame = None
        if type(frame) is not dict:
            raise CommandError(gone)
        if frame.get("type") == "close":
            raise CommandError(_why_closed(str(frame.get("reason"))))
        return frame

    def hang_up(self) -> None:
        """End what waits for the daemon, in another thread."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self.progress.end()
        self._lines.close()
        self._socket.close()

    def operate(self, method: str, **params: Any) -> Any:
        """
        Call a method of ``plugins`` that asks the user; show its progress.

        Ctrl-C cancels it, and what would come after it; the second time, it is left to
        itself.

        :return: The result as plain JSON.
        :raise BridgeError: The daemon refuses, or the user has cancelled.
        :raise KeyboardInterrupt: The user left.
        """
        self.raise_if_interrupted()
        params["ref"] = self._ref = os.urandom(16).hex()
        self._step, self.build_error = None, ""
        before = signal.signal(signal.SIGINT, self._interrupt)
        try:
            return self.call("plugins", method, **params)
        finally:
            signal.signal(signal.SIGINT, before)
            self._ref = ""
            self.progress.end()

    def raise_if_interrupted(self) -> None:
        """
        Check that the user has not pressed Ctrl-C in an earlier operation.

        :raise BridgeError: ``cancelled``.
        """
        if self.interrupted:
            raise plugin_error(Prefix.CANCELLED, "the operation was cancelled")

    def pushed(self, event: str, data: Any) -> None:
        """Take what the daemon pushes while a call waits."""
        if event == "build":
            failed = data.get("ok") is False
            self.build_error = in_line(data["errors"][0]) if failed else ""
        if event != "progress" or not self._ref or data.get("ref") != self._ref:
            return
        begun, self._step = self._step is None, data
        self.progress.report(data)
        if begun and self.interrupted:
            self._cancel()

    def _interrupt(self, *_: object) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True
        is_late = self._step and self._step.get("cancellable") is False
        what = "it is too late to cancel" if is_late else "cancelling"
        self.progress.line(f"{what}; press Ctrl-C again to leave without waiting")
        # Until the daemon has named it, there is nothing to cancel.
        if self._step and not is_late:
            self._cancel()

    def _cancel(self) -> None:
        # Whatever that answers, the operation's own answer comes.
        operation = str(self._step.get("operation"))
        self.request("plugins", "cancel", {"operation": operation})

    def plugins(self) -> list[dict[str, Any]]:
        """
        List the installed plugins.

        :return: List entries, each with ``enabled`` and, when it is not built,
            ``problem``.
        """
        listing = self.call("plugins", "list")
        switches = self.switches()
        found = {plugin["id"]: {**plugin} for plugin in listing["plugins"]}
        for broken in listing["broken"]:
            plugin = found.setdefault(broken["id"], {"id": broken["id"]})
            plugin["problem"] = broken["reason"]
        for plugin_id, plugin in found.items():
            plugin["enabled"] = is_on(plugin_id, switches, self.place.profile)
        return [found[plugin_id] for plugin_id in sorted(found)]

    def switches(self) -> dict[str, object]:
        """Return the values of the namespace ``host`` by key, for ``is_on``."""
        entries: dict[str, object] = self.call("state", "list", ns=HOST)["entries"]
        return entries

    def off_lines(self, plugin_id: str) -> list[str]:
        """Return how to switch a plugin on, if it is off."""
        if is_on(plugin_id, self.switches(), self.place.profile):
            return []
        run = f"plugin-bridge enable {self.place.typed} {plugin_id}"
        return [f"it is off; to switch it on, run: {run}"]

    def print(self, value: Any, lines: list[str]) -> None:
        """Print a result: ``value`` as JSON, or ``lines`` for people."""
        print_result(self.json, value, lines)


def is_on(plugin_id: str, switches: Mapping[str, object], profile: HostProfile) -> bool:
    """
    Whether a plugin is switched on.

    :param switches: The values of the namespace ``host`` by key.
    """
    value = switches.get(SWITCH + plugin_id)
    return value is True if profile.opt_in else value is not False


def _why_closed(reason: str) -> str:
    """Return why the daemon has closed a connection, for its user."""
    if reason == CloseReason.SHUTDOWN:
        return "the daemon is shutting down; repeat the command when it runs again"
    if reason == CloseReason.UNAUTHORIZED:
        return "the daemon has another token; start it again"
    return f"the daemon has closed the connection: {visible(reason)}"


def _refusal(answer: Any) -> tuple[Code, str]:
    """
    Read an answer that is a refusal: its code and its message.

    :raise CommandError: It has a code that this version does not know.
    """
    try:
        error = answer["error"]
        return _CODES[error["code"]], in_line(error["message"])
    except (KeyError, TypeError, ValueError):
        raise CommandError("the daemon has another version") from None


def connect(place: Paths, as_json: bool = False, *, dev: bool = False) -> Session:
    """
    Connect to the running daemon of the data directory.

    :param as_json: Whether to print JSON.
    :param dev: Whether it must have been started with ``--dev``.
    :raise NoDaemonError: There is none.
    :raise UserError: It can't be used; the message has the reason.
    """
    data = place.data
    start = f"plugin-bridge run {'--dev ' * dev}{place.typed}"
    wake(place)
    _check_running(place, start)
    try:
        token = read_token(data.token)
    except FileNotFoundError:
        raise NoDaemonError(
            f"the daemon of {data.root} has no token: it is just starting, or the file "
            "was removed; to create a token, run: plugin-bridge run --rotate-token "
            f"{place.typed}"
        ) from None
    try:
        made = connected(control_address(data.control_socket), CONNECT_SECONDS)
    except NotASocketError as e:
        raise CommandError(str(e.strerror)) from None
    except OSError as e:
        # The lock is held, so one is just starting or ending, or could not listen.
        why = f"the daemon of {data.root} cannot be reached ({e.strerror or e})"
        raise NoDaemonError(f"{why}; end it, and run: {start}") from None
    session = Session(place, made, made.makefile("rb"), as_json)
    with ExitStack() as undo:
        undo.callback(session.close)
        client = f"plugin-bridge-client/{__version__}"
        session.send(type="hello", token=token, client=client)
        session.welcome = session.read(
            "the daemon has ended, or too many commands use it; try again"
        )
        made.settimeout(None)
        if dev and not session.is_dev:
            why = f"the daemon of {data.root} was started without --dev"
            raise NoDaemonError(f"{why}; end it, and run: {start}")
        undo.pop_all()
    session.progress.prompts = session.shows_prompts
    return session


def _check_running(place: Paths, start: str) -> None:
    """
    Check that a daemon runs in the data directory, and that only this user can enter.

    :param start: The command line that starts one.
    :raise NoDaemonError: There is none.
    :raise CommandError: Other users can enter.
    """
    data = place.data
    if not is_held(data.lock):
        others = "".join(
            f", but the host {name} has one: add --host {name}"
            for name, _ in other_daemons(place)
        )
        fix = f"or run: {start}" if others else f"run: {start}"
        raise NoDaemonError(f"no daemon uses {data.root}{others}; {fix}")
    if data.is_open():
        # Who can enter can hold the lock, and wait for the token where he listens.
        raise CommandError(
            f"{data.root} is open to other users; run: chmod 700 "
            f"{shlex.quote(str(data.root))}"
        )


def listens_on(data: DataDir) -> Address | UnixAddress:
    """
    Read the address that pages reach the running daemon at.

    :raise OSError: There is no file, or another user may have written it.
    :raise ValueError: The file is damaged.
    """
    check(data.address)
    return listened_on(os.fsdecode(data.address.read_bytes().rstrip(b"\n")))


def other_daemons(place: Paths) -> Iterator[tuple[str, DataDir]]:
    """Yield each other host whose daemon runs where it usually does, and where."""
    for name, data in place.others():
        if is_held(data.lock):
            yield name, data


def daemon_command(
    name: str, example: str, *, prompted: bool = False
) -> Callable[[Callable[..., Any]], Command]:
    """
    Make a command that asks the daemon: its function receives a session.

    The other parameters are those of ``command``.
    """

    def decorate(function: Callable[..., Any]) -> Command:
        @json_option
        @wraps(function)
        def ask(place: Paths, as_json: bool, **params: Any) -> Any:
            with closing(connect(place, as_json)) as session:
                return function(session, **params)

        made = command(name, example, status=EXIT_STATUS, prompted=prompted)
        return made(ask)

    return decorate
