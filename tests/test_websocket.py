"""Tests for bridge.websocket; and that Autobahn reads the same."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.websocket import head, parse_text_frame

from .rawsocket import TEXT, frame
from .web.websocket.test_socket import REQUEST, RawCase


class ReadTests(SynchronousTestCase):
    def test_attack_longer_than_allowed(self) -> None:
        """The limit before hello holds here as well."""
        self.assertIsNotNone(parse_text_frame(frame(TEXT, b"x" * 9), 0, 9))
        self.assertIsNone(parse_text_frame(frame(TEXT, b"x" * 10), 0, 9))


class HeadTests(SynchronousTestCase):
    """The heads of what is sent (RFC 6455, 5.2)."""

    def test_lengths(self) -> None:
        """The length takes as few bytes as it can."""
        self.assertEqual(head(125, True, True), b"\x81\x7d")
        self.assertEqual(head(126, True, True), b"\x81\x7e\x00\x7e")
        self.assertEqual(head(65535, True, True), b"\x81\x7e\xff\xff")
        self.assertEqual(head(65536, True, True), b"\x81\x7f" + (65536).to_bytes(8))

    def test_pieces(self) -> None:
        """Only the first is a text, and only the last is final."""
        for first, last, kind in (
            (True, True, 0x81),
            (True, False, 0x01),
            (False, True, 0x80),
            (False, False, 0x00),
        ):
            self.assertEqual(head(1, first, last)[0], kind)


class SameTests(RawCase):
    """A frame that is read here, and the same one in pieces, which Autobahn reads."""

    def test_handler_that_fails(self) -> None:
        """A text that it failed with is not read again."""
        protocol, read = self.transport.protocol, list[bytes]()

        def fail(payload: bytes, isBinary: bool) -> None:
            read.append(payload)
            raise ZeroDivisionError

        self.receive(REQUEST)
        self.patch(protocol, "onMessage", fail)
        for payload in (b"1", b"2"):
            self.assertRaises(ZeroDivisionError, self.receive, frame(TEXT, payload))
        self.assertEqual(read, [b"1", b"2"])
        self.assertEqual(protocol.data, b"")
