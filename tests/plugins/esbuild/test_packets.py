"""The packets of the bundler's service."""

import struct

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.esbuild import packets

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


def response(number: int, value: object) -> bytes:
    """The packet of a response."""
    return packets.packet(number, value, is_response=True)


class PacketTests(SynchronousTestCase):
    @given(NUMBERS, st.booleans(), VALUES)
    def test_round_trip(self, number: int, is_response: bool, value: object) -> None:
        """What is written is read."""
        written = packets.packet(number, value, is_response=is_response)
        [body, rest] = packets.take_packet(bytearray(written + b"more"))
        self.assertEqual((body, rest), (written[4:], b"more"))
        self.assertEqual(
            packets.read_packet(body), packets.Packet(number, is_response, value)
        )
        # What is not there whole is left.
        for end in (3, 4, len(written) - 1):
            received = bytearray(written[:end])
            self.assertIsNone(packets.take_packet(received))
            self.assertEqual(received, written[:end])

    def test_without_copies(self) -> None:
        """Bytes are views of what was received: copies of megabytes take long."""
        received = bytearray(response(1, [b"abc"]))
        [body, _] = packets.take_packet(received)
        self.assertIs(packets.read_packet(body).value[0].obj, received)

    @given(NUMBERS, VALUES, st.data())
    def test_attack_truncated(self, number, value, data):
        """A packet that is cut, or goes on, is refused."""
        body = response(number, value)[4:]
        end = data.draw(st.integers(0, len(body) - 1))
        self.assertRaises(packets.PacketError, packets.read_packet, body[:end])
        self.assertRaises(packets.PacketError, packets.read_packet, body + b"\0")

    @given(st.binary(max_size=60))
    def test_attack_garbage(self, body: bytes) -> None:
        """Any bytes are a packet or are refused."""
        try:
            read = packets.read_packet(body)
        except packets.PacketError:
            return
        again = packets.packet(read.number, read.value, is_response=read.is_response)
        self.assertEqual(packets.read_packet(again[4:]), read)

    def test_attack_counts(self) -> None:
        """A count of more than there is makes nothing, and an unknown kind neither."""
        head = struct.pack("<I", 1)
        for kind in (3, 4, 5, 6):
            body = head + bytes([kind]) + b"\xff\xff\xff\xff"
            self.assertRaises(packets.PacketError, packets.read_packet, body)
        self.assertRaises(
            packets.PacketError, packets.read_packet, head + b"\x07" + b"\0" * 8
        )

    def test_attack_nesting(self) -> None:
        """Lists in lists without end are refused."""
        body = struct.pack("<I", 1) + (b"\x05" + struct.pack("<I", 1)) * 5_000 + b"\0"
        self.assertRaises(packets.PacketError, packets.read_packet, body)

    def test_any_text(self) -> None:
        """A message may quote a source that is no UTF-8."""
        body = struct.pack("<I", 1) + b"\x03" + struct.pack("<I", 1) + b"\xff"
        self.assertEqual(packets.read_packet(body), packets.Packet(0, True, "\ufffd"))
