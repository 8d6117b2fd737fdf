import errno
from socket import AF_INET, SOCK_DGRAM, socket
from typing import Any
from unittest.mock import Mock

from twisted.internet import reactor
from twisted.internet.defer import Deferred, execute
from twisted.internet.task import deferLater
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import TestCase

from bridge.osc import ports
from bridge.osc.packets import Argument, Kind, read_argument
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import SOCKETS_AUTHENTICATED
from bridge.rpc import Hub
from bridge.services.osc import Osc
from bridge.store.state import Put
from bridge.store.store import Store
from tests.directories import fresh_directory
from tests.disk import ALL, full, going_wrong
from tests.osc.liblo import oscsend
from tests.ports import free_udp_port

from ..osc.test_ports import TimedReactor
from ..pages import Page
from ..schemas.checking import CheckedRegistry
from ..waiting import until


class OscCase(TestCase):
    """The service on real ports, called as a page's request is."""

    def setUp(self) -> None:
        self.hub = hub = Hub()
        self.now = 1e9
        self.watching = Page()
        hub.add(self.watching)
        self.directory = fresh_directory(self)
        self.store = Store.open(self.directory / "state.json", execute)
        self.osc = self.make()
        hub.on_join(self.osc.joined)
        self.registry = CheckedRegistry()
        self.registry.register("osc", self.osc)
        self.page = Page()
        self.port = free_udp_port()

    def make(self, clock: Any = reactor) -> Osc:
        """Make the service, as a daemon that starts does."""
        reserved = frozenset({42069, 22500})
        osc = Osc(clock, self.hub.push, reserved, self.store, lambda: self.now)
        self.addCleanup(osc.close)
        return osc

    def call(self, name, caller=None, **params):
        calling = self.registry.call("osc", name, params, caller or self.page)
        return Deferred.fromCoroutine(calling)

    async def refused(self, name: str, **params: Any) -> BridgeError:
        """Call one method, and give its refusal."""
        return await self.assertFailure(self.call(name, **params), BridgeError)

    async def pushed(self, count: int) -> list[Any]:
        """Wait for that many pushes to every page."""
        await until(lambda: len(self.watching.got) >= count)
        return self.watching.data


class SendTests(OscCase):
    async def test_default_port(self) -> None:
        """The answer has how much went where; VRChat's port by default."""
        sent = await self.call("send", address="/a/b")
        self.assertEqual(sent, {"ok": True, "bytes": 12, "port": 9000})

    async def test_addresses(self) -> None:
        """Patterns, spaces, NULs and what is not ASCII are refused."""
        for bad in ("", "a", "/a b", "/\0", "/é", "/\x7f", "/a\n", "/" + "x" * 255):
            error = await self.refused("send", address=bad)
            self.assertIn("address: 1 to 255 characters", error.message)
        for character in "#*,?[]{}":
            await self.refused("send", address=f"/avatar/{character}")
        for good in ("/", "/a//b/", "/!~\"$%&'()+-.:;<=>@\\^_`|", "/" + "x" * 254):
            await self.call("send", address=good, port=self.port)

    async def test_arguments(self) -> None:
        """What OSC cannot express is refused; a bare value has the kind it fits."""
        cases: tuple[Any, ...] = (
            None,
            1e39,
            10**400,
            "a\0b",
            {"kind": "int"},
            {"kind": "int", "value": 1, "more": 1},
            {"kind": "int", "value": 1.0},
            {"kind": "int", "value": True},
            {"kind": "int", "value": 2**31},
            {"kind": "float", "value": "1"},
            {"kind": "bool", "value": 1},
            {"kind": "string", "value": 1},
            {"kind": "blob", "value": ""},
            {"kind": ["int"], "value": 1},
        )
        for bad in cases:
            error = await self.refused("send", address="/a", args=[bad])
            self.assertEqual(error.code, Code.BAD_REQUEST)
            self.assertIn("args: a boolean, a number", error.message)
        for given, kind, value in (
            (True, Kind.BOOL, True),
            (2**31 - 1, Kind.INT, 2**31 - 1),
            (2**31, Kind.FLOAT, 2.0**31),
            (1.0, Kind.FLOAT, 1.0),
            ("", Kind.STRING, ""),
            ({"kind": "float", "value": 1}, Kind.FLOAT, 1.0),
        ):
            read = read_argument(given)
            self.assertEqual(read, Argument(kind, value))
            self.assertIs(type(read.value), type(value))

    async def test_limits(self) -> None:
        """32 arguments, and 8192 bytes, are what a datagram holds."""
        await self.call("send", address="/a", args=[1] * 32, port=self.port)
        error = await self.refused("send", address="/a", args=[1] * 33)
        self.assertEqual(error.message, "args: at most 32 entries")
        sent = await self.call("send", address="/a", args=["x" * 8183], port=self.port)
        self.assertEqual(sent["bytes"], 8192)
        error = await self.refused("send", address="/a", args=["x" * 8184])
        self.assertEqual(error.message, "args: at most 8192 bytes as OSC")

    async def test_attack_ports_of_others(self) -> None:
        """The daemon's port, the overlay's, and those of the system are refused."""
        asked: dict[str, dict[str, Any]] = {"send": {"address": "/a"}, "listen": {}}
        for name, params in asked.items():
            for port in (0, 53, 1023, 65536, -1):
                error = await self.refused(name, **params, port=port)
                self.assertEqual(error.message, "port: 1024 to 65535")
            for port in (42069, 22500):
                error = await self.refused(name, **params, port=port)
                self.assertIn("port: not the daemon's own", error.message)


class ListenTests(OscCase):
    async def listening(self) -> Any:
        await self.call("listen", port=self.port)
        return await self.call("status")

    async def test_attack_what_a_log_reveals(self) -> None:
        """The start or end of a port logs nothing that is held."""
        events = self.enterContext(capturedLogs())
        await self.call("listen", port=self.port)
        await self.call("send", address="/a")
        await self.call("stop")
        self.osc.close()
        self.assertTrue(events)
        for text in map(formatEvent, events):
            self.assertLess(len(text), 100, text[:200])
            self.assertNotIn(" object at ", text)

    async def test_hears_itself(self) -> None:
        """What is sent to the port that is listened on comes back; floods are paced."""
        await self.listening()
        for number in range(200):
            await self.call("send", address="/a", args=[number], port=self.port)
        while (await self.call("status"))["received"] < 200:
            await deferLater(reactor, 0.01, lambda: None)
        await until(lambda: self.watching.data[-1]["args"][0]["value"] == 199)
        status = await self.call("status")
        self.assertEqual(status["dropped"] + len(self.watching.got), 200)
        self.assertGreater(status["dropped"], 100)

    def reconnected(self, before: Page) -> Page:
        before.go()
        page = Page()
        self.hub.add(page)
        return page

    async def test_goes_on_after_a_reconnect(self) -> None:
        """Each next page has the lease unasked; its ``stop`` closes the port."""
        await self.call("listen", port=self.port)
        page = self.reconnected(self.reconnected(self.page))
        oscsend(self.port, "/a", "i", "1")
        await self.pushed(1)
        self.assertEqual(
            await self.call("listen", page, port=self.port),
            {"ok": True, "port": self.port, "started": False},
        )
        self.assertTrue((await self.call("stop", page))["stopped"])

    async def test_a_command_leaves_nothing(self) -> None:
        """Its lease ends with its connection, and passes to no page."""
        command = Page(is_page=False)
        await self.call("listen", command, port=self.port)
        command.go()
        await until(lambda: not self.store._tables.namespaces())
        self.assertFalse((await self.call("status"))["listening"])

    async def test_describe(self) -> None:
        """The description gives the methods, the ports, the event and the status."""
        described = self.registry.describe()["osc"]
        self.assertEqual(
            described,
            {
                "summary": "Sends and receives OSC on loopback.",
                "methods": ["send", "listen", "stop", "status"],
                "sendPort": 9000,
                "listenPort": 9001,
                "event": "osc",
                "status": {"listening": False, "sendPort": 9000},
            },
        )


class RestartTests(OscCase):
    """Holds that are written down, for a daemon that starts again."""

    def restart(self, clock: Any = reactor) -> None:
        """End the daemon's service, and make another."""
        self.osc.close()
        self.osc = self.make(clock)
        self.registry.register("osc", self.osc)
        self.osc.restore()

    def joined(self) -> Page:
        page = Page()
        self.osc.joined(page)
        return page

    async def test_osc_after_a_restart_of_the_daemon(self) -> None:
        """The port is open again, and passes to the page that reconnects."""
        await self.call("listen", port=self.port)
        self.restart()
        status = await self.call("status")
        self.assertEqual((status["listening"], status["listenPort"]), (True, self.port))
        page = self.joined()
        self.osc._sender.close()
        await self.call("send", address="/a", port=self.port)
        self.assertEqual((await self.pushed(1))[0]["address"], "/a")
        self.assertTrue((await self.call("stop", page))["stopped"])
        self.assertEqual(self.store._tables.namespaces(), [])

    async def test_stopped_during_the_shutdown(self) -> None:
        """What a page stops when the port is closed already takes no other's lease."""
        await self.call("listen", self.joined(), port=self.port)
        self.osc.close()
        await self.call("stop")
        self.assertEqual(self.store._tables.namespaces(), ["bridge.osc"])

    async def test_left_before_a_restart(self) -> None:
        """A lease of a page that has gone has its five minutes, and no more."""
        await self.call("listen", port=self.port)
        self.page.go()
        for seconds, listening in ((290, True), (9, True), (2, False), (-2, True)):
            self.now += seconds
            self.restart(clock := TimedReactor())
            status = await self.call("status")
            self.assertEqual(status["listening"], listening)
        clock.advance(1)
        self.assertFalse((await self.call("status"))["listening"])

    async def test_adopted_before_a_restart(self) -> None:
        """A lease that another page has adopted is no longer one that ends."""
        await self.call("listen", port=self.port)
        self.page.go()
        self.joined()
        self.now += 301
        self.restart()
        self.assertTrue((await self.call("status"))["listening"])

    async def test_more_holders_than_sockets(self) -> None:
        """Pages and a program by HTTP may be more; the port is open again."""
        for _ in range(SOCKETS_AUTHENTICATED + 1):
            await self.call("listen", Page(), port=self.port)
        self.restart()
        self.assertTrue((await self.call("status"))["listening"])

    async def test_what_is_not_restored(self) -> None:
        """A released port, an invalid, or a reserved port."""
        await self.call("listen", port=self.port)
        await self.call("stop")
        for value in (
            None,
            7,
            {"port": 42069, "leases": 1, "left": []},
            {"port": self.port, "leases": 10_000, "left": []},
        ):
            if value is not None:
                self.store.commit([Put("bridge.osc", "held", value)])
            self.restart()
            self.assertFalse((await self.call("status"))["listening"], value)

    async def test_port_that_is_taken_at_the_start(self) -> None:
        """It is opened when it is free, for each page that has come meanwhile."""
        for _ in range(3):
            await self.call("listen", Page(), port=self.port)
        self.osc.close()
        with socket(AF_INET, SOCK_DGRAM) as taking, capturedLogs() as reported:
            taking.bind(("127.0.0.1", self.port))
            self.restart()
            self.restart(clock := TimedReactor())
            first, second, third = (self.joined() for _ in range(3))
            await self.call("stop", first)
            clock.advance(5)
            self.assertFalse((await self.call("status"))["listening"])
        why, _ = map(formatEvent, reported)
        self.assertIn("the OSC port is in use", why)
        self.assertEqual(self.store.get("bridge.osc", "held")["leases"], 3)
        clock.advance(5)
        self.assertEqual(self.store.get("bridge.osc", "held")["leases"], 2)
        self.assertFalse((await self.call("stop", second))["stopped"])
        self.assertTrue((await self.call("stop", third))["stopped"])

    async def test_port_that_cannot_be_opened(self) -> None:
        """Another program is blamed only where it has the port."""
        refusal = OSError(errno.EMFILE, "Too many open files")
        self.patch(ports, "_bound", Mock(side_effect=refusal))
        error = await self.refused("listen", port=self.port)
        self.assertEqual(
            error.message, "the OSC port cannot be opened: Too many open files"
        )

    async def test_not_written(self) -> None:
        """A disk that is full keeps no page from listening, and is written later."""
        with going_wrong(full(0, ALL)):
            self.assertTrue((await self.call("listen", port=self.port))["started"])
        await self.store.commit([Put("x", "k", 1)])
        self.assertIn(b'"bridge.osc"', (self.directory / "state.json").read_bytes())
