"""
One page's conversation: what it may do before and after ``hello``, and its answers.

::

    awaiting hello   has no budgets: any other frame, and silence, close it
    authenticated    has budgets, since a hello had the token
    closed           nothing that comes is looked at

Knows neither WebSocket frames nor TCP, only that text goes out and that closing has a
reason.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any, ClassVar, Final, Protocol, TypeVar

from attrs import field
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...classes import define, frozen
from ...protocol import frames, limits
from ...protocol.budgets import Budgets
from ...protocol.errors import (
    BridgeError,
    CloseReason,
    Code,
    bad_request,
    internal_error,
)
from ...protocol.frames import Frame, Hello, Logs, RefusedFrame, Request
from ...protocol.strictjson import Size
from ...protocol.text import one_line
from ...rpc import Event, Hub, Registry
from ..guard import Guard
from .sendqueue import SendQueue

T = TypeVar("T")

# Timers of the same time run in any order.
_MOMENT: Final = 1e-6
_TOO_HEAVY: Final = BridgeError(
    Code.RATE_LIMITED,
    f"calls under way and unread answers hold {limits.UNSENT_BYTES} bytes",
    retry_after=1,
)
_SECOND_HELLO: Final = RefusedFrame(bad_request("hello must come first, and once"))


class LogSink(Protocol):
    """Accepts the log records of a ``logs`` frame; never answers, never raises."""

    def frame(self, records: Any) -> None:
        """Write the records."""

    def drop(self, records: int, why: str) -> None:
        """Count records that are not written, and report how many, and why."""

    @property
    def overloaded(self) -> bool:
        """Whether records come faster than they can be written."""


@frozen(eq=False, repr=False)
class SharedContext:
    """
    The dependencies that all sockets of a daemon share.

    :ivar version: The daemon's version, sent in ``welcome``.
    :ivar budgets: Makes those of a socket.
    :ivar pages: Whether these are sockets of pages; see ``Holder.is_page``.
    """

    version: str
    registry: Registry
    hub: Hub
    guard: Guard
    budgets: Callable[[], Budgets]
    logs: LogSink
    clock: IReactorTime
    pages: bool = True


class Transport(Protocol):
    """
    The socket that a conversation uses.

    :ivar is_page: Whether it has the ``Origin`` of a page, which is an allowed one.
    """

    is_page: bool

    def send_piece(self, piece: bytes, first: bool, last: bool) -> None:
        """Send a piece of a text; nothing happens once the socket is closing."""

    def close_with(self, reason: CloseReason) -> None:
        """Close the socket."""

    def welcomed(self) -> bool:
        """
        Note that the page is authenticated.

        :return: False when there are too many such sockets already.
        """


@define(eq=False, repr=False)
class Conversation:
    """
    Begins when the socket opens, and is over when it has closed.

    The frames of calls that wait, or are under way, count against what a socket may
    keep in memory, together with what it has not read.
    """

    _context: SharedContext
    _transport: Transport
    send_queue: SendQueue = field(init=False)
    _hello: IDelayedCall = field(init=False)
    _budgets: Budgets | None = None
    _closed: bool = False
    _paced: list[tuple[IDelayedCall, Request, int]] = field(factory=list)
    _held: int = 0
    _over: bool = False
    _on_close: dict[Callable[[Any], None], None] = field(factory=dict)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        self.send_queue = SendQueue(
            self._transport.send_piece, lambda: self.close(CloseReason.SLOW_READER)
        )
        self._hello = self._context.clock.callLater(
            limits.HELLO_SECONDS, self.violated, CloseReason.HELLO_REQUIRED
        )

    def received(self, text: bytes, size: Size | None = None) -> None:
        """
        Handle one text frame.

        :param size: Of this text, when it was counted as it came.
        """
        if self._closed:
            return
        frame = frames.read_frame(text, size)
        if isinstance(frame, RefusedFrame) and frame.defect is not None:
            defect = Failure(frame.defect)
            self._log.failure("a frame could not be read", failure=defect)
        if self._budgets is None:
            self._begin(frame)
            return
        match frame:
            case Request():
                self._requested(frame, self._budgets, len(text))
            case Logs():
                self._write_logs(frame, self._budgets)
            case Hello():
                # It may be as long as any frame: it costs what others cost.
                self._refuse(_SECOND_HELLO, self._budgets)
            case RefusedFrame(answered=False):
                self._write_logs(None, self._budgets)
            case _:
                self._refuse(frame, self._budgets)

    def violated(self, reason: CloseReason) -> None:
        """Close: the peer broke the protocol; before a hello, that is what lacks."""
        if self._closed:
            return
        if self._budgets is None:
            self._refuse_hello(CloseReason.HELLO_REQUIRED)
        else:
            self.close(reason)

    def close(self, reason: CloseReason) -> None:
        """
        Close the socket, with a reason.

        Calls that wait are dropped: the page may have lost its right to make them.
        """
        self._take_paced()
        self._closed = True
        self.send_queue.finish()
        self._transport.close_with(reason)

    def ended(self) -> None:
        """
        The socket has closed.  Calls under way continue without it.

        Those that were to wait are made now if the page has gone by itself: it may have
        saved a setting with the last of them.
        """
        self._context.hub.remove(self)
        if self._hello.active():
            self._hello.cancel()
        self.send_queue.stopProducing()
        self._over = True
        callbacks, self._on_close = self._on_close, {}
        for call in callbacks:
            call(self)
        dropped, replaced = self.send_queue.dropped, self.send_queue.replaced
        if dropped or replaced:
            self._log.info(
                "a slow page lost {dropped} pushes, and {replaced} to newer ones",
                dropped=dropped,
                replaced=replaced,
            )
        self.call_waiting()

    def call_waiting(self) -> None:
        """Make the calls that wait for their pace, in order."""
        for request, size in self._take_paced():
            self._call(request, size)

    def push(self, event: str, text: bytes) -> None:
        """Send an event to this page alone; see ``bridge.rpc.Caller``."""
        self.send_queue.put(text, event)

    @property
    def is_page(self) -> bool:
        return self._context.pages

    def on_close(self, call: Callable[[Any], None]) -> None:
        """Call ``call`` when the socket has closed; see ``Caller.on_close``."""
        if self._over:
            call(self)
        else:
            self._on_close[call] = None

    def drained(self) -> Deferred[None]:
        """See ``bridge.concurrency.shares.Holder``."""
        return self.send_queue.drained()

    def _begin(self, frame: Frame | RefusedFrame) -> None:
        """Accept a hello with the token, and nothing else."""
        if not isinstance(frame, Hello):
            self._refuse_hello(CloseReason.HELLO_REQUIRED)
            return
        if not self._context.guard.token.matches(frame.token.encode("utf-8")):
            self._refuse_hello(CloseReason.UNAUTHORIZED)
            return
        # The name is only logged; no page is refused for it.
        client = one_line(frame.client, limits.CLIENT_CHARACTERS)
        self._log.debug("a page connected: {client}", client=client)
        self._hello.cancel()
        if not self._transport.welcomed():
            self.close(CloseReason.TOO_MANY_SOCKETS)
            return
        self._budgets = self._context.budgets()
        services = self._context.registry.describe()
        self.send_queue.put(frames.welcome(self._context.version, services))
        self._context.hub.add(self)

    def _refuse_hello(self, reason: CloseReason) -> None:
        """Close a socket without the token, which costs its sender a request."""
        self._context.guard.count_refused_hello(self._transport.is_page)
        self.close(reason)

    def _requested(self, request: Request, budgets: Budgets, size: int) -> None:
        try:
            after = budgets.request(request)
        except BridgeError as error:
            self.send_queue.put(frames.refusal(request.id, error))
        else:
            self._dispatch(request, after, size)

    def _refuse(self, refused: RefusedFrame, budgets: Budgets) -> None:
        error = budgets.refused(refused.error)
        if refused.id is None:
            self.push(Event.ERROR, frames.push(Event.ERROR, frames.error_fields(error)))
        else:
            self.send_queue.put(frames.refusal(refused.id, error))
        if refused.evaluation is not None:
            # Who waits for the page's answer has this one.
            why = f"the page's answer was refused: {error.message}"
            answer = {"id": refused.evaluation, "ok": False, "error": why}
            ending = self._context.registry.call("remote", "result", answer, self)
            run(ending, lambda _: None, lambda _: None)

    def _write_logs(self, frame: Logs | None, budgets: Budgets) -> None:
        """
        Pass log records on, or drop and count them; a long flood closes.

        :param frame: ``None`` for one that cannot be read.
        """
        logs = self._context.logs
        if not budgets.logs():
            records = None if frame is None else frame.records
            # An empty frame counts as well, so that a flood of them is reported.
            count = (len(records) if type(records) is list else 0) or 1
            logs.drop(count, "they come too fast")
            if budgets.log_flood:
                self.close(CloseReason.LOG_FLOOD)
        elif frame is None:
            logs.drop(1, "their frame cannot be read")
        else:
            logs.frame(frame.records)
            if logs.overloaded:
                self.close(CloseReason.LOGS_BEHIND)

    def _dispatch(self, request: Request, after: float, size: int) -> None:
        if self._held + size + self.send_queue.unsent > limits.UNSENT_BYTES:
            self.send_queue.put(frames.refusal(request.id, _TOO_HEAVY))
            return
        self._held += size
        before = self._before(request) if self._paced else []
        if after or before:
            after = max([after, *before])
            clock = self._context.clock
            timer = clock.callLater(after, self._call_paced, request, size)
            self._paced.append((timer, request, size))
        else:
            self._call(request, size)

    def _before(self, request: Request) -> list[float]:
        """
        Return in how many seconds the calls are made that go before a request.

        They are due already, or of its namespace: a light read is answered with what
        was set before it.
        """
        now, namespace = self._context.clock.seconds(), request.params.get("ns")
        return [
            max(0.0, timer.getTime() - now + _MOMENT)
            for timer, earlier, _ in self._paced
            if timer.getTime() <= now
            or (type(namespace) is str and earlier.params.get("ns") == namespace)
        ]

    def _take_paced(self) -> list[tuple[Request, int]]:
        """Return the calls that wait, which are not made any more."""
        paced, self._paced = self._paced, []
        waiting = []
        for timer, request, size in paced:
            if timer.active():
                timer.cancel()
                waiting.append((request, size))
        return waiting

    def _call_paced(self, request: Request, size: int) -> None:
        self._paced = [paced for paced in self._paced if paced[0].active()]
        self._call(request, size)

    def _call(self, request: Request, size: int) -> None:
        calling = self._context.registry.call(
            request.service, request.method, request.params, self
        )
        request_id = request.id
        run(
            calling,
            lambda result: self._answer(request_id, size, result),
            lambda failure: self._refuse_call(request_id, size, failure),
        )

    def _answer(self, request_id: str, size: int, result: Any) -> None:
        try:
            answer = frames.response(request_id, result)
        except Exception:  # noqa: BLE001
            self._refuse_call(request_id, size, Failure())
        else:
            self._held -= size
            self.send_queue.put(answer)

    def _refuse_call(self, request_id: str, size: int, failure: Failure) -> None:
        self._held -= size
        error = failure.value
        if not isinstance(error, BridgeError):
            self._log.failure("an answer could not be written", failure=failure)
            error = internal_error()
        self.send_queue.put(frames.refusal(request_id, error))


def run(
    running: Coroutine[Any, Any, T],
    done: Callable[[T], None],
    failed: Callable[[Failure], None],
) -> None:
    """
    Run a coroutine; make a ``Deferred`` of it only if it waits.

    A call that is answered at once costs a third of what it would as a ``Deferred``.

    :param done: Called with the result; it must not raise.
    :param failed: Called with the failure; it must not raise.
    """
    try:
        waited = running.send(None)
    except StopIteration as end:
        done(end.value)
    except Exception:  # noqa: BLE001
        failed(Failure())
    else:
        rest: Deferred[T] = Deferred.fromCoroutine(_continued(running, waited))
        rest.addCallbacks(done, failed)


@coroutine
def _continued(running: Coroutine[Any, Any, T], waited: Any) -> Generator[Any, Any, T]:
    """Return the coroutine from where it waits for the first time."""
    try:
        while True:
            try:
                value = yield waited
            except Exception as error:  # noqa: BLE001
                waited = running.throw(error)
            else:
                waited = running.send(value)
    except StopIteration as end:
        result: T = end.value
        return result
