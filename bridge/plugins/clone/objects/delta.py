"""Git's deltas: an object written as copies from another and new bytes."""

from __future__ import annotations

from typing import Final

from ..transfer import clone_failed

_SIZE_BYTES: Final = 8
_WHOLE_COPY: Final = 0x10000


class DeltaError(Exception):
    """The bytes are not a delta, or not one to this base."""


def declared_sizes(delta: bytes) -> tuple[int, int]:
    """
    Return the lengths that a delta declares for its base and its result.

    :raise DeltaError: It declares none.
    """
    base_size, at = _read_size(delta, 0)
    size, _ = _read_size(delta, at)
    return base_size, size


def apply_delta(base: bytes, delta: bytes, most_steps: int) -> tuple[bytes, int]:
    """
    Make the object a delta describes.

    :param most_steps: How many copies and insertions it may take.
    :return: The object, exactly as long as ``declared_sizes`` has it, and the steps
        it took.
    :raise DeltaError: The delta is damaged; it never makes more than it declares.
    :raise BridgeError: It takes too many steps.
    """
    base_size, at = _read_size(delta, 0)
    size, at = _read_size(delta, at)
    if base_size != len(base):
        raise DeltaError
    view = memoryview(base)
    made = bytearray()
    steps = 0
    while at < len(delta):
        if steps == most_steps:
            raise clone_failed("the pack from the host takes too long to unpack")
        steps += 1
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
            raise DeltaError
        made += piece
    if len(made) != size:
        raise DeltaError
    return bytes(made), steps


def _read_size(delta: bytes, at: int) -> tuple[int, int]:
    size = shift = 0
    for byte in delta[at : at + _SIZE_BYTES]:
        at += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return size, at
    raise DeltaError


def _read_copy(delta: bytes, code: int, at: int) -> tuple[int, int, int]:
    # A bit for each byte that follows: four of the start, three of the length.
    parts = 0
    for bit in range(7):
        if code & 1 << bit:
            if at == len(delta):
                raise DeltaError
            parts |= delta[at] << 8 * bit
            at += 1
    return parts & 0xFFFFFFFF, parts >> 32 or _WHOLE_COPY, at
