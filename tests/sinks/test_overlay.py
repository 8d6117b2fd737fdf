"""Tests for bridge.sinks.overlay, with overlays that are as strict as the real ones."""

import json
import resource

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet import reactor
from twisted.internet.defer import maybeDeferred
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.settings.values import Address
from bridge.sinks import overlay
from bridge.sinks.fanout import (
    Health,
    Message,
    RejectedError,
    UnavailableError,
    notification,
)
from bridge.sinks.overlay import Overlay, datagram
from tests import strategies
from tests.contracts import SinkContract

from .overlays import Listener, wayvr, xsoverlay
from .samples import FULL, LEAST, png


def sent(**params) -> bytes:
    """Return the datagram of a caller's fields."""
    return datagram(notification(Message(title="Door", **params), "Sample"))


class DatagramTests(SynchronousTestCase):
    def test_both_overlays_show_it(self):
        for shows in (wayvr, xsoverlay):
            toast = shows(datagram(FULL))
            self.assertEqual(
                (toast.title, toast.content, toast.seconds, toast.has_sound),
                (FULL.title, FULL.content, 3.5, True),
            )
            self.assertEqual(shows(datagram(LEAST)).title, "Door")
            self.assertNotIn(b": ", datagram(LEAST))
        self.assertEqual(xsoverlay(datagram(FULL)).icon, png())

    def test_sound(self):
        """Muted is silent on both, and a sound that was asked for is heard on both."""
        for params, heard in (
            ({"sound": False}, False),
            ({"sound": False, "volume": 1, "audio_path": "error"}, False),
            ({"volume": 0}, False),
            ({"volume": 0, "sound": True}, False),
            ({"sound": True}, True),
            ({"sound": True, "volume": 0.2}, True),
            ({"volume": 0.3, "audio_path": "error"}, True),
        ):
            text = sent(**params)
            for shows in (wayvr, xsoverlay):
                self.assertEqual(shows(text).has_sound, heard, params)
            self.assertEqual("volume" in json.loads(text), heard)
        self.assertEqual(json.loads(sent(sound=True))["volume"], 0.7)
        self.assertEqual(json.loads(sent(volume=0.5)).get("audioPath"), None)
        self.assertNotIn("audioPath", json.loads(sent()))
        self.assertEqual(json.loads(sent(sound=False))["audioPath"], "")

    def test_attack_oversized_datagram(self):
        """What no datagram can hold is refused, to the byte."""
        room = 65_000 - len(datagram(evolve(LEAST, content="x"))) + 1
        self.assertEqual(len(datagram(evolve(LEAST, content="x" * room))), 65_000)
        with self.assertRaises(RejectedError):
            datagram(evolve(LEAST, content="x" * (room + 1)))

    def test_the_longest_text_is_not_lost(self):
        """The longest text of the widest characters fits the smallest buffer."""
        text = sent(content="😀" * 2000, source_app="😀" * 64)
        self.assertEqual(wayvr(text).content, "😀" * 2000)

    @given(
        st.fixed_dictionaries(
            {},
            optional={
                "content": st.text(strategies.characters, max_size=50),
                "timeout_secs": st.floats(0, 60) | st.integers(0, 60),
                "source_app": st.text('aé😀"\\ ', max_size=64),
                "sound": st.booleans(),
                "volume": st.floats(0, 1),
                "audio_path": st.sampled_from(["", "default", "error", "warning"]),
                "height": st.floats(16, 1024),
                "opacity": st.floats(0, 1),
                "always_show": st.booleans(),
                "icon": st.sampled_from(["", "error", "security-high", "logo.png"]),
            },
        )
    )
    def test_every_notification_is_shown(self, params):
        """Whatever is accepted, both show it, and open no file for it."""
        params["content"] = "".join(filter(str.isprintable, params.get("content", "")))
        for shows in (wayvr, xsoverlay):
            toast = shows(sent(**params))
            self.assertEqual((toast.title, toast.opened), ("Door", None))
            self.assertEqual(toast.content, params["content"])
        # Only the overlay's own names are sent: any other would be opened.
        named = {"icon": "error"} if params.get("icon") == "error" else {}
        given = json.loads(sent(**params)).items() & {("icon", params.get("icon"))}
        self.assertEqual(dict(given), named)


class SocketTests(SinkContract, TestCase):
    def setUp(self):
        self.listener, self.port = Listener.listen(reactor, self)

    def sink(self):
        sink = Overlay(reactor, Address("127.0.0.1", self.port))
        self.addCleanup(lambda: maybeDeferred(sink.close))
        return sink

    async def there(self, sink):
        sink.start()

    async def test_ipv6(self):
        """An overlay on ::1 is reached too."""
        listener, port = Listener.listen(reactor, self, "::1")
        sink = Overlay(reactor, Address("::1", port))
        self.assertEqual(sink.health(), Health.UNKNOWN)
        sink.start()
        self.addCleanup(sink.close)
        sink.deliver(LEAST)
        self.assertEqual(await listener.got.get(), datagram(LEAST))
        self.assertIn("[::1]:", sink.description)

    async def test_an_overlay_that_comes_later(self):
        """Nobody listening does no harm: the next notification arrives."""
        sink = Overlay(reactor, Address("127.0.0.1", self.port))
        sink.start()
        self.addCleanup(sink.close)
        # What others send to it is left unread: it could be without end.
        self.assertNotIn(sink._port, reactor.getReaders())
        gone = reactor.listenUDP(0, Listener(), interface="127.0.0.1")
        nobody = gone.getHost().port
        await gone.stopListening()
        there, sink._address = sink._address, Address("127.0.0.1", nobody)
        for _ in range(3):
            sink.deliver(LEAST)
        sink._address = there
        sink.deliver(LEAST)
        self.assertEqual(await self.listener.got.get(), datagram(LEAST))

    async def test_large_ones_are_noted(self):
        """What some overlays lose is delivered, and logged at debug level."""
        events = self.enterContext(capturedLogs())
        sink = self.sink()
        sink.start()
        large = evolve(LEAST, content="x" * 60_000)
        sink.deliver(large)
        self.assertEqual(await self.listener.got.get(), datagram(large))
        noted = [e for e in events if e["log_level"] == LogLevel.debug and "size" in e]
        self.assertEqual(len(noted), 1)

    def test_no_port(self):
        """Without a port it does not start, and fails as a sink does."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        for host in ("127.0.0.1", "::1"):
            sink = Overlay(reactor, Address(host, 1))
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
            try:
                self.assertRaises(UnavailableError, sink.start)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            self.assertFalse(sink.has_started)

    def test_the_system_refuses(self):
        """A datagram that the system does not send is a failure of this sink."""
        sink = self.sink()
        sink.start()
        # Nothing is routed from a loopback address to one of the documentation's.
        sink._address = Address("192.0.2.1", 9)
        self.assertRaises(UnavailableError, sink.deliver, LEAST)
        # One that is too long for the system alone is rejected.
        self.patch(overlay, "OVERLAY_BYTES", 70_000)
        large = evolve(LEAST, content="x" * 66_000)
        self.assertRaises(RejectedError, sink.deliver, large)
