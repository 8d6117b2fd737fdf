import math
import struct
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.osc.packets import Argument, Kind, Message, UnreadableError, decode, encode

FREQUENCY = bytes.fromhex(
    "2f6f7363696c6c61746f722f342f6672657175656e6379002c66000043dc0000"
)
FOO = bytes.fromhex(
    "2f666f6f000000002c69697366660000000003e8ffffffff68656c6c6f0000003f9df3b640b5b22d"
)
NOW = b"\0\0\0\0\0\0\0\1"


def bundle(*elements: bytes) -> bytes:
    """Write a bundle by hand."""
    sized = b"".join(len(e).to_bytes(4, "big") + e for e in elements)
    return b"#bundle\0" + NOW + sized


def padded(text: bytes) -> bytes:
    """Write a string as OSC does."""
    return text + b"\0" * (4 - len(text) % 4)


ADDRESSES = st.from_regex(r"/[a-zA-Z0-9_/.~-]{0,60}", fullmatch=True)
TEXTS = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40
)
ARGUMENTS = st.one_of(
    st.booleans().map(lambda v: Argument(Kind.BOOL, v)),
    st.integers(-(2**31), 2**31 - 1).map(lambda v: Argument(Kind.INT, v)),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(
        lambda v: Argument(Kind.FLOAT, v)
    ),
    TEXTS.map(lambda v: Argument(Kind.STRING, v)),
)
MESSAGES = st.builds(Message, ADDRESSES, st.lists(ARGUMENTS, max_size=32))


def nested(depth: int) -> bytes:
    """Write a message in that many bundles."""
    packet = FREQUENCY
    for _ in range(depth):
        packet = bundle(packet)
    return packet


class PacketTests(SynchronousTestCase):
    @given(MESSAGES)
    def test_round_trip(self, message: Message) -> None:
        """What is written is read again, and is of whole words."""
        packet = encode(message)
        self.assertEqual(len(packet) % 4, 0)
        self.assertEqual(decode(packet), [message])

    @given(st.recursive(MESSAGES, lambda inner: st.lists(inner, max_size=3)))
    def test_bundles_are_flattened(self, tree: Message | Sequence[Message]) -> None:
        """The messages of a bundle, and of those in it, come in their order."""

        def write(node: Message | Sequence[Message]) -> bytes:
            if isinstance(node, Message):
                return encode(node)
            return bundle(*map(write, node))

        def flat(node: Message | Sequence[Message]) -> list[Message]:
            if isinstance(node, Message):
                return [node]
            return [message for inner in node for message in flat(inner)]

        packet = write(tree)
        if len(packet) <= 8192 and packet.count(b"#bundle") <= 8:
            self.assertEqual(decode(packet), flat(tree))

    def test_every_type(self) -> None:
        """Numbers are those that pages read exactly, or strings; the rest is other."""
        tags = b",hhhdffSbtcrmNI[i[s]]T"
        values = (
            struct.pack(">qqqd", 1 - 2**53, 2**53, -(2**63), 0.1)
            + struct.pack(">ff", math.nan, math.inf)
            + padded(b"sym")
            + struct.pack(">i4s", 3, b"abc")
            + bytes(8 + 4 + 4 + 4)
            + struct.pack(">i", 7)
            + padded(b"x")
        )
        (message,) = decode(padded(b"/a") + padded(tags) + values)
        other = Argument(Kind.OTHER, None)
        self.assertEqual(
            message.args,
            [
                Argument(Kind.INT, 1 - 2**53),
                Argument(Kind.INT, "9007199254740992"),
                Argument(Kind.INT, "-9223372036854775808"),
                Argument(Kind.FLOAT, 0.1),
                *[other] * 2,
                Argument(Kind.STRING, "sym"),
                *[other] * 8,
                Argument(Kind.BOOL, True),
            ],
        )

    def test_no_type_tags(self) -> None:
        """A message may end after its address."""
        self.assertEqual(decode(b"/a\0\0"), [Message("/a", [])])

    def refused(self, *packets: bytes) -> None:
        """Check that none of the packets is read."""
        for packet in packets:
            self.assertRaises(UnreadableError, decode, packet)

    def test_broken_packets(self) -> None:
        """What is not whole, or not OSC, is refused as a whole."""
        self.refused(b"", b"\0\0\0\0", b"/a", b"a\0\0\0", b"/\xff\0\0", b"{}")
        self.refused(b"/a\0\0i\0\0\0", b"/a\0\0,i\0\0", b"/a\0\0,f\0\0\0")
        self.refused(b"/a\0\0,x\0\0", b"/a\0\0,[\0\0", b"/a\0\0,]\0\0", b"/a\0\0,s\0\0")
        self.refused(FOO[:-1], bundle(FOO, FOO[:-4]), bundle(FOO)[:-4], bundle(b""))
        self.refused(b"#bundle\0" + NOW + struct.pack(">i", len(FOO) + 4) + FOO)
        self.refused(b"#bundle\0", b"#bundle\0" + NOW[:-1], bundle(FOO) + b"\0")

    def test_attack_element_of_negative_size(self) -> None:
        """A bundle that leads back into itself ends, where python-osc's would not."""
        for size in (-4, -1, -(2**31)):
            self.refused(b"#bundle\0" + NOW + struct.pack(">i", size))

    def test_attack_blob_of_negative_size(self) -> None:
        """A blob that leads back to a long string does not have it read again."""
        text = padded(b"x" * 4000)
        blob = struct.pack(">i", -len(text))
        packet = padded(b"/a") + padded(b",s" + b"bs" * 15) + text + blob
        self.refused(packet)
        for size in (-4, -3, -1):
            self.refused(padded(b"/a") + padded(b",b") + struct.pack(">i", size))

    def test_attack_nested_bundles(self) -> None:
        """Eight levels are read; more are not."""
        self.assertEqual(len(decode(nested(8))), 1)
        self.refused(nested(9), nested(300))

    def test_attack_many_arguments(self) -> None:
        """More arguments than may be sent are not received, with bytes or without."""
        self.assertEqual(len(decode(b"/a\0\0" + padded(b"," + b"T" * 32))[0].args), 32)
        self.refused(b"/a\0\0" + padded(b"," + b"T" * 33))
        self.refused(b"/a\0\0" + padded(b"," + b"[" * 4000 + b"]" * 4000))

    def test_attack_large_datagram(self) -> None:
        """A datagram over 8192 bytes is not looked at."""
        large = Message("/a", [Argument(Kind.STRING, "x" * 8183)])
        self.assertEqual(decode(encode(large)), [large])
        self.refused(encode(Message("/a", [Argument(Kind.STRING, "x" * 8184)])))

    @given(st.binary(max_size=400))
    @settings(max_examples=500)
    def test_attack_any_bytes(self, packet: bytes) -> None:
        """Whatever comes is read, or refused in the one way."""
        for start in (b"", b"/a\0\0", b"/a\0\0,", b"#bundle\0" + NOW):
            self.survives(start + packet)

    def survives(self, packet: bytes) -> None:
        """Read a packet; nothing but the one refusal may happen."""
        try:
            messages = decode(packet)
        except UnreadableError:
            return
        self.assertTrue(all(m.address.startswith("/") for m in messages))
