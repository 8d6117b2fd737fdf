"""The packets of the bundler's service."""

from __future__ import annotations

import struct
import subprocess

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.esbuild.pins import VERSION
from bridge.plugins.policy.reader.encoding import (
    Encoded,
    PacketError,
    encoded,
    read_response,
    request,
    response,
)

from ....npm import esbuild

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(0, 2**32 - 1)
    | st.text(st.characters(codec="utf-8"))
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=20,
)
NUMBERS = st.integers(0, 2**31 - 1)


class PacketTests(SynchronousTestCase):
    """Values, there and back."""

    @given(NUMBERS, VALUES)
    def test_round_trip(self, number: int, value: object) -> None:
        """What is written is read."""
        packet = response(number, value)
        self.assertEqual(int.from_bytes(packet[:4], "little"), len(packet) - 4)
        self.assertEqual(read_response(packet[4:]), (number, value))

    @given(NUMBERS, st.dictionaries(st.just("a"), VALUES, min_size=1))
    def test_encoded(self, number: int, value: dict[str, object]) -> None:
        """A value that was encoded before is written the same."""
        before: dict[str, object] = {"a": encoded(value["a"])}
        self.assertIsInstance(before["a"], Encoded)
        self.assertEqual(request(number, before), request(number, value))

    @given(NUMBERS, VALUES, st.data())
    def test_attack_truncated(
        self, number: int, value: object, data: st.DataObject
    ) -> None:
        """A packet that is cut, or goes on, is refused."""
        packet = response(number, value)[4:]
        end = data.draw(st.integers(0, len(packet) - 1))
        self.assertRaises(PacketError, read_response, packet[:end])
        self.assertRaises(PacketError, read_response, packet + b"\0")

    @given(st.binary(max_size=60))
    def test_attack_garbage(self, body: bytes) -> None:
        """Any bytes are a response or are refused."""
        try:
            number, value = read_response(body)
        except PacketError:
            return
        self.assertEqual(read_response(response(number, value)[4:]), (number, value))

    def test_attack_counts(self) -> None:
        """A count of more than there is makes nothing, and an unknown kind neither."""
        head = struct.pack("<I", 1)
        for kind in (3, 4, 5, 6):
            body = head + bytes([kind]) + b"\xff\xff\xff\xff"
            self.assertRaises(PacketError, read_response, body)
        self.assertRaises(PacketError, read_response, head + b"\x07" + b"\0" * 8)

    def test_attack_nesting(self) -> None:
        """Lists in lists without end are refused."""
        body = struct.pack("<I", 1) + (b"\x05" + struct.pack("<I", 1)) * 5_000 + b"\0"
        self.assertRaises(PacketError, read_response, body)

    def test_requests(self) -> None:
        """A request is no response."""
        packet = request(3, {"a": 1})
        self.assertRaises(PacketError, read_response, packet[4:])

    def test_any_text(self) -> None:
        """A message may quote a source that is no UTF-8."""
        body = struct.pack("<I", 1) + b"\x03" + struct.pack("<I", 1) + b"\xff"
        self.assertEqual(read_response(body), (0, "\ufffd"))


class ServiceTests(SynchronousTestCase):
    """The bytes of the real service."""

    def test_real_bytes(self) -> None:
        """The pinned version speaks this protocol, byte for byte."""
        value = {"command": "ping"}
        run = subprocess.run(
            [esbuild(), f"--service={VERSION}"],
            input=request(7, value),
            capture_output=True,
            check=False,
            env={},
            timeout=60,
        )
        greeting = struct.pack("<I", len(VERSION)) + VERSION.encode()
        answered = response(7, {"error": "Invalid command: ping"})
        self.assertEqual(run.stdout, greeting + answered)
