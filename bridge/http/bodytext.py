"""
The bytes of a body to the text of an answer.

A body that is not compressed becomes text as it is received.  One that is compressed is
inflated in a thread, in small steps: a body of 16 MiB must not hold the interpreter
long enough for the daemon to stall.
"""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterator
from typing import Final

import orjson
from attrs import field

from ..classes import define
from ..protocol.errors import BridgeError, bad_request, unavailable
from ..protocol.limits import OUTBOUND_RESPONSE_BYTES, OUTBOUND_RESPONSE_JSON_BYTES

_STEP_BYTES: Final = 256 * 1024
_BLOCK_BYTES: Final = 64 * 1024
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
_RAW: Final = -zlib.MAX_WBITS
_GZIP_MAGIC: Final = b"\x1f\x8b"
_Decoder: Final = codecs.getincrementaldecoder("utf-8")
INFLATED: Final = frozenset({"gzip", "x-gzip", "deflate"})
"""The content codings that are understood (RFC 9110, section 8.4.1)."""


def _refused(rule: str) -> BridgeError:
    return bad_request(f"the response: {rule}")


def too_large() -> BridgeError:
    """Return the refusal of a body that is too large."""
    return _refused(f"at most {OUTBOUND_RESPONSE_BYTES} bytes")


@define(eq=False, repr=False)
class PlainBody:
    """
    Strict UTF-8, whatever charset it claims, written as a JSON string.

    :ivar size: How many bytes of JSON were written.
    """

    size: int = field(default=2, init=False)
    _received: int = field(default=0, init=False)
    _decoder: codecs.IncrementalDecoder = field(factory=_Decoder, init=False)
    # Only bytes, no views: to join bytes, the interpreter is released.
    _blocks: list[bytes] = field(factory=list, init=False)
    _last: bytearray = field(factory=lambda: bytearray(b'"'), init=False)

    def extend(self, piece: bytes) -> None:
        """
        Write the next bytes.  A packet of 64 KiB takes a millisecond at most.

        :raise BridgeError: ``bad_request``: it is too large or not text.
        """
        self._received += len(piece)
        if self._received > OUTBOUND_RESPONSE_BYTES:
            raise too_large()
        text = orjson.dumps(self._decoded(piece))
        self.size += len(text) - 2
        if self.size > OUTBOUND_RESPONSE_JSON_BYTES:
            raise _refused(f"at most {OUTBOUND_RESPONSE_JSON_BYTES} bytes as JSON")
        # Copied without its quotes: orjson has reserved 16 times as much as it wrote.
        self._last += memoryview(text)[1:-1]
        if len(self._last) >= _BLOCK_BYTES:
            self._blocks.append(bytes(self._last))
            self._last.clear()

    def whole(self) -> orjson.Fragment:
        """
        Return the text as JSON, written already: to write it would hold the interpreter
        for long.

        :raise BridgeError: ``bad_request``: it ends within a character.
        """
        self._decoded(b"", final=True)
        return orjson.Fragment(b"".join((*self._blocks, bytes(self._last), b'"')))

    def clear(self) -> None:
        """Free its memory, which a traceback would keep."""
        self._blocks.clear()
        self._last.clear()

    def _decoded(self, piece: bytes, *, final: bool = False) -> str:
        try:
            return self._decoder.decode(piece, final)
        except UnicodeDecodeError:
            raise _refused("not text in UTF-8") from None


@define(eq=False, repr=False)
class CompressedBody:
    """A body with a content coding, kept as it is received."""

    _coding: str
    _received: bytearray = field(factory=bytearray, init=False)

    def extend(self, piece: bytes) -> None:
        """
        Keep the next bytes.

        :raise BridgeError: ``bad_request``: it is too large.
        """
        self._received += piece
        if len(self._received) > OUTBOUND_RESPONSE_BYTES:
            raise too_large()

    def whole(self) -> orjson.Fragment:
        """
        Inflate it, and return its text as JSON.  Blocks.

        :raise BridgeError: ``bad_request``: its coding was not requested, or it is too
            large or not text; ``unavailable``: it breaks off, or does not match its
            coding.
        """
        if self._received and self._coding not in INFLATED:
            raise _refused("its Content-Encoding is neither gzip nor deflate")
        text = PlainBody()
        try:
            for step in _inflated(self._received):
                text.extend(step)
            return text.whole()
        except zlib.error:
            raise unavailable("the response cannot be inflated") from None
        finally:
            text.clear()

    def clear(self) -> None:
        """Free its memory, which a traceback would keep."""
        self._received.clear()


def _inflated(body: bytearray) -> Iterator[bytes]:
    """Inflate in bounded steps, so that a bomb is noticed when it passes the limit."""
    if not body:
        return
    # "deflate" is zlib by the standard, and without its header by some servers.
    inflating = zlib.decompressobj(_GZIP_OR_ZLIB if _has_header(body) else _RAW)
    position = 0
    # What follows the end is ignored, as browsers do.
    while not inflating.eof:
        given = body[position : position + _STEP_BYTES]
        step = inflating.decompress(given, _STEP_BYTES)
        if not step and not given and not inflating.eof:
            raise zlib.error
        position += len(given) - len(inflating.unconsumed_tail)
        yield step


def _has_header(start: bytearray) -> bool:
    two = bytes(start[:2])
    # RFC 1950, section 2.2: compression method 8, and the check of the header.
    is_zlib = two[0] & 15 == 8 and int.from_bytes(two, "big") % 31 == 0
    return two == _GZIP_MAGIC or is_zlib
