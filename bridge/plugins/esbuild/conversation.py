"""
A conversation with the bundler: one process, asked over pipes, within limits.

It is started with one fixed argument list and an empty environment, and without a
directory of its own, so that the system need not copy this process first.  It ends when
its standard input does, so also when the daemon dies.  When it is busy then, the next
message ends it that it sends each second, since it has no reader.

What is asked and answered are packets: a length (four bytes, little endian), a number
(the request's, doubled; odd in a response; each side counts its own requests), and one
value: null, a boolean, an integer, a string, bytes, a list or a map, each after one
byte for its kind.  The protocol is that of the pinned version and of no other; the
service's first packet is its version.
"""

from __future__ import annotations

import re
import signal
import struct
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Final, TypeVar

from attrs import Factory, field
from twisted.internet.defer import Deferred, FirstError, fail, gatherResults
from twisted.internet.interfaces import IDelayedCall, IReactorProcess, IReactorTime
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

from ...classes import define, frozen
from ...concurrency.threads import NO_THREAD, settled
from ...protocol.errors import forget_traceback
from ...protocol.limits import KIB, MIB
from ...protocol.text import printable
from ...system.processes import limit_process
from .executable import BINARY_NAME, VERSION, BundlerError, Executable

_AT_ONCE: Final = 4
"""Requests under way: enough to keep two cores busy, few enough to bound memory."""

_PROBLEMS: Final = frozenset({"errors", "warnings"})
_MOST_PROBLEMS: Final = 1000
"""
Read of each of these lists: hostile sources have a million, of which one is reported.

After more than these nothing of a packet is read.  The names in it are sorted, so what
is made of a source stands before the list of warnings.
"""

_CUT: Final = -1
"""Where the value ends of a packet that is not read to its end."""

_ERROR_BYTES: Final = 16 * KIB
_CRASH: Final = re.compile(
    rb"^(?:fatal error: |panic: |(?=SIGSEGV: ))(?:runtime: )?(.*)$", re.MULTILINE
)
# It has no code that could cause a segmentation violation but that of Go's own runtime,
# which has some where it gets no memory.
_MEMORY: Final = re.compile("out of memory|cannot allocate memory|newosproc|^SIGSEGV")
_ENDING: Final = {
    getattr(signal, name, None) for name in ("SIGINT", "SIGHUP", "SIGTERM")
} - {None}
# EAGAIN, in what Go says before `newosproc` then: that is no want of memory.
_NO_THREAD: Final = b"errno=11)"
_STACK: Final = "stack overflow"
_CRASH_CHARACTERS: Final = 100
_NULL, _BOOLEAN, _INTEGER, _STRING, _BYTES, _LIST, _MAP = range(7)
_KINDS: Final = (type(None), bool, int, str, bytes, list, dict)
_LENGTH: Final = struct.Struct("<I")

_OTHER_VERSION: Final = b"Cannot start service: Host version "

T = TypeVar("T")

Reply = Callable[[dict[str, Any]], dict[str, Any]]
"""Answers what the bundler asks while it builds."""


class BundlerReactor(IReactorProcess, IReactorTime):
    """What running the bundler needs of a reactor: processes and time."""


class LimitError(BundlerError):
    """The bundler needed more time or memory, or wrote more, than it may."""


class SignalledError(BundlerError):
    """The bundler was sent a signal that ends what is in a terminal, or a service."""


@frozen
class Limits:
    """
    What the bundler may use in one conversation.

    :ivar seconds: How long it may be waited for in all, until it is killed.
    :ivar cpu_seconds: Of processor time; on Linux only.
    :ivar output_bytes: All that it writes.
    :ivar memory_bytes: Its heap, stacks and private mappings; on Linux only.
    """

    seconds: float
    cpu_seconds: int
    output_bytes: int
    memory_bytes: int


async def converse(
    reactor: BundlerReactor,
    executable: Executable,
    limits: Limits,
    work: Callable[[Conversation], Awaitable[T]],
    reply: Reply = lambda asked: {},
) -> T:
    """
    Start the bundler, work with it, and end it.

    However this ends, also when it is cancelled, the bundler is dead then.

    :param work: Done once more when a signal has ended the bundler: Ctrl-C in a
        terminal is sent to it, too, but the daemon finishes what is under way.
    :raise LimitError: It reached a limit.
    :raise BundlerError: It cannot be started, is not the pinned version, or crashed.
    """
    try:
        return await _converse(reactor, executable, limits, work, reply)
    except SignalledError as e:
        forget_traceback(e)
    return await _converse(reactor, executable, limits, work, reply)


async def _converse(
    reactor: BundlerReactor,
    executable: Executable,
    limits: Limits,
    work: Callable[[Conversation], Awaitable[T]],
    reply: Reply,
) -> T:
    conversation = Conversation(limits, reply, reactor, executable.fix)
    command = (BINARY_NAME, f"--service={VERSION}", "--ping")
    try:
        reactor.spawnProcess(conversation, executable.path, command, {})
    except OSError as e:
        why = e.strerror or "I/O error"
        raise BundlerError(f"esbuild could not be started: {why}") from None
    try:
        return await work(conversation)
    finally:
        conversation.kill()
        await settled(conversation.ended, conversation.kill)


@define(eq=False)
class Conversation(ProcessProtocol):
    """
    What is asked and answered.

    Its time passes until the first answer, and while another is waited for: what is
    done with one, in threads that others use too, is not the bundler's.

    :ivar ended: Fires when the process is dead.
    """

    _limits: Limits
    _reply: Reply
    _clock: IReactorTime
    _fix: str
    transport: Any = field(default=None, init=False)
    ended: Deferred[None] = field(factory=Deferred, init=False)
    _waiting: dict[int, Deferred[Any]] = field(factory=dict, init=False)
    _asked: int = field(default=0, init=False)
    _received: bytearray = field(factory=bytearray, init=False)
    _total: int = field(default=0, init=False)
    _greeted: bool = field(default=False, init=False)
    _messages: bytearray = field(factory=bytearray, init=False)
    _failure: BundlerError | None = field(default=None, init=False)
    _left: float = field(
        default=Factory(lambda made: made._limits.seconds, takes_self=True), init=False
    )
    _deadline: IDelayedCall | None = field(default=None, init=False)

    def connectionMade(self) -> None:
        """Limit it before it has anything to read."""
        limits = self._limits
        limit_process(self.transport.pid, limits.memory_bytes, limits.cpu_seconds)
        self._start_time()

    def ask(self, request: dict[str, Any]) -> Deferred[Any]:
        """
        Ask for something.

        :return: Fires with the answer, or fails as ``converse`` does.
        """
        if self.ended.called:
            return fail(self._failure or BundlerError("the bundler has ended"))
        self._start_time()
        waiting: Deferred[Any] = Deferred()
        self._waiting[self._asked] = waiting
        self.transport.write(packet(self._asked, request))
        self._asked += 1
        return waiting

    def outReceived(self, data: bytes) -> None:
        """Take answers and questions."""
        if self._failure is not None:
            return
        self._total += len(data)
        if self._total > self._limits.output_bytes:
            self._fail(LimitError("esbuild wrote more than it may"))
            return
        self._received += data
        try:
            while len(self._received) >= _LENGTH.size:
                end = _LENGTH.size + _LENGTH.unpack_from(self._received)[0]
                if len(self._received) < end:
                    break
                # A copy of many megabytes would hold up every socket.
                body = memoryview(self._received)[_LENGTH.size : end]
                self._received = self._received[end:]
                self._take(body)
        except PacketError as e:
            self._fail(self._not_pinned(f": {e}"))

    def _take(self, body: memoryview) -> None:
        if not self._greeted:
            if body != VERSION.encode():
                raise PacketError("the service is of another version")
            self._greeted = True
            return
        number, is_response, value = read_packet(body)
        if not is_response:
            answer = {} if value == {"command": "ping"} else self._reply(value)
            self.transport.write(packet(number, answer, is_response=True))
            return
        waiting = self._waiting.pop(number, None)
        if waiting is None:
            raise PacketError("the service answers what was not asked")
        if not self._waiting:
            self._stop_time()
        if type(value) is dict and "error" in value:
            words = printable(str(value["error"]))[:_CRASH_CHARACTERS]
            waiting.errback(BundlerError(f"esbuild crashed: {words}"))
        else:
            waiting.callback(value)

    def errReceived(self, data: bytes) -> None:
        """Keep the beginning of what it writes when it crashes."""
        self._messages += data[: _ERROR_BYTES - len(self._messages)]

    def processEnded(self, reason: Failure) -> None:
        """End the conversation, and all that is waited for."""
        if self._failure is None:
            self._failure = self._cause(reason.value)
        waiting, self._waiting = self._waiting, {}
        self._stop_time()
        self.ended.callback(None)
        for one in waiting.values():
            one.errback(self._failure)
        # There may be no waiter left to take them.
        forget_traceback(self._failure)

    def _cause(self, ending: Any) -> BundlerError:
        """Return why it ended without being asked to."""
        if _OTHER_VERSION in self._messages:
            return self._not_pinned()
        if _NO_THREAD in self._messages:
            return BundlerError(f"esbuild crashed: {NO_THREAD}")
        found = _CRASH.search(self._messages)
        text = found[1] if found else b""
        words = "".join(map(chr, filter(range(32, 127).__contains__, text)))
        if _MEMORY.search(words) or ending.signal == signal.SIGSEGV:
            most = self._limits.memory_bytes // MIB
            return LimitError(f"esbuild needed more than {most} MiB of memory")
        if ending.signal == getattr(signal, "SIGKILL", None):
            # By the system: for its processor time, or because there is no memory left.
            return LimitError("esbuild needed too much processor time or memory")
        kind = LimitError if _STACK in words else BundlerError
        if ending.signal in _ENDING:
            kind = SignalledError
        how = f"exit status {ending.exitCode}"
        if ending.signal is not None:
            how = f"signal {ending.signal}"
        return kind(f"esbuild crashed: {words[:_CRASH_CHARACTERS] or how}")

    def _not_pinned(self, why: str = "") -> BundlerError:
        what = f"bin/{BINARY_NAME} is not the pinned esbuild {VERSION}{why}"
        return BundlerError(f"{what}; {self._fix}")

    def _start_time(self) -> None:
        if self._deadline is None:
            self._deadline = self._clock.callLater(self._left, self.expire)

    def _stop_time(self) -> None:
        deadline, self._deadline = self._deadline, None
        if deadline is not None and deadline.active():
            self._left = max(0.0, deadline.getTime() - self._clock.seconds())
            deadline.cancel()

    def expire(self) -> None:
        """Kill the process because it took too long."""
        seconds = f"{self._limits.seconds:g}s"
        self._fail(LimitError(f"esbuild did not finish within {seconds}"))

    def _fail(self, why: BundlerError) -> None:
        self._failure = self._failure or why
        self.kill()

    def kill(self) -> None:
        """Kill the process, unless it has ended."""
        # Twisted sets this to ``None`` when the process has been waited for.
        if self.transport.pid is not None:
            self.transport.signalProcess("KILL")
        # What it may have started could hold its pipes open.
        self.transport.loseConnection()


async def together(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """
    Wait for many things, a few at once.

    :param work: Taken as it goes on.
    :raise Exception: What the first one raises that fails; no further one is begun.
    """
    left = iter(work)

    async def some() -> None:
        for one in left:
            await one

    doing = [Deferred.fromCoroutine(some()) for _ in range(_AT_ONCE)]
    try:
        await gatherResults(doing, consumeErrors=True)
    except FirstError as e:
        # It is among the results, to which a frame of its traceback leads: a cycle.
        e.subFailure.tb = None
        Failure(e.subFailure.value).raiseException()


class PacketError(ValueError):
    """Bytes that are no packet of this protocol."""


def packet(number: int, value: Any, *, is_response: bool = False) -> bytes:
    """
    The packet of a request or a response, with the length in front.

    :param number: The request's.
    """
    body: list[bytes] = [_LENGTH.pack(number << 1 | is_response)]
    # What is left to write, the next one last; a name is a text without its kind.
    left: list[tuple[Any, bool]] = [(value, False)]
    while left:
        one, is_name = left.pop()
        kind = _KINDS.index(type(one))
        body.append(b"" if is_name else bytes([kind]))
        if kind == _BOOLEAN:
            body.append(bytes([one]))
        elif kind == _INTEGER:
            body.append(_LENGTH.pack(one))
        elif kind in (_STRING, _BYTES):
            data = one if kind == _BYTES else one.encode()
            body += [_LENGTH.pack(len(data)), data]
        elif kind == _LIST:
            body.append(_LENGTH.pack(len(one)))
            left += [(item, False) for item in reversed(one)]
        elif kind == _MAP:
            body.append(_LENGTH.pack(len(one)))
            for name, item in reversed(one.items()):
                left += [(item, False), (name, True)]
    return b"".join([_LENGTH.pack(sum(map(len, body))), *body])


def read_packet(body: bytes | memoryview) -> tuple[int, bool, Any]:
    """
    Read a packet: its number, whether it is a response, and its value.

    :param body: Without its length; bytes in the value are views of it, if it is one.
    :return: The value ends after ``_MOST_PROBLEMS``; see there.
    :raise PacketError: It is no whole packet.
    """
    try:
        (head,) = _LENGTH.unpack_from(body)
        value, end = _decode(body, _LENGTH.size)
    except (struct.error, IndexError, RecursionError):
        raise PacketError("the service's packet cannot be read") from None
    if end not in (_CUT, len(body)):
        raise PacketError("the service's packet is longer than its value")
    return head >> 1, bool(head & 1), value


def _decode(
    data: bytes | memoryview, at: int, most: int | None = None
) -> tuple[Any, int]:
    """
    Read the value at a place; return it, and where it ends.

    :param most: How many to read of it, if it is a list.
    """
    kind, at = data[at], at + 1
    if kind == _NULL:
        return None, at
    if kind == _BOOLEAN:
        return data[at] != 0, at + 1
    (number,) = _LENGTH.unpack_from(data, at)
    at += _LENGTH.size
    if kind == _INTEGER:
        return number, at
    if kind in (_LIST, _MAP):
        return _decode_many(data, at, number, most, is_map=kind == _MAP)
    end = at + number
    if kind not in (_STRING, _BYTES) or end > len(data):
        raise PacketError("the service's packet has no such value")
    piece = data[at:end]
    # Messages of the bundler's quote sources, which need not be UTF-8.
    return (piece if kind == _BYTES else str(piece, "utf-8", "replace")), end


def _decode_many(
    data: bytes | memoryview, at: int, count: int, most: int | None, *, is_map: bool
) -> tuple[list[Any] | dict[str, Any], int]:
    items: list[Any] = []
    names = []
    most_of_item = None
    for _ in range(count):
        if at == _CUT:
            break
        if is_map:
            start = at + _LENGTH.size
            at = start + _LENGTH.unpack_from(data, at)[0]
            name = str(data[start:at], "utf-8", "replace")
            names.append(name)
            most_of_item = _MOST_PROBLEMS if name in _PROBLEMS else None
        elif len(items) == most:
            at = _CUT
            break
        item, at = _decode(data, at, most_of_item)
        items.append(item)
    return (dict(zip(names, items, strict=True)) if is_map else items), at
