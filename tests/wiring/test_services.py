import time
from unittest.mock import Mock

from twisted.internet.defer import Deferred, execute, maybeDeferred
from twisted.internet.task import Clock
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.http.client import HttpClient
from bridge.protocol.errors import BridgeError
from bridge.rpc import Hub
from bridge.services.logs import Logs
from bridge.settings.host import locate
from bridge.settings.options import config_of, daemon_command, parsed
from bridge.store.store import Store
from bridge.wiring import services
from bridge.wiring.services import SINKS, Core, Threads, make_services, make_sinks
from tests.approval.screens import FakeScreen
from tests.directories import fresh_directory
from tests.reactors import reactor
from tests.services.test_remote import Page

NOBODY = HttpClient(Clock(), execute, look_up=lambda name: Deferred())


class ThreadsTests(TestCase):
    async def test_log_lines_in_order(self) -> None:
        """What writes them does so one after the other, however long one takes."""
        logs = Threads.make(reactor, 8).logs
        logs.start()
        self.addCleanup(logs.stop)
        written: list[int] = []

        def slow() -> None:
            time.sleep(0.1)
            written.append(1)

        logs.call(slow)
        await logs.call(written.append, 2)
        self.assertEqual(written, [1, 2])


class SinkTests(SynchronousTestCase):
    def names(self, *sinks):
        """Which sinks are made when these are asked for."""
        given = [f"--sink={name}" for name in sinks]
        config = config_of(parsed(daemon_command(), given, "run"))
        directory = fresh_directory(self)
        paths = locate("vrcnext", directory / "data", directory / "themes")
        clock = Clock()
        threads = Threads.make(clock, 1)
        store = Store.open(paths.data.state, threads.disk.call)
        tools = FakeScreen(), NOBODY, time.time
        fanout = make_sinks(Core(clock, config, paths, threads, store, Hub(), *tools))
        return [sink.name for sink in fanout.sinks]

    def test_chosen(self):
        """The default ones are made, or those that are named, also by an alias."""
        self.assertEqual(self.names(), ["overlay", "freedesktop"])
        self.assertEqual(self.names("ovrtoolkit", "wayvr"), ["overlay", "ovrtoolkit"])

    def test_every_sink(self):
        """Each name makes the sink of that name, in their order."""
        self.assertEqual(self.names(*SINKS), list(SINKS))

    def test_sink_that_cannot_be_made(self):
        """It is skipped, which is logged; the daemon starts with the others."""
        self.patch(services, "Overlay", Mock(side_effect=ZeroDivisionError))
        self.assertEqual(self.names(), ["freedesktop"])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)


class ShutdownTests(SynchronousTestCase):
    def test_shutdown(self):
        """Closing the parts answers what is under way, and leaves no timer."""
        clock = MemoryReactorClock()
        directory = fresh_directory(self)
        paths = locate("vrcnext", directory / "data", directory / "themes")
        paths.data.create()
        store = Store.open(paths.data.state, execute)
        hub, page = Hub(), Page()
        hub.add(page)
        given = ["--dev", "--sink=freedesktop"]
        config = config_of(parsed(daemon_command(), given, "run"))
        threads = Threads.make(clock, 1)
        screen = FakeScreen()
        self.patch(screen, "show", lambda note: Deferred())
        client = HttpClient(clock, execute, look_up=lambda name: Deferred())
        tools = screen, client, time.time
        core = Core(clock, config, paths, threads, store, hub, *tools)
        logs = Logs(None, execute, clock, time.time)
        fanout, finish = make_services(core, logs, frozenset())
        fanout.start()
        asked = [
            Deferred.fromCoroutine(core.registry.call(service, method, params))
            for service, method, params in (
                ("remote", "eval", {"code": "return 1"}),
                ("outbound", "fetch", {"url": "https://forge.example/"}),
                ("notify", "send", {"title": "Door"}),
            )
        ]
        self.assertNotEqual(clock.getDelayedCalls(), [])
        for close in finish:
            maybeDeferred(close)
        late = {"database": "vrcnext", "sql": "SELECT 1"}
        asked.append(Deferred.fromCoroutine(core.registry.call("sql", "query", late)))
        for asking in asked:
            asking.addErrback(lambda failure: failure.trap(BridgeError))
            self.assertTrue(asking.called)
        self.assertEqual(clock.getDelayedCalls(), [])
