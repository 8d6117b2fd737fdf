"""
The bytes of a body to the text of an answer.

A body that is not compressed becomes text as it is received.  One that is compressed is
inflated in a thread, in small steps: a body of 16 MiB must not hold the interpreter
long enough for the daemon to stall.
"""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterator, Sequence
from typing import Final

import orjson
from attrs import define, field

from ..protocol.errors import BridgeError, Code
from ..protocol.limits import OUTBOUND_RESPONSE_BYTES, OUTBOUND_RESPONSE_JSON_BYTES

_STEP_BYTES: Final = 256 * 1024
_SHORT_BYTES: Final = 32 * 1024
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
_RAW: Final = -zlib.MAX_WBITS
_GZIP_MAGIC: Final = b"\x1f\x8b"
_Decoder: Final = codecs.getincrementaldecoder("utf-8")
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


@define(eq=False, repr=False)
class JsonText:
    """
    Strict UTF-8, whatever charset it claims, written as a JSON string.

    :ivar size: How many bytes were added.
    """

    size: int = field(default=0, init=False)
    _decoder: codecs.IncrementalDecoder = field(factory=_Decoder, init=False)
    _written: list[bytes | memoryview] = field(factory=lambda: [b'"'], init=False)
    _json_size: int = field(default=2, init=False)

    def add(self, piece: bytes) -> None:
        """
        Write the next bytes.  A packet of 64 KiB takes a millisecond at most.

        :raise BridgeError: ``bad_request``: it is too large or not text.
        """
        self.size += len(piece)
        if self.size > OUTBOUND_RESPONSE_BYTES:
            raise too_large()
        text = orjson.dumps(self._decoded(piece))
        # Without its quotes.  A view would keep all that orjson reserved: 16 times as
        # much, which is most of the memory where a body comes in small pieces.
        short = len(text) < _SHORT_BYTES
        written = text[1:-1] if short else memoryview(text)[1:-1]
        self._json_size += len(written)
        if self._json_size > OUTBOUND_RESPONSE_JSON_BYTES:
            raise _too_large_as_json()
        self._written.append(written)

    def whole(self) -> orjson.Fragment:
        """
        Return the text as JSON, written already: to write it would hold the interpreter
        for long.

        :raise BridgeError: ``bad_request``: it ends within a character.
        """
        self._decoded(b"", final=True)
        self._written.append(b'"')
        return orjson.Fragment(b"".join(self._written))

    def _decoded(self, piece: bytes, *, final: bool = False) -> str:
        try:
            return self._decoder.decode(piece, final)
        except UnicodeDecodeError:
            raise not_text() from None


def inflated_text(pieces: Sequence[bytes]) -> orjson.Fragment:
    """
    Inflate a body that comes by gzip or deflate, and read it as text.  Blocks.

    :raise BridgeError: ``bad_request``: it is too large or not text; ``unavailable``:
        it breaks off, or does not match its coding.
    """
    text = JsonText()
    try:
        for step in _inflated(pieces):
            text.add(step)
    except zlib.error:
        raise BridgeError(Code.UNAVAILABLE, "the response cannot be inflated") from None
    return text.whole()


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
