"""Tests for ``bridge.freedesktop.notifications``, on a real bus."""

import sys
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.trial.unittest import TestCase
from zope.interface.verify import verifyObject

from bridge.freedesktop import (
    DesktopError,
    INotifications,
    Note,
    QuestionExpiredError,
    Urgency,
)
from bridge.freedesktop.messages import BUS, Call
from bridge.freedesktop.notifications import SERVICE

from ..waiting import until
from .buses import HastyReactor, SessionBus, join, notifications, serve

NOTE = Note("Sample", "Title", "Body")
CHOICES = [("yes-1", "Yes"), ("no-1", "No")]


class NotificationsCase(TestCase):
    """A bus, and a client on it."""

    async def setUp(self):  # type: ignore[override]
        """See above."""
        self.bus = SessionBus()
        self.addCleanup(self.bus.remove)
        self.client = notifications(self.bus)
        self.addCleanup(self.client.close)

    async def failure(self, waiting):
        """The text that something fails with."""
        return str(await self.assertFailure(waiting, DesktopError))

    async def asked(self, *capabilities):
        """A server, and a question that is open on it."""
        server = await serve(self, self.bus, "actions", *capabilities)
        question = await self.client.ask(NOTE, CHOICES)
        return server, question

    async def still_open(self, question):
        """Assert that nothing so far has answered."""
        # The client reads what was sent to it before this answer of the bus.
        link = await self.client._bus.connected()
        await link.call(Call(BUS, "GetId"))
        self.assertFalse(question.answer.called)


class ShowTests(NotificationsCase):
    """Tests for showing notes, and for what is known of servers."""

    async def test_provides_the_interface(self):
        """It has what its users rely on."""
        self.assertTrue(verifyObject(INotifications, self.client))

    async def test_note(self):
        """All of a note reaches the server, typed as the specification wants it."""
        server = await serve(self, self.bus)
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
        shown = await self.client.show(note)
        self.assertEqual((shown.id, shown.owner), (1, server.name))
        hints = {
            "urgency": 2,
            "suppress-sound": True,
            "image-path": "/x.png",
            "desktop-entry": "app",
        }
        expected = ["App", 0, "mail", "Title", "Body", [], hints, 1500]
        self.assertEqual(server.named("Notify"), [expected])

    async def test_plain_note(self):
        """What is not given is not sent; urgency is a byte, as servers demand."""
        server = await serve(self, self.bus)
        messages: list[Any] = []
        called = server.link.methodCallReceived

        def note(message):
            messages.append(message)
            called(message)

        server.link.methodCallReceived = note
        await self.client.show(Note("App", "Title"))
        expected = ["App", 0, "", "Title", "", [], {"urgency": 1}, -1]
        self.assertEqual(server.named("Notify"), [expected])
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

    async def test_no_server(self):
        """Without a server, nothing is shown, and that is reported."""
        self.assertEqual(
            await self.failure(self.client.show(NOTE)), "no notification server answers"
        )

    async def test_server_is_started_by_the_bus(self):
        """A server that is not running is asked for; one that fails is none."""
        self.bus.activatable(SERVICE, "/bin/false")
        link = await self.client._bus.connected()
        await link.call(Call(BUS, "ReloadConfig"))
        self.assertEqual(
            await self.failure(self.client.find()), "no notification server answers"
        )

    async def test_server_that_the_bus_has_started(self):
        """A server that the bus starts when it is needed shows the note."""
        self.bus.activatable(
            SERVICE, f"{sys.executable} -m tests.freedesktop.server {self.bus.socket}"
        )
        link = await self.client._bus.connected()
        await link.call(Call(BUS, "ReloadConfig"))
        client = notifications(self.bus)
        self.addCleanup(client.close)
        self.assertEqual((await client.find()).name, "Started")

    async def test_replaced_while_it_is_asked(self):
        """What a server answered that is no longer the server is not kept."""
        server = await serve(self, self.bus, "actions")
        called = server.link.methodCallReceived
        held: list[Any] = []
        server.link.methodCallReceived = held.append
        finding = self.client.find()
        await until(lambda: len(held) == 1)
        server.link.methodCallReceived = called
        await serve(self, self.bus)
        await until(lambda: self.client._owner != server.name)
        called(held[0])
        self.assertEqual(await self.failure(finding), "the notification server is gone")

    async def test_mute_server(self):
        """A server that answers nothing is no server."""
        server = await serve(self, self.bus)
        server.answers.clear()
        await self.client._bus.connected()
        self.client._reactor = HastyReactor()
        self.assertEqual(
            await self.failure(self.client.find()), "no notification server answers"
        )

    async def test_server_of_nonsense(self):
        """What answers in other types than the specification's is no server."""
        server = await serve(self, self.bus)
        for method, answer in (
            ("GetCapabilities", ("u", [7])),
            ("GetServerInformation", ("s", ["x"])),
            ("Notify", ("s", ["x"])),
        ):
            good = server.answers.get(method)
            server.answers[method] = answer
            self.assertEqual(
                await self.failure(self.client.show(NOTE)),
                "the notification server answers nonsense",
            )
            if good is not None:
                server.answers[method] = good

    async def test_unwritable_note(self):
        """A text that D-Bus cannot carry is refused; the connection stays."""
        await serve(self, self.bus)
        for text in ("nul\0", "\udc80"):
            await self.failure(self.client.show(Note("App", text)))
        await self.client.show(NOTE)

    async def test_health_follows_the_server(self):
        """It is up while the name has an owner, also after a bus was lost."""
        heard: list[str] = []
        stop = self.client.watch(heard.append)
        self.client.start()
        self.assertEqual(self.client.health, "down")
        server = await serve(self, self.bus)
        await until(lambda: heard == ["up"])
        self.assertEqual(self.client.health, "up")
        server.link.drop()
        await until(lambda: heard == ["up", "down"])
        await serve(self, self.bus)
        await until(lambda: heard == ["up", "down", "up"])
        self.bus.kill()
        await until(lambda: heard == ["up", "down", "up", "down"])
        self.bus.start()
        await serve(self, self.bus)
        await until(lambda: self.client.health == "up")
        stop()
        self.bus.kill()
        await until(lambda: self.client.health == "down")
        self.assertEqual(heard, ["up", "down", "up", "down", "up"])

    async def test_watcher_that_raises(self):
        """It is logged, and the other listeners are called."""
        heard: list[str] = []

        def broken(health):
            raise ZeroDivisionError

        self.client.watch(broken)
        self.client.watch(heard.append)
        await serve(self, self.bus)
        await self.client.find()
        self.assertEqual(heard, ["up"])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.client._watchers.clear()

    async def test_no_bus_yet(self):
        """A bus that comes later is found when something is to be shown."""
        self.bus.kill()
        await self.failure(self.client.show(NOTE))
        self.bus.start()
        server = await serve(self, self.bus)
        await self.client.show(NOTE)
        self.assertEqual(len(server.named("Notify")), 1)


class AskTests(NotificationsCase):
    """Tests for questions."""

    async def test_choice(self):
        """The key of the button is the answer, and the note is closed."""
        server, question = await self.asked()
        (sent,) = server.named("Notify")
        self.assertEqual(sent[5], ["yes-1", "Yes", "no-1", "No"])
        server.emit("ActionInvoked", 1, "yes-1")
        self.assertEqual(await question.answer, "yes-1")
        await until(lambda: server.named("CloseNotification") == [[1]])

    async def test_unicast_choice(self):
        """A server may send its signal to whom it concerns only."""
        server, question = await self.asked()
        link = await self.client._bus.connected()
        server.emit("ActionInvoked", 1, "yes-1", destination=link.busName)
        self.assertEqual(await question.answer, "yes-1")

    async def test_closed(self):
        """Closed without a choice, by the user or for an undefined reason."""
        server = await serve(self, self.bus, "actions")
        for number, reason in enumerate((2, 3, 4, 99), 1):
            question = await self.client.ask(NOTE, CHOICES)
            server.emit("NotificationClosed", number, reason, signature="uu")
            self.assertIsNone(await question.answer)

    async def test_expired(self):
        """A server that takes a question away by itself has not asked the user."""
        server, question = await self.asked()
        server.emit("NotificationClosed", 1, 1, signature="uu")
        await self.assertFailure(question.answer, QuestionExpiredError)

    async def closing_early(self, *closed):
        """Serve so that these notes are closed before ``Notify`` is answered."""
        server = await serve(self, self.bus, "actions")
        called = server.link.methodCallReceived

        def overtaken(message):
            if message.member == "Notify":
                for number, reason in closed:
                    server.emit("NotificationClosed", number, reason, signature="uu")
            called(message)

        server.link.methodCallReceived = overtaken
        return server

    async def test_closed_before_its_id_is_known(self):
        """A signal that overtakes the answer of ``Notify`` ends the question."""
        await self.closing_early((9, 1), (1, 2))
        question = await self.client.ask(NOTE, CHOICES)
        self.assertIsNone(await question.answer)
        self.assertEqual(self.client._open, {})
        self.assertEqual(self.client._closed_early, {})

    async def test_expired_before_its_id_is_known(self):
        """The reason counts as it does later."""
        await self.closing_early((1, 1))
        question = await self.client.ask(NOTE, CHOICES)
        await self.assertFailure(question.answer, QuestionExpiredError)

    async def test_another_note_closed_early(self):
        """What closes meanwhile and is not the question leaves it open."""
        await self.closing_early((2, 2), (0, 2))
        question = await self.client.ask(NOTE, CHOICES)
        await self.still_open(question)
        question.answer.addErrback(lambda _: None)
        question.answer.cancel()

    async def test_attack_endless_early_signals(self):
        """Only so many are remembered while an answer is awaited; the last count."""
        await self.closing_early(*((n, 2) for n in range(500, 0, -1)))
        sizes = []
        early = self.client._closed_unknown

        def remembered(note, reason):
            early(note, reason)
            sizes.append(len(self.client._closed_early))

        self.patch(type(self.client), "_closed_unknown", lambda _, *a: remembered(*a))
        question = await self.client.ask(NOTE, CHOICES)
        self.assertIsNone(await question.answer)
        self.assertEqual((len(sizes), max(sizes)), (500, 64))

    async def test_attack_early_signal_of_another_program(self):
        """Only the server closes its notes, also before their ids are known."""
        server = await serve(self, self.bus, "actions")
        attacker = await join(self, self.bus)
        us = (await self.client._bus.connected()).busName
        await self.client.find()
        called = server.link.methodCallReceived
        held: list[Any] = []
        server.link.methodCallReceived = held.append
        asking = self.client.ask(NOTE, CHOICES)
        await until(lambda: held)
        attacker.emit("NotificationClosed", 1, 2, signature="uu", destination=us)
        await attacker.settled()
        called(held[0])
        question = await asking
        await self.still_open(question)
        question.answer.addErrback(lambda _: None)
        question.answer.cancel()

    async def test_unusable_ids(self):
        """Note ids are positive numbers of 32 bits."""
        server = await serve(self, self.bus, "actions")
        for answer in ("u", [0]), ("i", [-1]), ("x", [2**32]), ("t", [2**63]):
            server.answers["Notify"] = answer
            await self.failure(self.client.ask(NOTE, CHOICES))
            await self.failure(self.client.show(NOTE))
        self.assertEqual(self.client._open, {})
        server.answers["Notify"] = ("u", [2**32 - 1])
        self.assertEqual((await self.client.show(NOTE)).id, 2**32 - 1)

    async def test_first_signal_counts(self):
        """What comes after the answer changes nothing."""
        server, question = await self.asked()
        server.emit("ActionInvoked", 1, "no-1")
        server.emit("ActionInvoked", 1, "yes-1")
        server.emit("NotificationClosed", 1, 2, signature="uu")
        self.assertEqual(await question.answer, "no-1")
        await self.client.show(NOTE)

    async def test_withdrawn(self):
        """A question that is withdrawn disappears from the screen."""
        server, question = await self.asked()
        question.answer.cancel()
        await self.assertFailure(question.answer, CancelledError)
        await until(lambda: server.named("CloseNotification") == [[1]])

    async def test_withdrawn_before_it_is_shown(self):
        """A note that appears after nobody wants it any more is closed."""
        server = await serve(self, self.bus, "actions")
        await self.client.find()
        asking = self.client.ask(NOTE, CHOICES)
        asking.cancel()
        await self.assertFailure(asking, CancelledError)
        await until(lambda: server.named("CloseNotification") == [[1]])

    async def test_withdrawn_while_closing(self):
        """Closing waits until a note that nobody wants has appeared and is closed."""
        server = await serve(self, self.bus, "actions")
        await self.client.find()
        asking = self.client.ask(NOTE, CHOICES)
        asking.cancel()
        await self.assertFailure(asking, CancelledError)
        await self.client.close()
        await until(lambda: server.named("CloseNotification") == [[1]])

    async def test_withdrawn_from_a_mute_server(self):
        """Closing does not wait for ever."""
        await self.withdrawn_from_a_mute_server()
        self.client._reactor = HastyReactor()
        await self.client.close()

    async def test_withdrawn_and_then_the_bus_dies(self):
        """Nor does it wait for a bus that is gone."""
        await self.withdrawn_from_a_mute_server()
        closing = self.client.close()
        self.bus.kill()
        await closing

    async def withdrawn_from_a_mute_server(self):
        """Withdraw a question that its server never answers."""
        server = await serve(self, self.bus, "actions")
        await self.client.find()
        server.answers["Notify"] = None
        asking = self.client.ask(NOTE, CHOICES)
        asking.cancel()
        await self.assertFailure(asking, CancelledError)

    async def test_no_buttons(self):
        """A server without actions is not asked to show a question."""
        server = await serve(self, self.bus, "body")
        self.assertEqual(
            await self.failure(self.client.ask(NOTE, CHOICES)),
            "the notification server shows no buttons",
        )
        self.assertEqual(server.named("Notify"), [])

    async def test_two_at_once(self):
        """Each question hears of its own note only."""
        server, first = await self.asked()
        second = await self.client.ask(NOTE, CHOICES)
        server.emit("ActionInvoked", 2, "no-1")
        self.assertEqual(await second.answer, "no-1")
        await self.still_open(first)
        server.emit("ActionInvoked", 1, "yes-1")
        self.assertEqual(await first.answer, "yes-1")

    async def test_number_used_twice(self):
        """A server that gives two notes one number is not believed."""
        server = await serve(self, self.bus, "actions")
        server.answers["Notify"] = ("u", [7])
        first = await self.client.ask(NOTE, CHOICES)
        await self.failure(self.client.ask(NOTE, CHOICES))
        server.emit("ActionInvoked", 7, "no-1")
        self.assertEqual(await first.answer, "no-1")

    async def test_too_many(self):
        """The number of open questions is bounded."""
        await self.asked()
        for _ in range(63):
            await self.client.ask(NOTE, CHOICES)
        self.assertEqual(
            await self.failure(self.client.ask(NOTE, CHOICES)),
            "too many questions are open",
        )
        for answer in [*self.client._open.values()]:
            answer.addErrback(lambda _: None)
            answer.cancel()

    async def test_server_dies(self):
        """Nobody can answer any more when the server is gone."""
        server, question = await self.asked()
        server.link.drop()
        self.assertEqual(
            await self.failure(question.answer), "the notification server is gone"
        )

    async def test_bus_dies(self):
        """Nor when the bus is."""
        _, question = await self.asked()
        self.bus.kill()
        await self.failure(question.answer)
        self.assertEqual(self.client.health, "down")

    async def test_attack_server_replaced_during_a_question(self):
        """A program that takes the name over inherits no question."""
        server, question = await self.asked()
        await serve(self, self.bus, "actions")
        self.assertEqual(
            await self.failure(question.answer), "the notification server is gone"
        )
        await until(lambda: server.named("CloseNotification") == [[1]])

    async def test_attack_replaced_before_the_note_is_shown(self):
        """A note shown by a server that is not the server any more is withdrawn."""
        server = await serve(self, self.bus, "actions")
        await self.client.find()
        called = server.link.methodCallReceived
        held: list[Any] = []
        server.link.methodCallReceived = held.append
        asking = self.client.ask(NOTE, CHOICES)
        await until(lambda: held)
        await serve(self, self.bus, "actions")
        server.link.methodCallReceived = called
        called(held[0])
        self.assertEqual(await self.failure(asking), "the notification server is gone")
        await until(lambda: server.named("CloseNotification") == [[1]])

    async def test_attack_broadcast_from_another_program(self):
        """A signal that is not the server's is nobody's answer."""
        _, question = await self.asked()
        attacker = await join(self, self.bus)
        attacker.emit("ActionInvoked", 1, "yes-1")
        attacker.emit("NotificationClosed", 1, 2, signature="uu")
        await attacker.settled()
        await self.still_open(question)
        question.answer.addErrback(lambda _: None)
        question.answer.cancel()

    async def test_attack_unicast_from_another_program(self):
        """Nor is one that is sent to us alone, past every match rule."""
        _, question = await self.asked()
        attacker = await join(self, self.bus)
        us = (await self.client._bus.connected()).busName
        attacker.emit("ActionInvoked", 1, "yes-1", destination=us)
        await attacker.settled()
        await self.still_open(question)
        question.answer.addErrback(lambda _: None)
        question.answer.cancel()

    async def test_attack_forged_change_of_owner(self):
        """Only the bus can announce that the server is another one."""
        server, question = await self.asked()
        attacker = await join(self, self.bus)
        us = (await self.client._bus.connected()).busName
        attacker.emit(
            "NameOwnerChanged",
            SERVICE,
            server.name,
            attacker.name,
            signature="sss",
            destination=us,
            path=BUS.path,
            interface=BUS.interface,
        )
        attacker.emit("ActionInvoked", 1, "yes-1", destination=us)
        await attacker.settled()
        await self.still_open(question)
        self.assertEqual(self.client._owner, server.name)
        question.answer.addErrback(lambda _: None)
        question.answer.cancel()

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
        await server.settled()
        await self.still_open(question)
        question.answer.addErrback(lambda _: None)
        question.answer.cancel()
