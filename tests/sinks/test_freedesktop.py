"""Tests for bridge.sinks.freedesktop, on a real bus, with real servers."""

from typing import Any

from attrs import evolve
from twisted.internet import reactor
from twisted.internet.defer import CancelledError, Deferred, execute, fail
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.freedesktop.connection import DesktopError
from bridge.freedesktop.notifications import Note, Server, Urgency
from bridge.protocol.limits import DESKTOP_SECONDS
from bridge.sinks.fanout import Health, Message, UnavailableError, notification
from bridge.sinks.freedesktop import Freedesktop, body, note
from bridge.sinks.icons import IconFiles
from tests.approval.screens import SERVER, FakeScreen
from tests.contracts import SinkContract
from tests.directories import fresh_directory
from tests.freedesktop.buses import PATIENT, SessionBus, notifications, serve
from tests.freedesktop.session import Session, notification_server

from ..waiting import until
from .samples import FULL, LEAST, png, text64


def server(name: str = "Sample", *capabilities: str) -> Server:
    """A notification server."""
    return Server(":1.7", name, "1.0", frozenset(capabilities))


class NoteTests(SynchronousTestCase):
    def test_fields(self):
        """Times are milliseconds, 0 the server's own; only a declined sound is off."""
        for fields, name, value in (
            ({"timeout_secs": 0}, "expire_ms", -1),
            ({"timeout_secs": 0.0004}, "expire_ms", -1),
            ({"timeout_secs": 0.0014}, "expire_ms", 1),
            ({"sound": False}, "suppress_sound", True),
            ({"sound": True}, "suppress_sound", False),
            ({"volume": 0}, "suppress_sound", False),
            ({"audio_path": ""}, "suppress_sound", False),
            # A name is for the server to look up; the text of an image is not.
            ({"icon": "security-high"}, "icon", "security-high"),
            ({"icon": text64(png()), "use_base64_icon": True}, "icon", ""),
            ({"urgency": "low"}, "urgency", Urgency.LOW),
            ({"urgency": "critical"}, "urgency", Urgency.CRITICAL),
        ):
            about = notification(Message(title="Door", **fields), "Sample")
            self.assertEqual(getattr(note(about, server()), name), value, fields)

    def test_attack_markup_in_a_body(self):
        """A text is escaped for servers that render markup, also for one that lies."""
        text = '<b>a</b> & <a href="x">b</a> <img src="/etc/passwd"/>'
        escaped = (
            '&lt;b&gt;a&lt;/b&gt; &amp; &lt;a href="x"&gt;b&lt;/a&gt; '
            '&lt;img src="/etc/passwd"/&gt;'
        )
        self.assertEqual(body(text, server("x", "body-markup")), escaped)
        self.assertEqual(body(text, server("dunst")), escaped)
        self.assertEqual(body(text, server("Dunst")), escaped)
        self.assertEqual(body(text, server("x", "body")), text)


class SinkCase(TestCase):
    """A bus with nobody on it, and a sink for it, which have time."""

    reactor: Any = PATIENT

    def setUp(self) -> Any:
        self.bus = SessionBus()
        self.addCleanup(self.bus.remove)
        self.desktop = notifications(self.bus, self.reactor)
        self.addCleanup(self.desktop.close)
        self.icons = fresh_directory(self) / "icons"

    def sink(self) -> Any:
        icons = IconFiles(self.icons, reactor, execute)
        sink = Freedesktop(
            self.desktop, icons, self.reactor, "sample", "App", ("App Bridge",)
        )
        self.addCleanup(sink.close)
        return sink


class ContractTests(SinkCase, SinkContract):
    """It keeps the contract, with a scripted server."""

    async def there(self, sink: Any) -> None:
        self.server = await serve(self, self.bus)
        await sink.start()

    async def test_arrives(self) -> None:
        """A notification reaches the server, and its image as a file."""
        sink = self.sink()
        await self.there(sink)
        await sink.deliver(FULL)
        ((application, _, _, *texts, _, hints, time),) = self.server.named("Notify")
        self.assertEqual((application, *texts), ("Sample", FULL.title, FULL.content))
        (file,) = self.icons.iterdir()
        self.assertEqual((hints["image-path"], time), (str(file), 3500))
        self.assertEqual((hints["desktop-entry"], hints["urgency"]), ("sample", 2))
        sink.close()
        self.assertEqual(list(self.icons.iterdir()), [])

    async def test_attack_name_of_the_prompts_sender(self) -> None:
        """A notification that would look like a prompt is the application's."""
        sink = self.sink()
        await self.there(sink)
        await sink.deliver(evolve(LEAST, source_app="app  BRIDGE"))
        ((name, *_),) = self.server.named("Notify")
        self.assertEqual(name, "App")

    async def test_attack_icon_that_is_broken(self) -> None:
        """An image that can't be shown costs the icon, not the message."""
        sink = self.sink()
        await self.there(sink)
        for image in (png(60_000, 60_000), b"GIF89a nonsense"):
            await sink.deliver(evolve(LEAST, image=text64(image)))
        for arguments in self.server.named("Notify"):
            self.assertEqual((arguments[3], arguments[6]["urgency"]), ("Door", 1))
            self.assertNotIn("image-path", arguments[6])
        self.assertEqual(len(self.server.named("Notify")), 2)
        self.assertFalse(self.icons.exists())

    async def test_directory_that_cannot_be_written(self) -> None:
        """Neither does an icon that can't be kept."""
        self.icons.write_text("in the way")
        sink = self.sink()
        await self.there(sink)
        await sink.deliver(FULL)
        self.assertEqual(len(self.server.named("Notify")), 1)


class LifeTests(SynchronousTestCase):
    """Tests for servers that come and go, on a desktop in memory."""

    def setUp(self) -> None:
        self.screen, self.clock = FakeScreen(), Clock()
        icons = IconFiles(fresh_directory(self) / "icons", self.clock, execute)
        self.sink = Freedesktop(self.screen, icons, self.clock, "sample")

    def skipped(self) -> None:
        """Start the sink, which can't be a target now."""
        self.failureResultOf(self.sink.start(), UnavailableError)
        self.assertFalse(self.sink.has_started)

    def test_server_that_comes_later(self) -> None:
        """Without one it is skipped; from the first on it is a target, up or down."""
        self.screen.server = None
        self.skipped()
        self.assertEqual(self.sink.health(), Health.DOWN)
        for _ in range(2):
            self.screen.server = SERVER
            self.assertTrue(self.sink.has_started)
            self.assertEqual(self.sink.health(), Health.UP)
            self.successResultOf(self.sink.deliver(LEAST))
            self.screen.server = None
            self.assertTrue(self.sink.has_started)
            self.assertEqual(self.sink.health(), Health.DOWN)
            self.failureResultOf(self.sink.deliver(LEAST), UnavailableError)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_server_that_can_be_started(self) -> None:
        """It is a target at once, and is started for a notification."""
        self.screen.server, self.screen.is_expected = None, True
        self.successResultOf(self.sink.start())
        self.assertEqual(self.sink.health(), Health.DOWN)
        self.successResultOf(self.sink.deliver(LEAST))
        self.assertEqual(self.sink.health(), Health.UP)

    def test_attack_server_that_does_not_answer(self) -> None:
        """It is skipped, and asked again now and then until it answers."""
        looking: list[Any] = []

        def find() -> Any:
            looking.append(Deferred())
            return looking[-1]

        self.patch(self.screen, "look", find)
        starting = self.sink.start()
        looking[0].errback(DesktopError("mute"))
        self.failureResultOf(starting, UnavailableError)
        for asked, answer in enumerate(
            (Failure(DesktopError("mute")), Failure(ZeroDivisionError()), SERVER), 2
        ):
            self.assertFalse(self.sink.has_started)
            self.clock.advance(DESKTOP_SECONDS)
            self.assertEqual(len(looking), asked)
            self.screen.server = None
            self.screen.server = SERVER
            self.assertEqual(len(looking), asked)
            looking[-1].callback(answer)
        self.assertTrue(self.sink.has_started)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_mute_servers_that_come_and_go(self) -> None:
        """However often one appears, one timer waits, and none after the end."""
        self.patch(self.screen, "look", lambda: fail(DesktopError("mute")))
        self.skipped()
        for _ in range(3):
            self.screen.server = None
            self.screen.server = SERVER
            self.assertEqual(len(self.clock.getDelayedCalls()), 1)
        self.sink.close()
        self.screen.server = None
        self.screen.server = SERVER
        self.assertFalse(self.sink.has_started)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_shutdown_while_it_looks(self) -> None:
        """Nothing is left of it."""
        self.patch(self.screen, "look", Deferred)
        starting = self.sink.start()
        self.sink.close()
        self.failureResultOf(starting, CancelledError)
        self.assertEqual(self.clock.getDelayedCalls(), [])


class RealServerTests(SinkCase):
    async def shows(self, name: str) -> tuple[Any, Any]:
        """Have a server show a notification's picture; the screen and the sink."""
        screen = Session(self.bus)
        self.addCleanup(screen.end)
        if name == "dunst":
            screen.serve_framed_notes()
        else:
            screen.serve(notification_server(name))
        sink = self.sink()
        sink._desktop.start()
        await until(lambda: self.desktop.health == "up")
        await sink.start()
        magenta = (255, 0, 255)
        self.assertEqual(screen.picture().count(magenta), 0)
        image = text64(png(96, 96, bytes((*magenta, 255))))
        await sink.deliver(evolve(FULL, image=image, timeout=None))
        await until(lambda: screen.picture().count(magenta) > 200)
        screen.save(f"notify-{name}.png")
        return screen, sink

    async def test_notification_daemon(self) -> None:
        """GNOME's old notification-daemon shows it."""
        await self.shows("notification-daemon")

    async def test_xfce(self) -> None:
        """Xfce's server shows it."""
        await self.shows("xfce4-notifyd")

    async def test_attack_markup_on_dunst(self) -> None:
        """Dunst, which renders markup without announcing it, shows the tags as text."""
        screen, sink = await self.shows("dunst")
        # Framed as critical ones are.
        self.assertGreater(screen.picture().count((0, 255, 0)), 200)
        red = "<span background='#ff0000' foreground='#ff0000'>injected</span>"
        await self.desktop.show(Note("Sample", "raw", red))
        await until(lambda: screen.picture().count((255, 0, 0)) > 200)
        rendered, framed = map(screen.picture().count, ((255, 0, 0), (0, 255, 0)))
        await sink.deliver(evolve(LEAST, title=red, content=red, urgency="critical"))
        await until(lambda: screen.picture().count((0, 255, 0)) > framed + 200)
        self.assertEqual(screen.picture().count((255, 0, 0)), rendered)
        screen.save("notify-dunst-markup.png")
