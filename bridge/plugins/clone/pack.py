"""
Unpacks git packs within limits.

Every size a pack declares is drawn from one budget before a byte of it is inflated,
and what is inflated must then be exactly that long; so a pack costs no more memory or
time than its limits allow, whatever it claims.
"""

from __future__ import annotations

import hashlib
import zlib
from collections import defaultdict
from collections.abc import Callable
from typing import Final

from attrs import field

from ...classes import define, frozen
from ...protocol import limits
from ...protocol.errors import clone_failed

_SIZE_BYTES: Final = 8
_WHOLE_COPY: Final = 0x10000


class DamagedError(Exception):
    """The bytes are not a pack, or not a delta to this base."""


@define
class Budget:
    """The bytes that may still be unpacked, and the steps that deltas may take."""

    bytes_left: int
    steps_left: int

    def spend(self, size: int) -> None:
        """Unpack so many bytes."""
        self.bytes_left -= size
        if self.bytes_left < 0:
            raise clone_failed("the repository is too large when unpacked")


def apply_delta(base: bytes, delta: bytes, budget: Budget) -> bytes:
    """
    Make the object a delta describes.

    :param budget: What it takes is drawn from that: the bytes that it declares before
        any is made, and a step for each copy or insertion.
    :raise DamagedError: The delta is damaged; it never makes more than it declares.
    :raise BridgeError: It takes too many bytes or steps.
    """
    base_size, at = _read_size(delta, 0)
    size, at = _read_size(delta, at)
    if base_size != len(base):
        raise DamagedError
    budget.spend(size)
    view = memoryview(base)
    made = bytearray()
    while at < len(delta):
        if not budget.steps_left:
            raise clone_failed("the pack from the host takes too long to unpack")
        budget.steps_left -= 1
        code = delta[at]
        at += 1
        if code & 0x80:
            start, length, at = _read_copy(delta, code, at)
            piece: bytes | memoryview = view[start : start + length]
        else:
            length = code
            piece = delta[at : at + length]
            at += length
        if not length or len(piece) != length or len(made) + length > size:
            raise DamagedError
        made += piece
    if len(made) != size:
        raise DamagedError
    return bytes(made)


def _read_size(data: bytes | memoryview, at: int) -> tuple[int, int]:
    size = shift = 0
    for byte in data[at : at + _SIZE_BYTES]:
        at += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return size, at
    raise DamagedError


def _read_copy(delta: bytes, code: int, at: int) -> tuple[int, int, int]:
    # A bit for each byte that follows: four of the start, three of the length.
    parts = 0
    for bit in range(7):
        if code & 1 << bit:
            if at == len(delta):
                raise DamagedError
            parts |= delta[at] << 8 * bit
            at += 1
    return parts & 0xFFFFFFFF, parts >> 32 or _WHOLE_COPY, at


COMMIT: Final = "commit"
TREE: Final = "tree"
BLOB: Final = "blob"

_KINDS: Final = {1: COMMIT, 2: TREE, 3: BLOB, 4: "tag"}
_BASE_BY_OFFSET: Final = 6
_BASE_BY_NAME: Final = 7
_HEADER_BYTES: Final = 12
_NAME_BYTES: Final = 20
_WINDOW_BYTES: Final = 16 * 1024


@frozen
class PackedObject:
    """
    One object.

    :ivar kind: ``commit``, ``tree``, ``blob`` or ``tag``.
    """

    kind: str
    content: bytes


@frozen
class Unpacked:
    """
    The content of a pack.

    :ivar objects: By name, the 20 bytes of its SHA-1; computed, not claimed.
    :ivar index: The name of each, its place in the pack, and the CRC-32 of what is
        there: what the index file has.
    :ivar checksum: The pack's own, its last 20 bytes.
    """

    objects: dict[bytes, PackedObject]
    index: list[tuple[bytes, int, int]]
    checksum: bytes


@frozen
class _Entry:
    """An object as it stands in the pack: whole, or a delta to its base."""

    offset: int
    crc32: int
    kind: str
    base: int | bytes | None
    content: bytes


def unpack(pack: bytes, most: int, check: Callable[[], None]) -> Unpacked:
    """
    Unpack every object of a pack.

    :param most: How many there may be.
    :param check: Called between objects; may raise to end it.
    :raise BridgeError: It is damaged, incomplete, or over a limit.
    """
    try:
        return _unpack(pack, most, check)
    except (DamagedError, zlib.error, IndexError):
        raise clone_failed("the pack from the host is damaged") from None


def _unpack(pack: bytes, most: int, check: Callable[[], None]) -> Unpacked:
    count = _count(pack)
    if count > most:
        raise clone_failed(f"more than {most} objects")
    body, checksum = memoryview(pack)[:-_NAME_BYTES], pack[-_NAME_BYTES:]
    if hashlib.sha1(body, usedforsecurity=False).digest() != checksum:
        raise DamagedError
    budget = Budget(limits.CLONE_UNPACKED_BYTES, limits.CLONE_DELTA_STEPS)
    resolver = _Resolver(budget)
    offset = _HEADER_BYTES
    for _ in range(count):
        check()
        entry, offset = _read_entry(body, offset, budget)
        resolver.add(entry, check)
    if offset != len(body) or resolver.children:
        raise DamagedError
    return Unpacked(resolver.objects, resolver.index, checksum)


def _count(pack: bytes) -> int:
    if len(pack) < _HEADER_BYTES + _NAME_BYTES or pack[:8] != b"PACK\0\0\0\2":
        raise DamagedError
    return int.from_bytes(pack[8:_HEADER_BYTES], "big")


def _read_entry(body: memoryview, start: int, budget: Budget) -> tuple[_Entry, int]:
    code, size, offset = _read_head(body, start)
    base: int | bytes | None = None
    if code == _BASE_BY_OFFSET:
        distance, offset = _read_distance(body, offset)
        base = start - distance
    elif code == _BASE_BY_NAME:
        base = bytes(body[offset : offset + _NAME_BYTES])
        offset += _NAME_BYTES
    elif code not in _KINDS:
        raise DamagedError
    budget.spend(size)
    content, offset = _inflate(body, offset, size)
    crc32 = zlib.crc32(body[start:offset])
    return _Entry(start, crc32, _KINDS.get(code, ""), base, content), offset


def _read_head(body: memoryview, offset: int) -> tuple[int, int, int]:
    byte = body[offset]
    size, offset = byte & 15, offset + 1
    if byte & 0x80:
        more, offset = _read_size(body, offset)
        size |= more << 4
    return byte >> 4 & 7, size, offset


def _read_distance(body: memoryview, offset: int) -> tuple[int, int]:
    byte = body[offset]
    distance = byte & 0x7F
    for at in range(offset + 1, offset + _SIZE_BYTES):
        if not byte & 0x80:
            return distance, at
        byte = body[at]
        distance = (distance + 1) << 7 | byte & 0x7F
    raise DamagedError


def _inflate(body: memoryview, offset: int, size: int) -> tuple[bytes, int]:
    stream = zlib.decompressobj()
    pieces = []
    left = size
    while not stream.eof:
        window = body[offset : offset + _WINDOW_BYTES]
        # One byte more than there may be, to see it; and 0 would mean no limit.
        piece = stream.decompress(window, left + 1)
        used = len(window) - len(stream.unconsumed_tail) - len(stream.unused_data)
        left -= len(piece)
        offset += used
        if left < 0 or not (used or piece):
            raise DamagedError
        pieces.append(piece)
    if left:
        raise DamagedError
    return b"".join(pieces), offset


@define
class _Resolver:
    """
    Turns entries into objects, deltas as soon as their base is known.

    :ivar children: The deltas whose base is not known yet, by its place or its name.
    """

    _budget: Budget
    objects: dict[bytes, PackedObject] = field(factory=dict, init=False)
    index: list[tuple[bytes, int, int]] = field(factory=list, init=False)
    children: defaultdict[int | bytes, list[_Entry]] = field(
        factory=lambda: defaultdict(list), init=False
    )
    _by_offset: dict[int, bytes] = field(factory=dict, init=False)

    def add(self, entry: _Entry, check: Callable[[], None]) -> None:
        """Add an entry, and every one that was waiting for it."""
        if entry.base is not None and self._base(entry) is None:
            self.children[entry.base].append(entry)
            return
        todo = [entry]
        while todo:
            check()
            resolved = todo.pop()
            name = self._resolve(resolved)
            freed = self.children.pop(resolved.offset, [])
            freed += self.children.pop(name, [])
            todo += freed

    def _base(self, entry: _Entry) -> PackedObject | None:
        base = entry.base
        name = self._by_offset.get(base) if isinstance(base, int) else base
        return None if name is None else self.objects.get(name)

    def _resolve(self, entry: _Entry) -> bytes:
        made = PackedObject(entry.kind, entry.content)
        base = self._base(entry)
        if base is not None:
            patched = apply_delta(base.content, entry.content, self._budget)
            made = PackedObject(base.kind, patched)
        head = f"{made.kind} {len(made.content)}\0".encode("ascii")
        digest = hashlib.sha1(head, usedforsecurity=False)
        digest.update(made.content)
        name = digest.digest()
        if name in self.objects:
            raise DamagedError
        self.objects[name] = made
        self._by_offset[entry.offset] = name
        self.index.append((name, entry.offset, entry.crc32))
        return name
