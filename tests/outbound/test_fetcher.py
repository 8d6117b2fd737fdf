"""Tests for bridge.outbound.fetcher: how many at once, and the end of the daemon."""

from __future__ import annotations

from twisted.internet import reactor
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.task import deferLater

from bridge.outbound import fetcher
from bridge.protocol.errors import BridgeError, Code
from bridge.rpc.caller import Program

from .servers import HERE, OutboundCase, responding, sending

STOPPING = (Code.UNAVAILABLE, "the daemon is stopping")


class AtOnceTests(OutboundCase):
    """Tests for the bounds."""

    async def test_attack_many_fetches(self):
        """A caller has so many at once, and all callers together."""
        self.patch(fetcher, "OUTBOUND_AT_ONCE", 3)
        self.patch(fetcher, "OUTBOUND_AT_ONCE_PER_CALLER", 2)
        port = self.serve(lambda visit: None)
        one, other = Program(), Program()
        fetching = self.fetcher()
        wanted = {"url": f"http://{HERE}:{port}/"}
        held = [self.calling(wanted, fetching, caller) for caller in (one, one, other)]
        for caller, words in ((one, "at most 2 fetches"), (other, "too many fetches")):
            error = await self.assertFailure(
                self.calling(wanted, fetching, caller), BridgeError
            )
            self.assertEqual(error.code, Code.UNAVAILABLE)
            self.assertIn(words, error.message)
        while len(self.server.visits) < 3:
            await deferLater(reactor, 0.01)
        self.server.visits[0].ok(b"x")
        await DeferredList(held, fireOnOneCallback=True)
        again = self.calling(wanted, fetching, one)
        while len(self.server.visits) < 4:
            await deferLater(reactor, 0.01)
        await fetching.close()
        ended = await DeferredList([*held, again], consumeErrors=True)
        self.assertEqual([ok for ok, _ in ended].count(True), 1)


class EndTests(OutboundCase):
    """Tests for the end of the daemon; trial checks that nothing is left."""

    async def assert_ends(self, held: Deferred[object], fetching) -> None:
        """Close a fetcher, and check how a fetch ends."""
        await fetching.close()
        error = await self.assertFailure(held, BridgeError)
        self.assertEqual((error.code, error.message), STOPPING)
        error = await self.assertFailure(
            self.calling({"url": "http://1.1.1.1/"}, fetching), BridgeError
        )
        self.assertEqual((error.code, error.message), STOPPING)

    async def test_at_every_step(self):
        """A fetch is ended while it looks up, waits for a head, and reads a body."""
        hanging: Deferred[list[str]] = Deferred()
        fetching = self.fetcher(lambda host: hanging)
        await self.assert_ends(
            self.calling({"url": "http://a.net/"}, fetching), fetching
        )
        for start in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"):
            port = self.serve(sending(start))
            fetching = self.fetcher()
            held = self.calling({"url": f"http://{HERE}:{port}/"}, fetching)
            while not (self.server.visits and self.server.visits[0].answered):
                await deferLater(reactor, 0.01)
            await deferLater(reactor, 0.05)
            await self.assert_ends(held, fetching)

    async def test_while_it_connects(self):
        """A fetch is ended while it waits for a connection."""
        self.allowed.add(("192.0.2.1", 81))
        fetching = self.fetcher()
        held = self.calling({"url": "http://192.0.2.1:81/"}, fetching)
        await fetching.close()
        await self.assertFailure(held, BridgeError)

    async def test_nothing_under_way(self):
        """Nothing has to be waited for."""
        fetching = self.fetcher()
        self.successResultOf(fetching.close())

    async def test_a_caller_that_goes_away(self):
        """Its fetch goes on: the server is not told of it."""
        caller = Program()
        ended: list[object] = []
        self.patch(Program, "at_end", lambda self, call: ended.append(call))
        port = self.serve(responding(b"x"))
        await self.calling({"url": f"http://{HERE}:{port}/"}, None, caller)
        self.assertEqual(ended, [])
