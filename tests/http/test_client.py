"""Tests for bridge.http.client, and of fetches with a hostile name server."""

import socket
import threading
from typing import Any
from unittest import mock

from twisted.internet.defer import CancelledError
from twisted.trial.unittest import TestCase

from bridge.http import client
from bridge.http.client import SystemNames
from bridge.protocol import limits
from bridge.protocol.errors import BridgeError, Code

from ..outbound.servers import HERE, OutboundCase, responding
from ..reactors import reactor

NOT_PUBLIC = (Code.BAD_REQUEST, "url: not a public address")


class HostileNameTests(OutboundCase):
    """
    Names whose server is the attacker's.

    The one allowed address and port stand for a public server; loopback on any other
    is what the attacker wants.
    """

    async def answer_of(self, port: int, *addresses: str) -> tuple[Code, str] | str:
        """Fetch from a name that has these addresses now."""
        self.names["evil.net"] = list(addresses)
        try:
            return str((await self.fetch(f"http://evil.net:{port}/"))["body"])
        except BridgeError as error:
            return error.code, error.message

    async def test_attack_rebinding(self) -> None:
        """A name is asked for each fetch, and the checked address is dialled."""
        port = self.serve(responding(b"public"))
        self.assertEqual(await self.answer_of(port, HERE), "public")
        self.assertEqual(await self.answer_of(port, "127.0.0.9"), NOT_PUBLIC)
        self.assertEqual(len(self.server.visits), 1)

    async def test_attack_no_answer_and_endless_ones(self) -> None:
        """A name without an address, and one with too many to check."""
        many = [f"1.1.{number}.1" for number in range(65)]
        for has, what in (
            ([], "could not be resolved"),
            (many, "has too many addresses"),
        ):
            found = await self.answer_of(80, *has)
            self.assertEqual(found, (Code.UNAVAILABLE, f"the host's name {what}"))


class SystemNamesTests(TestCase):
    def names(self, resolve: Any = socket.getaddrinfo) -> SystemNames:
        return SystemNames(reactor.callFromThread, resolve)

    async def test_system(self) -> None:
        """The system's resolver knows this machine."""
        self.assertIn("127.0.0.1", await self.names().look_up("localhost"))

    async def test_each_once(self) -> None:
        """Each address is given once, as text, by a thread that is a daemon."""
        asked: list[Any] = []

        def resolve(host: str, port: None, **options: int) -> list[tuple[Any, ...]]:
            asked.append((host, port, options, threading.current_thread().daemon))
            found = ["1.1.1.2", "fe80::1%2", "1.1.1.2"]
            return [(2, 1, 6, "", (address, 0)) for address in found]

        self.assertEqual(
            await self.names(resolve).look_up("a.net"), ["1.1.1.2", "fe80::1%2"]
        )
        options = {"type": socket.SOCK_STREAM}
        self.assertEqual(asked, [("a.net", None, options, True)])

    async def test_unknown(self) -> None:
        """What can't be resolved has no address."""
        resolve = mock.Mock(side_effect=socket.gaierror)
        self.assertEqual(await self.names(resolve).look_up("a.net"), [])
        self.assertEqual(await self.names().look_up("a" * 64 + ".net"), [])

    async def test_attack_look_ups_that_hang(self) -> None:
        """They are bounded; others wait, but for those of one page at its rate."""
        of_a_page = limits.RATE_BURST + 10 * limits.RATE_PER_SECOND
        self.assertGreater(limits.OUTBOUND_LOOK_UPS, of_a_page)
        go_on = threading.Event()
        self.patch(client, "OUTBOUND_LOOK_UPS", 1)
        asked: list[str] = []

        def resolve(host: str, *args: object, **kwargs: object) -> Any:
            asked.append(host)
            go_on.wait()
            return []

        system = self.names(resolve)
        hanging, joined = system.look_up("a.net"), system.look_up("a.net")
        waiting = [system.look_up(name) for name in ("b.net", "b.net", "c.net")]
        for one in (hanging, waiting[0], waiting[2]):
            one.cancel()
            await self.assertFailure(one, CancelledError)
        # Cancelled, but its thread is still there.
        self.assertEqual((list(system._under_way), asked), (["a.net"], ["a.net"]))
        go_on.set()
        self.assertEqual([await joined, await waiting[1]], [[], []])
        self.assertEqual(asked, ["a.net", "b.net"])
        self.assertEqual((system._under_way, system._waiting), ({}, {}))

    async def test_no_more_threads(self) -> None:
        """Without room for a thread a look-up fails, and takes up no place for good."""
        self.patch(client, "OUTBOUND_LOOK_UPS", 1)
        system = self.names(lambda *_, **__: [])
        full = mock.patch.object(threading.Thread, "start", side_effect=RuntimeError)
        for _ in range(2):
            with full:
                waiting = system.look_up("a.net")
            error = await self.assertFailure(waiting, BridgeError)
            self.assertIn("no room for another thread", error.message)
        self.assertEqual(await system.look_up("a.net"), [])
