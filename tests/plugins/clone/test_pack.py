import tracemalloc
import zlib
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.pack import (
    _WINDOW_BYTES,
    Budget,
    DamagedError,
    Unpacked,
    apply_delta,
    unpack,
)
from bridge.protocol import limits
from bridge.protocol.errors import BridgeError

from .packs import (
    BLOB,
    BY_NAME,
    BY_OFFSET,
    back,
    blob,
    copy,
    delta,
    entry,
    entry_head,
    insert,
    make_pack,
    packed,
)

BASE = blob(b"0123456789")
PATCH = delta(10, 13, copy(0, 10), insert(b"abc"))
PATCHED = blob(b"0123456789abc")
DAMAGED = "clone_failed: the pack from the host is damaged"


def take(pack: bytes, **changed: int) -> Unpacked:
    """Unpack within limits."""
    with mock.patch.dict(vars(limits), changed):
        return unpack(pack, limits.CLONE_OBJECTS, lambda: None)


class UnpackTests(SynchronousTestCase):
    def test_chain_of_waiting_deltas(self) -> None:
        """Deltas that wait for one another are made when the first base comes."""
        patch = delta(13, 14, copy(0, 13), insert(b"!"))
        last = blob(b"0123456789abc!")
        pack = make_pack(
            entry(BY_NAME, patch, PATCHED.name),
            entry(BY_NAME, PATCH, BASE.name),
            packed(BASE),
        )
        unpacked = take(pack)
        self.assertIn(last.name, unpacked.objects)
        self.assertEqual(len(unpacked.index), 3)

    def test_check_is_called(self) -> None:
        """What ``check`` raises ends it."""
        check = mock.Mock(side_effect=KeyboardInterrupt)
        pack = make_pack(packed(BASE))
        self.assertRaises(KeyboardInterrupt, unpack, pack, 1, check)


class HostilePackTests(SynchronousTestCase):
    def message(self, pack: bytes, **changed: int) -> str:
        return str(self.assertRaises(BridgeError, take, pack, **changed).message)

    def test_attack_damaged(self) -> None:
        """What is no pack, or lies about what it holds, is damaged."""
        good = make_pack(packed(BASE))
        first = packed(BASE)
        changed = bytearray(good)
        changed[15] ^= 1
        lost, also_lost = (entry(BY_NAME, PATCH, bytes([n]) * 20) for n in (1, 2))
        for what, pack in (
            ("something else", b""),
            ("something else", b"PACK"),
            ("something else", b"x" * 100),
            ("another version", b"PACK\0\0\0\3" + bytes(40)),
            ("a changed byte", bytes(changed)),
            ("more objects than it declares", make_pack(first, count=0)),
            ("fewer objects", make_pack(first, count=2)),
            *(
                ("another size", make_pack(entry(BLOB, BASE.content, size=size)))
                for size in (9, 11, 0)
            ),
            ("a size without an end", make_pack(b"\xb0" + b"\xff" * 30)),
            ("a kind git does not have", make_pack(entry(0, b"x"))),
            ("a kind git does not have", make_pack(entry(5, b"x"))),
            ("not compressed", make_pack(entry_head(BLOB, 5) + b"hello")),
            ("cut off", make_pack(entry(BLOB, BASE.content)[:-6])),
            *(
                ("a base elsewhere", make_pack(first, entry(BY_OFFSET, PATCH, where)))
                for where in (back(0), back(5), back(100), b"\xff" * 20)
            ),
            ("a base that was not sent", make_pack(first, lost)),
            ("deltas that wait for each other", make_pack(lost, also_lost)),
            ("an object twice", make_pack(first, first)),
            ("no delta", make_pack(first, entry(BY_OFFSET, b"", back(len(first))))),
        ):
            self.assertEqual(self.message(pack), DAMAGED, what)

    def test_attack_many_objects_claimed(self) -> None:
        """A header that claims too many is refused at once."""
        pack = make_pack(packed(BASE), count=0xFFFFFFFF)
        self.assertEqual(self.message(pack), "clone_failed: more than 5000 objects")

    def test_attack_hidden_bomb(self) -> None:
        """A bomb that claims to be small is inflated by no more than it claims."""
        bomb = entry(BLOB, bytes(64 * 1024 * 1024), size=10)
        # A block that fills what is read at once, and is one byte more than claimed.
        block = (_WINDOW_BYTES - 7).to_bytes(2, "little")
        rest = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        late = b"".join(
            [
                entry_head(BLOB, _WINDOW_BYTES - 8),
                b"\x78\x01\0" + block + bytes(byte ^ 0xFF for byte in block),
                bytes(_WINDOW_BYTES - 7),
                rest.compress(bytes(64 * 1024 * 1024)) + rest.flush(),
            ]
        )
        for one in (bomb, late):
            pack = make_pack(one)
            tracemalloc.start()
            try:
                self.assertEqual(self.message(pack), DAMAGED)
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            self.assertLess(peak, 1024 * 1024)

    def test_attack_large_objects(self) -> None:
        """What all objects declare together is limited."""
        made = [packed(blob(bytes([n]) * 1000)) for n in range(10)]
        self.assertEqual(
            len(take(make_pack(*made), CLONE_UNPACKED_BYTES=10_000).index), 10
        )
        message = self.message(make_pack(*made), CLONE_UNPACKED_BYTES=9_999)
        self.assertEqual(
            message, "clone_failed: the repository is too large when unpacked"
        )

    def test_attack_delta_bomb(self) -> None:
        """Deltas that multiply are refused before the first of them is too large."""
        content, entries, size = blob(bytes(1000)), [], 1000
        entries.append(packed(content))
        for _ in range(3):
            patch = delta(size, size * 100, *[copy(0, size)] * 100)
            entries.append(entry(BY_OFFSET, patch, back(len(entries[-1]))))
            size *= 100
        message = self.message(make_pack(*entries))
        self.assertIn("too large when unpacked", message)

    def test_attack_delta_steps(self) -> None:
        """The steps of all deltas together are limited."""
        first = packed(BASE)
        patch = delta(10, 100, *[insert(b"x")] * 100)
        pack = make_pack(first, entry(BY_OFFSET, patch, back(len(first))))
        self.assertIn("takes too long", self.message(pack, CLONE_DELTA_STEPS=99))
        self.assertEqual(len(take(pack, CLONE_DELTA_STEPS=100).index), 2)

    @given(st.binary(max_size=80), st.integers(0, 3))
    def test_attack_any_bytes(self, raw: bytes, count: int) -> None:
        """Any bytes are a pack or are refused as one."""
        try:
            take(make_pack(raw, count=count))
        except BridgeError as e:
            self.assertIn("clone_failed: ", e.message)

    @given(st.integers(0, 200), st.integers(0, 255))
    def test_attack_any_changed_byte(self, at: int, byte: int) -> None:
        """A pack with any byte changed, its checksum right, is read or refused."""
        first = packed(BASE)
        body = bytearray(first + entry(BY_OFFSET, PATCH, back(len(first))))
        body[at % len(body)] = byte
        try:
            take(make_pack(bytes(body), count=2))
        except BridgeError as e:
            self.assertIn("clone_failed: ", e.message)


TEXT = bytes(range(256)) * 300


class ApplyDeltaTests(SynchronousTestCase):
    def made(self, size: int, *steps: bytes) -> bytes:
        return apply_delta(TEXT, delta(len(TEXT), size, *steps), Budget(size, 9))

    def test_short_forms(self) -> None:
        """Bytes of a copy that are left out are zero; no length means 64 KiB."""
        self.assertEqual(self.made(0x10000, b"\x80"), TEXT[:0x10000])
        self.assertEqual(self.made(2, b"\x92\x01\x02"), TEXT[256:258])
        self.assertEqual(self.made(0), b"")

    def test_attack_broken(self) -> None:
        """A delta that breaks its own rules is refused, at the next byte."""
        size = len(TEXT)
        for what, raw in (
            ("another base", delta(size + 1, 3, insert(b"new"))),
            ("more than declared", delta(size, 10, *[copy(0, 60000)] * 900)),
            ("less than declared", delta(size, 4, insert(b"new"))),
            ("outside the base", delta(size, 10, copy(size - 5, 10))),
            ("outside the base", delta(size, 10, copy(0xFFFFFFFF, 10))),
            ("git's reserved step", delta(size, 0, b"\0")),
            ("cut off", delta(size, 3, insert(b"new")[:2])),
            ("cut off", delta(size, 3, copy(0, 3)[:4])),
            ("cut off", b""),
            ("no end of a size", b"\x80" * 20),
        ):
            with self.assertRaises(DamagedError, msg=what):
                apply_delta(TEXT, raw, Budget(1000, 1000))
