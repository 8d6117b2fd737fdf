"""
Unmasks the frames of a page (RFC 6455, 5.3) cheaply, because every byte is masked.

Autobahn's wheel has a function for it in C.  Its Python module takes 50 ms to load, so
the function is called directly.  See docs/decisions/0018.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Final, TypeAlias

Unmask: TypeAlias = Callable[[bytes, bytes, int], bytes]
"""
Unmasks a piece of a frame: the piece, the frame's mask of four bytes, and where in the
frame the piece begins.
"""

_EVERY_BYTE: Final = int.from_bytes(bytes(range(256)))


@cache
def _xor_table(byte: int) -> bytes:
    """Return what each byte becomes when it is XORed with ``byte``."""
    return (_EVERY_BYTE ^ int.from_bytes(bytes([byte]) * 256)).to_bytes(256)


def translated(payload: bytes, mask: bytes, offset: int) -> bytes:
    """Unmask in Python: in linear time, whatever the content."""
    plain = bytearray(len(payload))
    for i in range(4):
        table = _xor_table(mask[(offset + i) % 4])
        plain[i::4] = payload[i::4].translate(table)
    return bytes(plain)


def native() -> Unmask | None:
    """Return Autobahn's function as an ``Unmask``; ``None`` where it is missing."""
    try:
        module = import_module("_nvx_xormasker")
        from_buffer, library = module.ffi.from_buffer, module.lib
        new, free = library.nvx_xormask_new, library.nvx_xormask_free
        process = library.nvx_xormask_process
    except (ImportError, AttributeError):
        return None

    def unmask(payload: bytes, mask: bytes, offset: int) -> bytes:
        plain = bytearray(payload)
        start = offset % 4
        masker = new(from_buffer(mask[start:] + mask[:start]))
        process(masker, from_buffer(plain), len(plain))
        free(masker)
        return bytes(plain)

    return unmask


_longer: Final[Unmask] = native() or translated
_SHORT_BYTES: Final = 256


def unmasked(payload: bytes, mask: bytes, offset: int) -> bytes:
    """Unmask in the fastest way available; see ``Unmask``."""
    length = len(payload)
    if length > _SHORT_BYTES or offset:
        return _longer(payload, mask, offset)
    # Calling a function in C takes longer than one large integer.
    repeated = (mask * (length // 4 + 1))[:length]
    plain = int.from_bytes(payload) ^ int.from_bytes(repeated)
    return plain.to_bytes(length)
