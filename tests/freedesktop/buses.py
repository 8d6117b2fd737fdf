"""Buses for tests: a real one, fake ones, and programs on them."""

import itertools
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from attrs import define, field
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorUNIX
from twisted.internet.protocol import Factory, Protocol
from zope.interface import implementer

from bridge.freedesktop.bus import VARIABLE
from bridge.freedesktop.connection import BUS, connect
from bridge.freedesktop.notifications import REMOTE, SERVICE, Notifications

from ..programs import program

# A test run that is killed leaves nothing behind.
DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")


@define(eq=False)
class SessionBus:
    """A real ``dbus-daemon`` that knows only who connects to it."""

    directory: Path = field(init=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="bus-"))
        (self.directory / "services").mkdir()
        config = self.directory / "session.conf"
        text = Path(__file__).with_name("session.conf").read_text("ascii")
        config.write_text(text.format(directory=self.directory))
        self.start()

    @property
    def socket(self) -> str:
        return str(self.directory / "bus")

    @property
    def environment(self) -> dict[str, str]:
        """The variables that name it to programs."""
        return {VARIABLE: f"unix:path={self.socket}"}

    def start(self) -> None:
        """Run it; it listens when this returns."""
        self._process = subprocess.Popen(
            [
                *DIES_WITH_US,
                program("dbus-daemon", "dbus"),
                f"--config-file={self.directory}/session.conf",
                "--nofork",
                "--nopidfile",
                "--print-address",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdout.readline(), "dbus-daemon did not start"

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()
            self._process = None

    def remove(self) -> None:
        """End it, and remove what it left, if that has not been done."""
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def activatable(self, name: str, command: str) -> None:
        """Let the bus start ``command`` when somebody needs ``name``."""
        service = self.directory / "services" / f"{name}.service"
        service.write_text(f"[D-BUS Service]\nName={name}\nExec={command}\n")


@implementer(IReactorUNIX)
class HastyReactor:
    """The reactor, for which time runs faster."""

    def __init__(self, times: float = 50.0) -> None:
        self._times = times

    def __getattr__(self, name: str) -> Any:
        return getattr(reactor, name)

    def callLater(self, seconds: float, *args: Any, **kwargs: Any) -> Any:
        return reactor.callLater(seconds / self._times, *args, **kwargs)


PATIENT: Final = HastyReactor(0.2)
"""For tests that wait for servers: deadlines that a busy machine can keep."""


def notifications(bus: SessionBus, clock: Any = PATIENT) -> Notifications:
    """A client on a bus."""
    return Notifications(clock, bus.environment)


class FakeBus(Protocol):
    """A bus that sends ``lines``, one for each line it receives, and then no more."""

    lines: tuple[bytes, ...] = ()
    closes = False

    def connectionMade(self) -> None:
        self.left = list(self.lines)
        if self.closes and not self.left:
            self.transport.loseConnection()

    def dataReceived(self, data: bytes) -> None:
        for _ in range(data.count(b"\r\n")):
            if self.left:
                self.transport.write(self.left.pop(0))
                if self.closes and not self.left:
                    self.transport.loseConnection()


def fake_bus(test: Any, path: str, *lines: bytes, closes: bool = False) -> None:
    """Listen as a bus at ``path`` until the test ends."""
    kind = type("Scripted", (FakeBus,), {"lines": lines, "closes": closes})
    factory = Factory.forProtocol(kind)
    factory.noisy = False
    port = reactor.listenUNIX(path, factory)
    test.addCleanup(port.stopListening)


@define(eq=False)
class Program:
    """
    A program on a bus; as a notification server when it owns the name.

    :ivar calls: The methods others called: name and arguments.
    :ivar answers: What it replies, by method: signature and values.  A method that
        is missing here, or has ``None``, is never answered, except that ``Notify``
        counts when it is missing.
    """

    link: Any
    calls: list[tuple[str, list[Any]]] = field(factory=list)
    answers: dict[str, tuple[str, list[Any]] | None] = field(factory=dict)
    _ids: Any = field(factory=lambda: itertools.count(1))

    @property
    def name(self) -> str:
        return str(self.link.busName)

    def named(self, method: str) -> list[list[Any]]:
        """The arguments of each call of ``method``."""
        return [arguments for name, arguments in self.calls if name == method]

    def emit(
        self,
        name: str,
        *arguments: Any,
        signature: str = "us",
        destination: str | None = None,
        path: str = REMOTE.path,
        interface: str = REMOTE.interface,
    ) -> None:
        """Send a signal, to all who want it or to one program."""
        from txdbus.message import SignalMessage

        self.link.sendMessage(
            SignalMessage(
                path, name, interface, destination, signature, list(arguments)
            )
        )

    async def own(self, flags: int = 0x1 | 0x2) -> None:
        """Become the notification server, from the current one."""
        await self.link.call(BUS, "RequestName", "su", [SERVICE, flags])

    async def settled(self) -> None:
        """Wait until the bus has taken all that was sent."""
        await self.link.call(BUS, "GetId")

    def _called(self, message: Any) -> None:
        from txdbus.message import MethodReturnMessage

        self.calls.append((message.member, message.body or []))
        if message.member == "Notify" and "Notify" not in self.answers:
            answer: tuple[str, list[Any]] | None = ("u", [next(self._ids)])
        else:
            answer = self.answers.get(message.member)
        if answer is None:
            return
        signature, values = answer
        self.link.sendMessage(
            MethodReturnMessage(
                message.serial, values, message.sender, signature or None
            )
        )


async def join(test: Any, bus: Any) -> Program:
    """Connect a program to a bus until the test ends."""
    link = await connect(PATIENT, bus.socket, lambda signal: None)
    program = Program(link)
    link.methodCallReceived = program._called
    gone: Deferred[None] = Deferred()
    link.lost = lambda: gone.callback(None)

    def leave() -> Any:
        link.drop()
        return gone

    test.addCleanup(leave)
    return program


async def serve(test, bus, *capabilities, name="Scripted"):
    """Connect a notification server of some capabilities."""
    server = await join(test, bus)
    server.answers["GetCapabilities"] = ("as", [list(capabilities)])
    server.answers["GetServerInformation"] = ("ssss", [name, "Tests", "1.0", "1.2"])
    server.answers["CloseNotification"] = ("", [])
    await server.own()
    return server
