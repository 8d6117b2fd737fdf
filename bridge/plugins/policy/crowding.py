"""Tells, ahead of the parser, of a text that nests deeper than its time is worth."""

from __future__ import annotations

import re
from typing import Final

from attrs import Factory, define, field

from ...protocol.limits import SOURCE_NESTING
from .budget import TooComplexError

_RUN_BYTES: Final = 90_000
"""The longest text in one piece, without ``;``, ``,`` or a brace."""

_ANGLES: Final = 200
_ARROWS: Final = 10_000
_TAGS: Final = 1_000
_SLACK: Final = 4

# An apostrophe after a letter is one in JSX text: no string starts there.
_QUIET = re.compile(
    rb"//.*|/\*(?:.*?\*/|.*)|(?<![A-Za-z])'(?:[^'\\]|\\.)*+'?|\"(?:[^\"\\]|\\.)*+\"?|[<>]="
)
_STRUCTURE = re.compile(rb"=>|</|/>|[()\[\]{};,<>]")
_ANGLE = {b"<": 1, b"</": 1, b">": -1, b"/>": -1}
_TAG = {b"<": 1, b"</": -1, b">": 0, b"/>": -1}
_OPEN = frozenset({b"(", b"[", b"{"})
_CLOSED = frozenset({b")", b"]", b"}"})
_SEPARATORS = frozenset({b";", b",", b"{", b"}"})


@define
class _Openings:
    """
    Counts what is open, and refuses too much of it.

    :ivar slack: How many times more than people leave open may be.
    :ivar arrows: For each open bracket, the arrow functions not ended since.
    :ivar angles: The ``<`` not closed, of types and elements.
    :ivar tags: The ``<a>`` that no ``</a>`` closed: each makes the end of the input
        longer for the parser.
    :ivar run: The bytes since the last separator.
    """

    slack: int = 1
    arrows: list[int] = Factory(lambda: [0])
    angles: int = 0
    tags: int = 0
    run: int = 0

    def take(self, line: bytes) -> None:
        """
        Count a line.

        :raise TooComplexError: Too much is open at its end.
        """
        text = line.strip()
        if not text.startswith(b"//"):
            self.run += len(text)
        for token in _STRUCTURE.findall(line):
            self._count(token)
        if (
            len(self.arrows) > SOURCE_NESTING * self.slack
            or self.arrows[-1] > _ARROWS * self.slack
            or self.angles > _ANGLES * self.slack
            or self.tags > _TAGS
            or self.run > _RUN_BYTES
        ):
            raise TooComplexError

    def _count(self, token: bytes) -> None:
        if token in _ANGLE:
            self.angles = max(0, self.angles + _ANGLE[token])
            self.tags = max(0, self.tags + _TAG[token])
        elif token == b"=>":
            self.arrows[-1] += 1
        else:
            self._bracket(token)
            if token in _SEPARATORS:
                self.run = 0
                if token != b",":
                    self.angles = self.tags = 0

    def _bracket(self, token: bytes) -> None:
        if token in _OPEN:
            self.arrows.append(0)
        elif token not in _CLOSED:
            self.arrows[-1] = 0
        elif len(self.arrows) > 1:
            # The last one stays when more are closed than were opened.
            self.arrows.pop()


@define
class Crowding:
    """
    Reads a text ahead of its parser.

    What looks like a comment or a string is left out, and misleads where it is none;
    so brackets are also counted as they come, and then more of them may be open.
    """

    _text: bytes
    _position: int = 0
    _commented: bool = False
    _code: _Openings = field(factory=_Openings)
    _raw: _Openings = field(factory=lambda: _Openings(_SLACK))

    def read_to(self, end: int) -> None:
        """
        Read on, in whole lines, past ``end``.

        :raise TooComplexError: The text is deeper or denser than people's.
        """
        while self._position < min(end, len(self._text)):
            stop = self._text.find(b"\n", self._position) + 1 or len(self._text)
            line = self._text[self._position : stop]
            self._position = stop
            self._raw.take(line)
            self._code.take(self._without_comments(line.rstrip(b"\n")))

    def _without_comments(self, line: bytes) -> bytes:
        """What is left of a line without what looks like comments and strings."""
        if self._commented:
            _, closed, line = line.partition(b"*/")
            self._commented = not closed
        code, opened, _ = _QUIET.sub(_quiet, line).partition(b"/*")
        self._commented = self._commented or bool(opened)
        return code


def _quiet(match: re.Match[bytes]) -> bytes:
    text = match[0]
    is_open = text.startswith(b"/*") and (len(text) < 4 or not text.endswith(b"*/"))
    return b"/*" if is_open else b" "
