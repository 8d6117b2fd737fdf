"""The queries to the bundler's service, one for each source, and their answers."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from ....protocol.limits import SCAN_OUTPUT_BYTES
from ...esbuild.pins import VERSION
from .encoding import OversizeError, PacketError, read_response, request
from .transform import Answer, Question, answer, first_request, second_request

_AT_ONCE: Final = 4
"""Requests under way: enough to keep two cores busy, few enough to bound memory."""

_LENGTH: Final = struct.Struct("<I")


class Queries:
    """
    What goes to the service and comes from it, in bytes.

    :param sources: In the order of the answers.
    :param mark: See ``transform``.
    """

    def __init__(self, sources: Sequence[Question], mark: str) -> None:
        self._sources = sources
        self._mark = mark
        self._packets: dict[int, bytes] = {}
        self._next = 0
        self._received = bytearray()
        self._total = 0
        self._greeted = False

    @property
    def is_over(self) -> bool:
        """Whether every source has its answer."""
        return len(self._packets) == len(self._sources)

    @property
    def unanswered(self) -> int:
        """The index of the first source without an answer."""
        return next(n for n in range(len(self._sources)) if n not in self._packets)

    def begin(self) -> list[bytes]:
        """What to send first."""
        return [self._ask() for _ in range(min(_AT_ONCE, len(self._sources)))]

    def receive(self, data: bytes) -> list[bytes]:
        """
        Take what the service writes.

        :return: What to send it.
        :raise OversizeError: It is too much.
        :raise PacketError: It is not what the pinned version writes.
        """
        self._received += data
        self._total += len(data)
        if self._total > SCAN_OUTPUT_BYTES:
            raise OversizeError("the service writes too much")
        sent = []
        while (packet := self._packet()) is not None:
            if not self._greeted:
                self._greet(packet)
            else:
                sent += self._answered(packet)
        return sent

    def answers(self) -> list[Answer]:
        """
        Read every answer, in the order of the sources; blocks a little for each.

        :raise PacketError: One is not what the pinned version answers.
        """
        return [
            answer(read_response(self._packets[index])[1])
            for index in range(len(self._sources))
        ]

    def _packet(self) -> bytes | None:
        size = _LENGTH.size
        if len(self._received) < size:
            return None
        (length,) = _LENGTH.unpack_from(self._received)
        if len(self._received) < size + length:
            return None
        packet = bytes(self._received[size : size + length])
        del self._received[: size + length]
        return packet

    def _greet(self, packet: bytes) -> None:
        if packet != VERSION.encode():
            raise PacketError("the service is of another version")
        self._greeted = True

    def _answered(self, packet: bytes) -> list[bytes]:
        if len(packet) < _LENGTH.size:
            raise PacketError("the service's packet cannot be read")
        index = _LENGTH.unpack_from(packet)[0] >> 1
        if index >= len(self._sources) * 2:
            raise PacketError("the service answers what was not asked")
        index, is_second = divmod(index, 2)
        if not is_second and self._sources[index].is_read_twice:
            first = answer(read_response(packet)[1])
            if not first.error_line:
                return [request(index * 2 + 1, second_request(first, self._mark))]
        self._packets[index] = packet
        return [self._ask()] if self._next < len(self._sources) else []

    def _ask(self) -> bytes:
        index = self._next
        self._next += 1
        return request(index * 2, first_request(self._sources[index], self._mark))
