"""The desktop in memory, and a real bus with a server, by the same contract."""

from twisted.internet.defer import CancelledError
from twisted.trial.unittest import TestCase

from bridge.freedesktop.connection import DesktopError
from bridge.freedesktop.notifications import Server

from ..approval.screens import FakeScreen
from ..waiting import until
from .buses import serve
from .test_notifications import CHOICES, NOTE, NotificationsCase


class DesktopContract:
    """
    Facts about every desktop.

    The test case makes it in ``setUp``, as ``self.desktop``, without a server.  One of
    some capabilities begins in ``begin`` and ends in ``end``; it answers in ``choose``,
    and ``withdrawn`` waits until a note has been withdrawn.
    """

    async def shown(self) -> None:
        """Wait until a question is on the screen."""

    async def test_nobody(self):
        """Without a server each method fails with ``DesktopError``."""
        for asking in (
            self.desktop.look(),
            self.desktop.find(),
            self.desktop.show(NOTE),
            self.desktop.ask(NOTE, CHOICES),
        ):
            await self.assertFailure(asking, DesktopError)
        self.assertEqual((self.desktop.health, self.desktop.server), ("down", None))

    async def test_find(self):
        """The server that was found is kept while it runs."""
        await self.begin("actions", "body")
        self.assertEqual((self.desktop.health, self.desktop.server), ("up", None))
        server = await self.desktop.find()
        self.assertIsInstance(server, Server)
        self.assertEqual(server.capabilities, {"actions", "body"})
        self.assertEqual((self.desktop.health, self.desktop.server), ("up", server))
        await self.end()
        self.assertEqual((self.desktop.health, self.desktop.server), ("down", None))

    async def asked(self):
        """Ask, and wait until that is on the screen."""
        question = self.desktop.ask(NOTE, CHOICES)
        await self.shown()
        self.assertFalse(question.called)
        return question

    async def test_show(self):
        """A note is shown."""
        await self.begin()
        self.assertIsNone(await self.desktop.show(NOTE))

    async def test_no_buttons(self):
        """A server without buttons can't be asked to show any."""
        await self.begin("body")
        error = await self.assertFailure(self.desktop.ask(NOTE, CHOICES), DesktopError)
        self.assertEqual(str(error), "the notification server shows no buttons")

    async def test_answer(self):
        """A question stays open until a button is pressed; its key is the answer."""
        await self.begin("actions")
        question = await self.asked()
        await self.choose("no-1")
        self.assertEqual(await question, "no-1")

    async def test_cancelled(self):
        """A question that nobody waits for any more is withdrawn."""
        await self.begin("actions")
        question = await self.asked()
        question.cancel()
        await self.assertFailure(question, CancelledError)
        await self.withdrawn()

    async def test_changed(self):
        """Each new health is reported."""
        heard: list[str] = []
        self.desktop.changed = lambda: heard.append(self.desktop.health)
        await self.begin()
        await until(lambda: heard == ["up"])
        await self.end()
        await until(lambda: heard == ["up", "down"])


class NotificationsTests(DesktopContract, NotificationsCase):
    """The real one, on a real bus."""

    async def setUp(self):  # type: ignore[override]
        await super().setUp()
        self.desktop = self.client
        self.desktop.start()

    async def begin(self, *capabilities):
        self.server = await serve(self, self.bus, *capabilities)
        await until(lambda: self.desktop.health == "up")

    async def end(self):
        self.server.link.drop()
        await until(lambda: self.desktop.health == "down")

    async def shown(self):
        await until(lambda: self.desktop._open)

    async def choose(self, key):
        (sent,) = self.server.named("Notify")
        self.assertEqual(sent[5], ["yes-1", "Yes", "no-1", "No"])
        self.server.emit("ActionInvoked", 1, key)
        await self.withdrawn()

    async def withdrawn(self):
        await until(lambda: self.server.named("CloseNotification") == [[1]])


class FakeScreenTests(DesktopContract, TestCase):
    def setUp(self):
        self.desktop = FakeScreen()
        self.desktop.server = None

    async def begin(self, *capabilities):
        self.desktop.server = Server(":1.1", "Sample", "1.0", frozenset(capabilities))
        self.desktop.is_known = False

    async def end(self):
        self.desktop.server = None

    async def choose(self, key):
        ((_, _, answer),) = self.desktop.questions
        answer.callback(key)

    async def withdrawn(self):
        self.assertEqual(self.desktop.withdrawn, 1)

    async def test_no_bus(self):
        """A bus that can't be reached is as a server that is not there."""
        await self.begin("actions")
        self.desktop.failure = "there is no session bus"
        await self.test_nobody()
