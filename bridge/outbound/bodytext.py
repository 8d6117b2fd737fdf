"""
The bytes of a body to the text of an answer.

It runs in a thread, and in small steps: a body of 16 MiB must not hold the
interpreter long enough for the daemon to stall.
"""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterator, Sequence
from typing import Final

import orjson

from ..protocol.errors import BridgeError, Code
from ..protocol.limits import OUTBOUND_RESPONSE_BYTES, OUTBOUND_RESPONSE_JSON_BYTES

_STEP_BYTES: Final = 256 * 1024
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
_RAW: Final = -zlib.MAX_WBITS
_GZIP_MAGIC: Final = b"\x1f\x8b"
INFLATED: Final = frozenset({"gzip", "x-gzip", "deflate"})
"""The content codings that are understood (RFC 9110, section 8.4.1)."""


def too_large() -> BridgeError:
    """Return the refusal of a body that is too large."""
    message = f"the response: at most {OUTBOUND_RESPONSE_BYTES} bytes"
    return BridgeError(Code.BAD_REQUEST, message)


def _too_large_as_json() -> BridgeError:
    message = f"the response: at most {OUTBOUND_RESPONSE_JSON_BYTES} bytes as JSON"
    return BridgeError(Code.BAD_REQUEST, message)


def not_text() -> BridgeError:
    """Return the refusal of a body that is not text."""
    return BridgeError(Code.BAD_REQUEST, "the response: not text in UTF-8")


def unknown_coding() -> BridgeError:
    """Return the refusal of a body in a content coding that was not requested."""
    message = "the response: its Content-Encoding is neither gzip nor deflate"
    return BridgeError(Code.BAD_REQUEST, message)


def read_text(pieces: Sequence[bytes], inflated: bool) -> orjson.Fragment:
    """
    Read a body as strict UTF-8, whatever charset it claims.

    :param inflated: Whether it comes by gzip or deflate, and is to be inflated first.
    :return: The text as JSON, written already: to write it would hold the
        interpreter for long.
    :raise BridgeError: ``bad_request``: it is too large or not text; ``unavailable``:
        it breaks off, or does not match its coding.
    """
    steps = _inflated(pieces) if inflated else _sliced(pieces)
    decoder = codecs.getincrementaldecoder("utf-8")()
    written: list[bytes | memoryview] = [b'"']
    size, json_size = 0, 2
    try:
        for step in steps:
            size += len(step)
            if size > OUTBOUND_RESPONSE_BYTES:
                raise too_large()
            # Without its quotes, and without a copy.
            piece = memoryview(orjson.dumps(decoder.decode(step)))[1:-1]
            json_size += len(piece)
            if json_size > OUTBOUND_RESPONSE_JSON_BYTES:
                raise _too_large_as_json()
            written.append(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise not_text() from None
    except zlib.error:
        raise BridgeError(Code.UNAVAILABLE, "the response cannot be inflated") from None
    written.append(b'"')
    return orjson.Fragment(b"".join(written))


def _sliced(pieces: Sequence[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        for start in range(0, len(piece), _STEP_BYTES):
            yield piece[start : start + _STEP_BYTES]


def _inflated(pieces: Sequence[bytes]) -> Iterator[bytes]:
    """Inflate in bounded steps, so that a bomb is noticed when it passes the limit."""
    whole = memoryview(b"".join(pieces))
    if not whole:
        return
    # "deflate" is zlib by the standard, and without its header by some servers.
    inflating = zlib.decompressobj(_GZIP_OR_ZLIB if _has_header(whole) else _RAW)
    position = 0
    # What follows the end is ignored, as browsers do.
    while not inflating.eof:
        given = whole[position : position + _STEP_BYTES]
        step = inflating.decompress(given, _STEP_BYTES)
        if not step and not given and not inflating.eof:
            raise zlib.error
        position += len(given) - len(inflating.unconsumed_tail)
        yield step


def _has_header(start: memoryview) -> bool:
    two = bytes(start[:2])
    # RFC 1950, section 2.2: compression method 8, and the check of the header.
    is_zlib = two[0] & 15 == 8 and int.from_bytes(two, "big") % 31 == 0
    return two == _GZIP_MAGIC or is_zlib
