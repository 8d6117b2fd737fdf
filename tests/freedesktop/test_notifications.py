"""Tests for ``bridge.freedesktop.notifications``, on a real bus."""

import sys
from itertools import product
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.trial.unittest import TestCase

from bridge.freedesktop.connection import BUS, DesktopError
from bridge.freedesktop.notifications import (
    SERVICE,
    Note,
    QuestionExpiredError,
    Urgency,
)

from ..waiting import until
from .buses import HastyReactor, SessionBus, join, notifications, serve

NOTE = Note("Sample", "Title", "Body")
CHOICES = [("yes-1", "Yes"), ("no-1", "No")]


class NotificationsCase(TestCase):
    async def setUp(self):  # type: ignore[override]
        self.bus = SessionBus()
        self.addCleanup(self.bus.remove)
        self.client = notifications(self.bus)
        self.addCleanup(self.client.close)

    async def assert_fails(self, waiting, why="the notification server is gone"):
        self.assertEqual(str(await self.assertFailure(waiting, DesktopError)), why)

    async def asked(self):
        """A server, and a question that is open on it."""
        server = await serve(self, self.bus, "actions")
        question = self.client.ask(NOTE, CHOICES)
        await until(lambda: self.client._open)
        return server, question

    async def all_read(self, server):
        """Wait until the client has read what a server has sent."""
        await server.settled()
        # It reads what was sent to it before this answer of the bus.
        link = await self.client._bus.connected()
        await link.call(BUS, "GetId")

    async def still_open(self, server, *questions):
        """Assert that nothing a server sent has answered; withdraws them."""
        await self.all_read(server)
        for question in questions:
            self.assertFalse(question.called)
            question.addErrback(lambda _: None)
            question.cancel()

    async def holding(self, asking, server=None):
        """A server whose answer to what ``asking`` calls next the test sends."""
        server = server or await serve(self, self.bus, "actions")
        await self.client._bus.connected()
        await until(lambda: self.client._owner == server.name)
        if asking == self.client.ask:
            await self.client.find()
        called = server.link.methodCallReceived
        held: list[Any] = []
        server.link.methodCallReceived = held.append
        waiting = asking() if asking == self.client.find else asking(NOTE, CHOICES)
        await until(lambda: held)
        server.link.methodCallReceived = called
        return server, waiting, lambda: called(held[0])


class ShowTests(NotificationsCase):
    """Tests for showing notes, and for what is known of servers."""

    async def test_note(self):
        """What is given of a note is sent, in the types of the specification."""
        server = await serve(self, self.bus)
        messages: list[Any] = []
        called = server.link.methodCallReceived

        def keep(message):
            messages.append(message)
            called(message)

        server.link.methodCallReceived = keep
        note = Note(
            "App",
            "Title",
            "Body",
            icon="mail",
            urgency=Urgency.CRITICAL,
            suppress_sound=True,
            image_path="/x.png",
            desktop_entry="app",
            expire_ms=1500,
        )
        await self.client.show(note)
        await self.client.show(Note("App", "Title"))
        hints = {
            "urgency": 2,
            "suppress-sound": True,
            "image-path": "/x.png",
            "desktop-entry": "app",
        }
        full = ["App", 0, "mail", "Title", "Body", [], hints, 1500]
        least = ["App", 0, "", "Title", "", [], {"urgency": 1}, -1]
        self.assertEqual(server.named("Notify"), [full, least])
        # Urgency is a byte, as servers demand.
        self.assertIn(b"urgency\0\1y\0\1", messages[-1].rawBody)

    async def test_server_is_asked_once(self):
        """What a server can do is asked once, and again of another server."""
        first = await serve(self, self.bus, "actions", name="One")
        found = await self.client.find()
        self.assertEqual((found.name, found.version), ("One", "1.0"))
        self.assertEqual(found.capabilities, {"actions"})
        await self.client.find()
        self.assertEqual(len(first.named("GetCapabilities")), 1)
        await serve(self, self.bus, name="Two")
        await until(lambda: self.client.server is None)
        found = await self.client.find()
        self.assertEqual((found.name, found.capabilities), ("Two", frozenset()))

    async def test_server_that_the_bus_starts(self):
        """It is started when it is needed, not by a look; one that fails is none."""
        served = f"{sys.executable} -m tests.freedesktop.server {self.bus.socket}"
        link = (await join(self, self.bus)).link
        self.bus.activatable(SERVICE, "/bin/false")
        await link.call(BUS, "ReloadConfig")
        await self.client.look()
        self.assertTrue(self.client.is_expected)
        await self.assert_fails(self.client.find(), "no notification server answers")
        self.bus.activatable(SERVICE, served)
        await link.call(BUS, "ReloadConfig")
        self.assertEqual((await self.client.find()).name, "Started")


class AskTests(NotificationsCase):
    async def test_ended(self):
        """The first signal counts, also before the server has said which note it is."""
        table = (("yes-1", "no-1"), ("yes-1", 2), (2, "yes-1"), (1,), (3,), (4,), (99,))
        for is_early, signals in product((True, False), table):
            server, question, answer = await self.holding(self.client.ask)
            if not is_early:
                answer()
                await until(lambda: self.client._open)
            for how in signals:
                if isinstance(how, str):
                    server.emit("ActionInvoked", 1, how)
                else:
                    server.emit("NotificationClosed", 1, how, signature="uu")
            await self.all_read(server)
            if is_early:
                answer()
            if signals == (1,):
                await self.assertFailure(question, QuestionExpiredError)
            else:
                self.assertEqual(
                    await question, "yes-1" if signals[0] == "yes-1" else None
                )
            await until(lambda: not self.client._early)

    async def test_attack_early_signals_of_other_notes(self):
        """None is an answer, nor one of an earlier question; they fill no memory."""
        server = await serve(self, self.bus, "actions")
        server.answers["Notify"] = ("u", [1])
        first = self.client.ask(NOTE, [("yes-0", "Yes")])
        await until(lambda: self.client._open)
        server.emit("ActionInvoked", 1, "yes-0")
        self.assertEqual(await first, "yes-0")
        await until(lambda: server.named("CloseNotification"))
        _, second, answer = await self.holding(self.client.ask, server)
        server.emit("ActionInvoked", 1, "yes-0")
        server.emit("NotificationClosed", 1, 2, signature="uu")
        for number in range(2, 2000):
            server.emit("ActionInvoked", number, "yes-1")
        await self.all_read(server)
        early = self.client._early
        self.assertEqual([*early], [(server.name, n) for n in range(2, 1026)])
        answer()
        await until(lambda: self.client._open)
        await self.still_open(server, second)

    async def test_server_dies(self):
        """Nobody can answer any more when the server or the bus is gone."""
        for end in (lambda server: server.link.drop(), lambda _: self.bus.kill()):
            server, question = await self.asked()
            end(server)
            await self.assert_fails(question)
        self.assertEqual(self.client.health, "down")

    async def test_attack_signals_of_other_shapes(self):
        """Of the server itself only the specification's signals count."""
        server, question = await self.asked()
        server.emit("ActionInvoked", 2, "yes-1")
        server.emit("ActionInvoked", "1", "yes-1", signature="ss")
        server.emit("ActionInvoked", 1, "yes-1", signature="is")
        server.emit("ActionInvoked", 1, "yes-1", path="/elsewhere")
        server.emit("ActionInvoked", 1, "yes-1", interface="org.gnome.Shell")
        server.emit("ActivationToken", 1, "yes-1")
        server.emit("NotificationClosed", 1, "x")
        await self.still_open(server, question)

    async def test_attack_signals_of_another_program(self):
        """To all or to us alone: neither an answer, nor another server."""
        server, question = await self.asked()
        attacker = await join(self, self.bus)
        us = (await self.client._bus.connected()).busName
        owner = (SERVICE, server.name, attacker.name)
        for to in (None, us):
            attacker.emit(
                "NameOwnerChanged",
                *owner,
                signature="sss",
                destination=to,
                path=BUS.path,
                interface=BUS.interface,
            )
            attacker.emit("ActionInvoked", 1, "yes-1", destination=to)
            attacker.emit("NotificationClosed", 1, 2, signature="uu", destination=to)
        await self.still_open(attacker, question)
        self.assertEqual(self.client._owner, server.name)

    async def test_attack_server_replaced(self):
        """Who takes the name over inherits no question; no late answer is used."""
        first, question = await self.asked()
        await serve(self, self.bus, "actions")
        await self.assert_fails(question)
        await until(lambda: first.named("CloseNotification") == [[1]])
        for asking in (self.client.find, self.client.ask):
            server, waiting, answer = await self.holding(asking)
            await serve(self, self.bus, "actions")
            await until(lambda: self.client._owner != server.name)  # noqa: B023
            answer()
            await self.assert_fails(waiting)
        await until(lambda: server.named("CloseNotification") == [[1]])

    async def test_attack_server_of_nonsense(self):
        """Answers in other types than the specification's, and numbers of no note."""
        server = await serve(self, self.bus, "actions")
        wrong: list[Any] = [
            ("GetCapabilities", ("u", [7])),
            ("GetServerInformation", ("s", ["x"])),
            (
                "Notify",
                *(("s", ["x"]), ("u", [0]), ("i", [-1]), ("b", [True]), ("", [])),
                *(("x", [2**32]), ("t", [2**63])),
            ),
        ]
        for method, *answers in wrong:
            good = server.answers.get(method)
            for answer in answers:
                server.answers[method] = answer
                asking = self.client.ask(NOTE, CHOICES)
                why = "the answer of the notification server is invalid"
                await self.assert_fails(asking, why)
            server.answers[method] = good or ("u", [2**32 - 1])
        question = self.client.ask(NOTE, CHOICES)
        await until(lambda: self.client._open)
        server.emit("ActionInvoked", 2**32 - 1, "no-1")
        self.assertEqual(await question, "no-1")

    async def test_attack_mute_server(self):
        """It is waited for in vain; a note that it shows later is closed."""
        self.client._reactor = HastyReactor()
        for asking in (self.client.find, self.client.ask):
            server, waiting, answer = await self.holding(asking)
            await self.assert_fails(waiting, "no notification server answers")
        self.assertEqual(server.named("CloseNotification"), [])
        answer()
        await until(lambda: server.named("CloseNotification") == [[1]])

    async def test_withdrawn_before_it_is_shown(self):
        """A note that appears after nobody wants it is closed; closing waits for it."""
        server, question, answer = await self.holding(self.client.ask)
        question.cancel()
        await self.assertFailure(question, CancelledError)
        closing = self.client.close()
        answer()
        await closing
        await until(lambda: server.named("CloseNotification") == [[1]])

    async def test_withdrawn_before_it_is_sent(self):
        """What is withdrawn while the server is looked for is never shown."""
        server, finding, answer = await self.holding(self.client.find)
        question = self.client.ask(NOTE, CHOICES)
        question.cancel()
        await self.assertFailure(question, CancelledError)
        answer()
        await finding
        await until(lambda: not self.client._asking)
        self.assertEqual(server.named("Notify"), [])

    async def test_withdrawn_and_never_shown(self):
        """Closing waits neither for ever nor for a bus that is gone."""
        for end in (lambda: None, self.bus.kill):
            _, question, _ = await self.holding(self.client.ask)
            question.cancel()
            await self.assertFailure(question, CancelledError)
            self.client._reactor = HastyReactor()
            closing = self.client.close()
            end()
            await closing
            self.client = notifications(self.bus)
