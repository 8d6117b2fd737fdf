"""Tests for bridge.web.websocket.textframes; and that Autobahn reads the same."""

import os

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.web.websocket.textframes import (
    SHORT_BYTES,
    head,
    parse_text_frame,
)

from ...rawsocket import MASK, PING, TEXT, frame
from ..stack import Stack, cut_up, write_request
from ..test_requestscontract import UPGRADE
from .test_framing import HELLO, REQUEST, RawCase


class ReadTests(SynchronousTestCase):
    """What is read, and what is left to Autobahn."""

    def test_texts_in_a_row(self) -> None:
        """Each ends where the next begins, whatever its length."""
        for length in (0, 1, 125, 126, 257, 1000, 65535):
            payload = os.urandom(length).hex()[:length].encode("ascii")
            data = frame(TEXT, b"{}") + frame(TEXT, payload) + b"\x89"
            _, start = parse_text_frame(data, 0, 0) or (b"", 0)
            text, end = parse_text_frame(data, start, 0) or (b"", 0)
            self.assertEqual((text, end), (payload, len(data) - 1))
            self.assertIsNone(parse_text_frame(data, end, 0))

    def test_anything_else_is_left(self) -> None:
        """Pieces, control frames, other opcodes, extensions, no mask, a long one."""
        good = frame(TEXT, b"{}")
        for data in (
            b"",
            good[:1],
            good[:-1],
            *(bytes([first]) + good[1:] for first in (0x01, 0x80, 0x82, 0x89, 0xC1)),
            b"\x81\x02{}",
            b"\x81\xfe\x00\x02" + MASK + good[6:],
            b"\x81\xff" + (2).to_bytes(8) + MASK + good[6:],
        ):
            self.assertIsNone(parse_text_frame(data, 0, 0), data)

    def test_attack_longer_than_allowed(self) -> None:
        """The limit before hello holds here as well."""
        self.assertIsNotNone(parse_text_frame(frame(TEXT, b"x" * 9), 0, 9))
        self.assertIsNone(parse_text_frame(frame(TEXT, b"x" * 10), 0, 9))

    @given(st.binary(max_size=40))
    def test_any_payload(self, payload: bytes) -> None:
        """Whatever is UTF-8 is read as it was written."""
        found = parse_text_frame(frame(TEXT, payload), 0, 0)
        try:
            payload.decode("utf-8")
        except UnicodeDecodeError:
            self.assertIsNone(found)
        else:
            self.assertEqual(found, (payload, len(payload) + 6))


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

    @given(st.lists(st.integers(1, 60), max_size=6), st.integers(1, 4))
    @settings(deadline=None, max_examples=60)
    def test_however_it_is_cut(self, cuts: list[int], requests: int) -> None:
        """The answers are the same wherever the packets begin."""
        upgrade = write_request("GET", "/v1/ws", UPGRADE)
        data = HELLO + REQUEST * requests
        pieces = cut_up(data, cuts)
        self.assertEqual(Stack().raw(upgrade, *pieces), Stack().raw(upgrade, data))

    def test_answers_of_a_packet_are_one_write(self) -> None:
        """Their order among the rest is kept."""
        writes: list[bytes] = []
        self.patch(self.transport, "write", writes.append)
        self.receive(REQUEST * 3 + frame(PING, b"last") + REQUEST)
        self.assertEqual([one.count(b'"id":"7"') for one in writes], [3, 0, 1])
        self.assertIn(b"last", writes[1])

    def test_handler_that_fails(self) -> None:
        """A text that it failed with is not read again."""
        protocol, read = self.transport.protocol, list[bytes]()

        def fail(payload: bytes) -> None:
            read.append(payload)
            raise ZeroDivisionError

        self.receive(REQUEST)
        self.patch(protocol, "parse_text_frame", fail)
        for payload in (b"1", b"2"):
            self.assertRaises(ZeroDivisionError, self.receive, frame(TEXT, payload))
        self.assertEqual(read, [b"1", b"2"])
        self.assertEqual(protocol.data, b"")

    def test_large_answers_are_not_kept(self) -> None:
        """One that is longer than ``SHORT_BYTES`` is written at once."""
        protocol = self.transport.protocol
        protocol.send_piece(b"x" * (SHORT_BYTES + 1), True, True)
        self.assertGreater(len(self.transport.value()), SHORT_BYTES)
