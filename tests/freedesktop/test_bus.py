"""Tests for ``bridge.freedesktop.bus`` and ``bridge.freedesktop.connection``."""

import os
import socket
import string
from typing import Any
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.freedesktop import bus
from bridge.freedesktop.bus import RUNTIME, VARIABLE, Bus, session_sockets
from bridge.freedesktop.connection import (
    BUS,
    DesktopError,
    RemoteInterface,
    SessionBusConnection,
    connect,
)
from bridge.protocol.limits import DESKTOP_SECONDS

from ..directories import fresh_directory
from ..waiting import until
from .buses import HastyReactor, SessionBus, fake_bus, join

GUID = b"OK 0123456789abcdef0123456789abcdef\r\n"


class ConnectTests(TestCase):
    def setUp(self):
        self.path = str(fresh_directory(self) / "bus")

    async def refused(self, clock=reactor):
        connecting = connect(clock, self.path, lambda signal: None)
        return str(await self.assertFailure(connecting, DesktopError))

    async def test_no_bus(self):
        """What is no bus, or does not answer, is given up within seconds."""
        self.assertIn("nothing listens", await self.refused())
        # What it sends for each line that it receives, whether it then closes, and why
        # we give up.
        for number, (lines, closes, why) in enumerate(
            (
                ([], True, "did not let us in"),
                ([], False, "does not answer"),
                ([b"REJECTED DBUS_COOKIE_SHA1\r\n"], False, "did not let us in"),
                ([b"REJECTED\r\n"], True, "did not let us in"),
                ([GUID], True, "session bus"),
                ([GUID], False, "answer"),
                ([b"\xff\xfe \x00\r\n"], False, "did not let us in"),
                ([GUID + b"l" + 64 * b"\xff"], False, "does not answer"),
            )
        ):
            self.path += str(number)
            fake_bus(self, self.path, *lines, closes=closes)
            self.assertIn(why, await self.refused(HastyReactor()), lines)

    async def test_cancelled(self):
        """A caller can stop waiting."""
        fake_bus(self, self.path)
        connecting = connect(reactor, self.path, lambda signal: None)
        connecting.cancel()
        await self.assertFailure(connecting, Exception)


class ConnectionTests(TestCase):
    async def setUp(self):  # type: ignore[override]
        self.bus = SessionBus()
        self.addCleanup(self.bus.remove)
        self.us = await join(self, self.bus)
        self.other = await join(self, self.bus)
        self.remote = RemoteInterface(self.other.name, "/x", "x.y.Z")

    async def test_refused_call(self):
        """An error is reported, but not in its sender's words."""
        calling = self.us.link.call(BUS, "GetNameOwner", "s", ["no.such"])
        error = await self.assertFailure(calling, DesktopError)
        text = "GetNameOwner was refused on the session bus: NameHasNoOwner"
        self.assertEqual(str(error), text)

    async def test_unwritable_calls(self):
        """What the library can't marshal is a refusal, whatever it raises."""
        texts: list[Any] = ["nul\0", "\udc80", 7, None]
        variants: list[Any] = [[], {}, 2**40, b"x"]
        for signature, value in (
            *(("s", text) for text in texts),
            *(("v", variant) for variant in variants),
        ):
            calling = self.us.link.call(self.remote, "Say", signature, [value])
            await self.assertFailure(calling, DesktopError)

    async def test_lost(self):
        """Every pending call fails, also when its caller calls again from there."""
        failed: list[Any] = []
        for _ in range(5):
            pending = self.us.link.call(self.remote, "Wait")
            pending.addErrback(failed.append)
            pending.addCallback(lambda _: self.us.link.call(BUS, "GetId"))
            pending.addErrback(failed.append)
        self.bus.kill()
        await until(lambda: len(failed) == 10)
        texts = {failure.getErrorMessage() for failure in failed}
        self.assertEqual(texts, {"the session bus is gone"})
        self.us.link.send(BUS, "GetId")

    async def test_answers_after_a_cancellation(self):
        """They are dropped."""
        from txdbus.message import ErrorMessage, MethodReturnMessage

        self.other.link.methodCallReceived = self.other.calls.append
        for _ in range(2):
            asking = self.us.link.call(self.remote, "Wait")
            asking.addErrback(lambda _: None)
            asking.cancel()
        # A server that never answers costs no memory.
        self.assertEqual(self.us.link._pendingCalls, {})
        await until(lambda: len(self.other.calls) == 2)
        first, second = (call.serial for call in self.other.calls)
        for late in (
            MethodReturnMessage(first, [7], self.us.name, "u"),
            ErrorMessage("x.y.Error", second, self.us.name),
        ):
            self.other.link.sendMessage(late)
        await self.other.settled()
        await self.us.settled()
        self.assertEqual(self.us.link._pendingCalls, {})

    async def test_signal_handler_that_raises(self):
        """It is logged, and the connection stays."""
        self.us.link.received = mock.Mock(side_effect=ZeroDivisionError)
        self.other.emit("Any", 1, "x", destination=self.us.name)
        await self.other.settled()
        await self.us.settled()
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    async def test_called_by_others(self):
        """Nothing is exported, and a caller receives an error."""
        calling = self.other.link.call(
            RemoteInterface(self.us.name, "/x", "x.y.Z"), "Evaluate", "s", ["1"]
        )
        self.us.link.methodCallReceived = type(self.us.link).methodCallReceived.__get__(
            self.us.link
        )
        await self.assertFailure(calling, DesktopError)

    async def test_attack_forged_reply(self):
        """A reply that another program sends is not taken for the answer."""
        from txdbus.message import MethodReturnMessage

        asking = self.us.link.call(self.remote, "Wait")
        (serial,) = self.us.link._pendingCalls
        forged = MethodReturnMessage(serial, [7], self.us.name, "u")
        forged.sender = self.us.name
        self.us.link.methodReturnReceived(forged)
        error = await self.assertFailure(asking, DesktopError)
        self.assertEqual(str(error), "another program answered")


def link_in_memory() -> Any:
    """Make a connection that a bus has named, over a transport in memory."""
    link: Any = SessionBusConnection(lambda signal: None)
    link.makeConnection(StringTransport())
    link.busName = ":1.1"
    return link


def lose(link: Any) -> None:
    """Let a connection be lost."""
    link.connectionLost(Failure(ConnectionDone()))


class BusTests(SynchronousTestCase):
    def setUp(self):
        """A bus of which every opening is the test's to answer."""
        self.clock = MemoryReactorClock()
        self.user = mock.Mock(joined=mock.AsyncMock())
        self.opened = []
        self.environ = {VARIABLE: "unix:path=/a"}
        self.patch(bus, "connect", self.open)
        self.bus = Bus(self.clock, self.environ, self.user)

    def open(self, clock, path, received):
        """Open a connection, in the test's good time."""
        opening: Deferred[Any] = Deferred()
        self.opened.append((path, opening))
        return opening

    def connect(self):
        link = link_in_memory()
        self.opened[-1][1].callback(link)
        return link

    def test_backs_off(self):
        """It tries again later each time, and at once when somebody asks."""
        self.bus.start()
        pauses = []
        for _ in range(9):
            self.opened[-1][1].errback(DesktopError("no"))
            (call,) = self.clock.getDelayedCalls()
            pauses.append(call.getTime() - self.clock.seconds())
            self.clock.advance(pauses[-1])
        self.assertEqual(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60])
        self.opened[-1][1].errback(DesktopError("no"))
        asked = self.bus.connected()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.connect()
        self.successResultOf(asked)

    def test_addresses_are_tried_in_order(self):
        """The next socket is tried when one leads nowhere; then all who wait fail."""
        self.environ[VARIABLE] = "unix:path=/a;unix:path=/b"
        asked = self.bus.connected()
        self.opened[-1][1].errback(DesktopError("no"))
        self.assertEqual([path for path, _ in self.opened], ["/a", "/b"])
        self.opened[-1][1].errback(DesktopError("no"))
        self.failureResultOf(asked, DesktopError)

    def test_no_address(self):
        """Without a session bus there is nothing to open, until there is one."""
        self.environ[VARIABLE] = "tcp:host=x"
        error = self.failureResultOf(self.bus.connected(), DesktopError).value
        self.assertEqual(str(error), "there is no session bus")
        self.environ[VARIABLE] = "unix:path=/late"
        self.clock.advance(1)
        self.connect()
        self.successResultOf(self.bus.connected())

    def test_idle_where_none_can_appear(self):
        """It is looked for again only where the environment names one."""
        nowhere: Any = ({}, {VARIABLE: "", RUNTIME: ""}, {RUNTIME: "here"})
        for environ in (*nowhere, {RUNTIME: "/run/user/nobody"}):
            self.assertEqual(self.clock.getDelayedCalls(), [])
            self.environ.clear()
            self.environ.update(environ)
            self.failureResultOf(self.bus.connected(), DesktopError)
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)

    def test_no_unix_sockets(self):
        """On a system without Unix sockets nothing is tried."""
        clock = Clock()
        asked = Bus(clock, self.environ, self.user).connected()
        self.failureResultOf(asked, DesktopError)
        self.assertEqual((self.opened, clock.getDelayedCalls()), ([], []))

    def test_lost(self):
        """A loss is reported, and a new connection made on a stack of its own."""
        self.bus.start()
        link = self.connect()
        self.clock.advance(3600)
        lose(link)
        self.user.lost.assert_called_once_with()
        self.assertEqual(len(self.opened), 1)
        self.clock.advance(0)
        self.assertEqual(len(self.opened), 2)
        # A bus that drops us as soon as we are in is not stormed.
        for pause in (1, 2, 4):
            lose(self.connect())
            (call,) = self.clock.getDelayedCalls()
            self.assertEqual(call.getTime() - self.clock.seconds(), pause)
            self.clock.advance(pause)

    def test_user_that_cannot_settle_in(self):
        """A connection of no use is dropped; what breaks is logged."""
        self.user.joined.side_effect = DesktopError("no")
        asked = self.bus.connected()
        link = self.connect()
        self.failureResultOf(asked, DesktopError)
        self.assertTrue(link.transport.disconnected)
        self.user.joined.side_effect = ZeroDivisionError()
        asked = self.bus.connected()
        self.connect()
        self.failureResultOf(asked, DesktopError)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_attack_mute_bus(self):
        """A bus that is silent once we are in is dropped."""

        async def joined(link):
            await Deferred()

        self.user.joined = joined
        asked = self.bus.connected()
        link = self.connect()
        self.clock.advance(DESKTOP_SECONDS)
        error = self.failureResultOf(asked, DesktopError).value
        self.assertEqual(str(error), "the session bus does not answer")
        self.assertTrue(link.transport.disconnected)

    def test_cancelled_wait(self):
        """A caller may wait no more, or be cancelled by another that is answered."""
        first, second, third = (self.bus.connected() for _ in range(3))
        for cancelled in (first, third):
            cancelled.addErrback(lambda _: None)
        first.cancel()
        second.addCallback(lambda _: third.cancel())
        self.connect()
        self.successResultOf(second)

    def test_close(self):
        """What was written goes out; a bus that does not read is dropped."""
        self.bus.start()
        link = self.connect()
        closing = self.bus.close()
        self.assertTrue(link.transport.disconnecting)
        self.assertFalse(link.transport.disconnected)
        self.assertNoResult(closing)
        self.clock.advance(1)
        self.assertTrue(link.transport.disconnected)
        self.successResultOf(closing)
        self.failureResultOf(self.bus.connected(), DesktopError)
        lose(link)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_close_while_connecting(self):
        """The attempt is given up, and waiting callers get an error."""
        asked = self.bus.connected()
        self.successResultOf(self.bus.close())
        error = self.failureResultOf(asked, DesktopError).value
        self.assertEqual(str(error), "the daemon is shutting down")
        self.assertEqual(self.clock.getDelayedCalls(), [])


plain = "-_/.\\*" + string.ascii_letters + string.digits


def at(address):
    """The sockets that an address leads to."""
    return session_sockets({VARIABLE: address, RUNTIME: "/run/user/7"})


def escaped(path):
    """A path as an address has it."""
    return "".join(
        chr(byte) if chr(byte) in plain else f"%{byte:02x}"
        for byte in os.fsencode(path)
    )


class SessionSocketsTests(SynchronousTestCase):
    def test_addresses(self):
        """They are tried in their order; other transports, and none, are no sockets."""
        for address, sockets in (
            ("unix:path=/run/user/7/bus", ["/run/user/7/bus"]),
            ("unix:path=/x/y,guid=00ff", ["/x/y"]),
            ("unix:abstract=/tmp/dbus-x", ["\0/tmp/dbus-x"]),
            ("unix:runtime=yes", ["/run/user/7/bus"]),
            ("unix:runtime=no", []),
            ("tcp:host=localhost,port=1;unix:path=/a;unix:path=/b", ["/a", "/b"]),
            *((a, []) for a in ("autolaunch:", "unixexec:path=/bin/sh", ";;")),
            *((a, []) for a in ("unix", "unix:", "unix:path=", "unix:path")),
            ("unix:path=/a%00b", []),
            ("unix:=/a", []),
        ):
            self.assertEqual(at(address), sockets, address)

    @given(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1))
    def test_every_path_can_be_escaped(self, path):
        """Whatever a path is made of, its escaped form leads to it."""
        self.assertEqual(at(f"unix:path={escaped(path)}"), [path])

    @given(st.text())
    def test_any_text(self, text):
        """No text breaks it, and none gives a socket with NUL inside."""
        for path in at(text):
            self.assertNotIn("\0", path[1:])

    def test_falls_back_to_the_runtime_directory(self):
        """Without an address, the runtime directory's is used if it is ours."""
        directory = fresh_directory(self)
        place = {RUNTIME: str(directory)}
        self.assertEqual(session_sockets(place), [])
        (directory / "bus").write_text("no socket")
        self.assertEqual(session_sockets(place), [])
        (directory / "bus").unlink()
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(directory / "bus"))
            expected = [str(directory / "bus")]
            self.assertEqual(session_sockets(place), expected)
            self.assertEqual(session_sockets({**place, VARIABLE: ""}), expected)
            # Another user's would see every prompt.
            self.patch(bus, "is_own", lambda _: False)
            self.assertEqual(session_sockets(place), [])
        # A relative one is ignored, as its specification wants.
        self.assertEqual(session_sockets({RUNTIME: "run"}), [])
        self.assertEqual(session_sockets({}), [])
