"""Calls of a running daemon by HTTP, for the commands that make them."""

from __future__ import annotations

import os
import shlex
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final

from attrs import evolve, frozen

from ...datadir.lock import is_held
from ...datadir.ownership import check
from ...datadir.paths import DataDir
from ...datadir.token import PairingToken, TokenError
from ...protocol.errors import BridgeError, Code
from ...protocol.strictjson import dumps, loads_own
from ...protocol.text import visible
from ...settings.config import BY_NAME, HOST_OPTIONS, Option
from ...settings.options import HostOptions
from ...settings.values import Address, UnixAddress, listened_on
from ...system.users import is_own
from ..terminal import CommandError, failed, print_json

REFUSED: Final = 1
NO_DAEMON: Final = 3
INTERRUPTED: Final = 130

EXIT_STATUS: Final = (
    "Exit status: 0 done, 1 refused (standard error has the code and the message), "
    "2 wrong usage, 3 no daemon with --dev is running."
)

CONNECT_SECONDS: Final = 10.0
_CODES: Final = {str(code): code for code in Code}


class NoDaemonError(CommandError):
    """There is no daemon to call; the message has the command that starts one."""


class CallerOptions(HostOptions):
    """The options of the commands that call a running daemon."""

    table: ClassVar[tuple[Option, ...]] = (
        *HOST_OPTIONS,
        evolve(
            BY_NAME["listen"],
            about="address of the daemon; from its data directory by default",
            default=None,
        ),
    )
    optFlags: ClassVar[list[list[str | None]]] = [
        ["compact", None, "print JSON on one line"]
    ]

    def print(self, value: Any) -> None:
        """Print a result."""
        print_json(value, bool(self["compact"]))


@frozen
class Client:
    """
    A daemon that can be called.

    :ivar start: The command line that starts one.
    """

    address: Address | UnixAddress
    token: PairingToken
    start: str

    def call(self, service: str, method: str, params: Any) -> Any:
        """
        Call one method, and wait for as long as it takes.

        Nothing of the environment, such as a proxy, plays a part.

        :param params: Plain JSON.
        :return: The result as plain JSON.
        :raise BridgeError: The daemon refuses.
        :raise NoDaemonError: There is none, or it has no ``--dev``.
        :raise CommandError: It ended before it answered, or is another program.
        """
        status, answer = self._post(f"/v1/{service}/{method}", dumps(params))
        if status == 200:
            return answer
        code, message = refusal(answer)
        if code is Code.NOT_FOUND:
            why = f"the daemon at {self.address} was started without --dev"
            raise NoDaemonError(f"{why}; run: {self.start}")
        raise BridgeError(code, message)

    def _post(self, path: str, body: bytes) -> tuple[int, Any]:
        # treq takes as long to load as everything else of a command.
        from .httprequest import BrokenOffError, NobodyListensError, post

        headers = {
            "Authorization": f"Bearer {self.token.reveal()}",
            "Content-Type": "application/json",
        }
        try:
            status, answer = post(self.address, path, body, headers, CONNECT_SECONDS)
            return status, loads_own(answer)
        except NobodyListensError:
            why = f"no daemon listens on {self.address}"
            raise NoDaemonError(f"{why}; run: {self.start}") from None
        except BrokenOffError:
            raise CommandError("the daemon ended before it answered") from None
        except BridgeError:
            raise CommandError(
                f"the program that answers on {self.address} is not plugin-bridge"
            ) from None


def refusal(answer: Any) -> tuple[Code, str]:
    """
    Read an answer that is a refusal: its code and its message.

    :raise CommandError: It has a code that this version does not know.
    """
    try:
        error = answer["error"]
        return _CODES[error["code"]], visible(error["message"])
    except (KeyError, TypeError, ValueError):
        raise CommandError("the daemon has another version") from None


def find(options: CallerOptions, *, dev: bool = True) -> Client:
    """
    Find the running daemon of the data directory.

    :param dev: Whether it must have been started with ``--dev``.
    :raise NoDaemonError: There is none.
    :raise CommandError: The token can't be read.
    """
    place = options.paths()
    start = shlex.join(
        ["plugin-bridge", "run", *(["--dev"] * dev), *options.naming(place)]
    )
    check_running(place.data, start)
    address = options.value("listen")
    # With port 0 the daemon chooses one.
    if address is None or address.port == 0:
        address = _published(place.data, start)
    return Client(address, _token(options, place.data), start)


def find_control(options: HostOptions) -> Client:
    """
    Find the control socket of the running daemon of the data directory.

    Where there can be none (the system has no Unix sockets, or the path is too long),
    it is the address that the daemon publishes.

    :raise NoDaemonError: There is no daemon.
    :raise CommandError: The token can't be read, or the socket is another user's.
    """
    place = options.paths()
    data = place.data
    start = shlex.join(["plugin-bridge", "run", *options.naming(place)])
    check_running(data, start)
    address: Address | UnixAddress
    if is_ours(data.control_socket):
        address = UnixAddress(str(data.control_socket))
    else:
        address = _published(data, start)
    return Client(address, _token(options, data), start)


def check_running(data: DataDir, start: str) -> None:
    """
    Check that a daemon runs in the data directory, and that only this user can enter.

    The token is sent only when that daemon runs: what else listens there must not
    get it.

    :param start: The command line that starts one.
    :raise NoDaemonError: There is none.
    :raise CommandError: Other users can enter.
    """
    if not is_held(data.lock):
        raise NoDaemonError(f"no daemon uses {data.root}; run: {start}")
    if data.is_open():
        # Who can enter can hold the lock, and wait for the token where he listens.
        raise CommandError(
            f"{data.root} is open to other users; run: chmod 700 "
            f"{shlex.quote(str(data.root))}"
        )


def is_ours(path: Path) -> bool:
    """
    Whether there is a socket of this user.

    :raise CommandError: There is something else.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    except OSError as e:
        raise CommandError(f"{path} cannot be used: {e.strerror}") from None
    if not stat.S_ISSOCK(found.st_mode) or not is_own(found):
        raise CommandError(f"{path} is not a socket of your user")
    return True


def _published(data: DataDir, start: str) -> Address | UnixAddress:
    try:
        return listens_on(data)
    except (OSError, ValueError):
        raise NoDaemonError(f"no daemon uses {data.root}; run: {start}") from None


def _token(options: HostOptions, data: DataDir) -> PairingToken:
    try:
        return PairingToken.load(data.token)
    except FileNotFoundError:
        names = options.naming(options.paths())
        make = ["plugin-bridge", "run", "--rotate-token", *names]
        raise NoDaemonError(
            f"the daemon of {data.root} has no token: it is just starting, or the file "
            f"was removed; to create a token, run: {shlex.join(make)}"
        ) from None
    except TokenError as e:
        raise CommandError(str(e)) from None


def listens_on(data: DataDir) -> Address | UnixAddress:
    """
    Read the address of the running daemon.

    :raise OSError: There is no file, or another user may have written it.
    :raise ValueError: The file is damaged.
    """
    check(data.address)
    return listened_on(os.fsdecode(data.address.read_bytes().rstrip(b"\n")))


def ended(command: str, work: Callable[[], int]) -> int:
    """Run a command, and return its exit status."""
    try:
        return work()
    except NoDaemonError as e:
        failed(command, str(e))
        return NO_DAEMON
    except (BridgeError, CommandError) as e:
        return failed(command, str(e))
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return INTERRUPTED
