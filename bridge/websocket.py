"""
What both ends of a WebSocket, a page's and a sink's, need beyond Autobahn.

Most of it reads and writes the frames that nearly all calls and answers are: short
texts, whole (RFC 6455, 5.2).  Nothing here does I/O.
"""

from __future__ import annotations

from typing import Any, Final

_TEXT: Final = 0x81  # the last piece of a text, which is also the first
_MASKED: Final = 0x80
_TWO_BYTES, _EIGHT_BYTES = 126, 127


class QuietLog:
    """Autobahn's log without its warnings, of which a peer may cause any number."""

    def __init__(self, log: Any) -> None:
        self._log = log

    def __getattr__(self, level: str) -> Any:
        return getattr(self._log, "debug" if level == "warn" else level)


def parse_text_frame(data: bytes, start: int, most: int) -> tuple[bytes, int] | None:
    """
    Read a masked text of one frame.

    :param start: Where the frame begins in ``data``.
    :param most: The bytes that the text may have; 0 is any number.
    :return: The text, and where the next frame begins; ``None`` if it is anything
        else, has not come whole, or is not UTF-8.
    """
    end = len(data)
    if end - start < 6 or data[start] != _TEXT or data[start + 1] < _MASKED:
        return None
    length, at = data[start + 1] - _MASKED, start + 2
    if length == _TWO_BYTES:
        length, at = int.from_bytes(data[at : at + 2]), at + 2
        if length < _TWO_BYTES:
            return None
    elif length == _EIGHT_BYTES:
        return None
    begin = at + 4
    stop = begin + length
    if stop > end or 0 < most < length:
        return None
    text = masked(data[begin:stop], data[at:begin])
    if not text.isascii():
        try:
            text.decode("utf-8")
        except UnicodeDecodeError:
            return None
    return text, stop


def masked(payload: bytes, mask: bytes, offset: int = 0) -> bytes:
    """
    Mask or unmask a piece of a frame (RFC 6455, 5.3), as one large integer.

    Autobahn's class takes 50 ms to load; see docs/decisions/0018.

    :param mask: The four bytes of the frame.
    :param offset: Where in the frame the piece begins.
    """
    length, start = len(payload), offset % 4
    if start:
        mask = mask[start:] + mask[:start]
    repeated = (mask * (length // 4 + 1))[:length]
    return (int.from_bytes(payload) ^ int.from_bytes(repeated)).to_bytes(length)


def head(length: int, first: bool, last: bool, mask: bytes = b"") -> bytes:
    """
    Return the head of a piece of a text.

    :param mask: What the piece is masked with, as a client's is; by default nothing.
    """
    kind = (_TEXT & 1 if first else 0) | (0x80 if last else 0)
    bit = _MASKED if mask else 0
    if length < _TWO_BYTES:
        return bytes((kind, bit | length)) + mask
    if length < 1 << 16:
        return bytes((kind, bit | _TWO_BYTES)) + length.to_bytes(2) + mask
    return bytes((kind, bit | _EIGHT_BYTES)) + length.to_bytes(8) + mask
