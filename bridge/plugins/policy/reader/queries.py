"""The queries to the bundler's service, and their answers."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, Generic, TypeVar

from ....protocol.limits import SCAN_OUTPUT_BYTES
from ...esbuild.pins import VERSION
from .encoding import OversizeError, PacketError, read_response, request
from .transform import Answer, Question, answer, first_request, second_request

_AT_ONCE: Final = 4
"""Requests under way: enough to keep two cores busy, few enough to bound memory."""

_LENGTH: Final = struct.Struct("<I")

Source = TypeVar("Source")


class Queries(ABC, Generic[Source]):
    """
    What goes to the service and comes from it, in bytes.

    :ivar sources: In the order of the answers.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self._packets: dict[int, bytes] = {}
        self._next = 0
        self._received = bytearray()
        self._total = 0
        self._greeted = False

    @abstractmethod
    def first(self, source: Source) -> dict[str, Any]:
        """Return the request for a source."""

    def second(self, source: Source, packet: bytes) -> dict[str, Any] | None:
        """
        Return what to ask after the answer to the request, if there is something.

        :param packet: The answer.
        :raise PacketError: It is not what the pinned version answers.
        """
        return None

    @property
    def is_over(self) -> bool:
        """Whether every source has its answer."""
        return len(self._packets) == len(self.sources)

    @property
    def unanswered(self) -> int:
        """The index of the first source without an answer."""
        return next(n for n in range(len(self.sources)) if n not in self._packets)

    def begin(self) -> list[bytes]:
        """What to send first."""
        return [self._ask() for _ in range(min(_AT_ONCE, len(self.sources)))]

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
            for index in range(len(self.sources))
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
        if index >= len(self.sources) * 2:
            raise PacketError("the service answers what was not asked")
        index, is_second = divmod(index, 2)
        if not is_second:
            more = self.second(self.sources[index], packet)
            if more is not None:
                return [request(index * 2 + 1, more)]
        self._packets[index] = packet
        return [self._ask()] if self._next < len(self.sources) else []

    def _ask(self) -> bytes:
        index = self._next
        self._next += 1
        return request(index * 2, self.first(self.sources[index]))


class SourceQueries(Queries[Question]):
    """
    The queries of a scan.

    :param mark: See ``transform``.
    """

    def __init__(self, sources: Sequence[Question], mark: str) -> None:
        super().__init__(sources)
        self._mark = mark

    def first(self, source: Question) -> dict[str, Any]:
        """See ``Queries.first``."""
        return first_request(source, self._mark)

    def second(self, source: Question, packet: bytes) -> dict[str, Any] | None:
        """See ``Queries.second``; what does not compile is not read again."""
        if not source.is_read_twice:
            return None
        first = answer(read_response(packet)[1])
        if first.error_line:
            return None
        return second_request(first, self._mark, source.is_mapped)
