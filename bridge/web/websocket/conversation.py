"""
One page's conversation: its session's effects carried out, its calls answered.

Between Autobahn (``socket``) and the session machine; knows neither WebSocket frames
nor TCP, only that text goes out and that closing has a reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from attrs import define, field, frozen
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...concurrency.coroutines import run
from ...protocol import frames, limits
from ...protocol import session as effects
from ...protocol.errors import BridgeError, CloseReason, internal_error
from ...protocol.frames import Hello, Logs, Request
from ...protocol.strictjson import Size
from ...protocol.text import one_line
from ...rpc.dispatch import Dispatcher
from ...rpc.hub import Event, Hub
from ..guard import Guard
from .sendqueue import SendQueue


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
    """

    version: str
    dispatcher: Dispatcher
    hub: Hub
    guard: Guard
    rates: effects.Rates
    logs: LogSink
    clock: IReactorTime


class Transport(Protocol):
    """The socket that a conversation uses."""

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
    """Begins when the socket opens, and is over when it has closed."""

    _context: SharedContext
    _transport: Transport
    send_queue: SendQueue = field(init=False)
    _session: effects.Session = field(init=False)
    _delayed: set[IDelayedCall] = field(factory=set)
    _hello: IDelayedCall = field(init=False)
    _over: bool = False
    _close_callbacks: list[Callable[[], None]] = field(factory=list)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        self._session = effects.Session(self._context.rates)
        self.send_queue = SendQueue(
            self._transport.send_piece, lambda: self.close(CloseReason.SLOW_READER)
        )
        self._hello = self._later(limits.HELLO_SECONDS, self._hello_timed_out)

    def received(self, text: bytes, size: Size | None = None) -> None:
        """
        Handle one text frame.

        :param size: Of this text, when it was counted as it came.
        """
        match frame := frames.read_frame(text, size):
            case Request():
                self._perform(self._session.requested(frame))
            case Hello():
                self._perform(self._greeted(frame))
            case Logs():
                self._perform(self._session.logged(frame))
            case _:
                if frame.defect is not None:
                    defect = Failure(frame.defect)
                    self._log.failure("a frame could not be read", failure=defect)
                self._perform(self._session.invalid_frame(frame))

    def violated(self, reason: CloseReason) -> None:
        """Handle a violation of the protocol, after which the socket must close."""
        self._perform(self._session.violated(reason))

    def close(self, reason: CloseReason) -> None:
        """Close the socket, with a reason."""
        self._session.ended()
        self.send_queue.finish()
        self._transport.close_with(reason)

    def ended(self) -> None:
        """The socket has closed.  Calls under way continue without it."""
        self._session.ended()
        self._context.hub.remove(self)
        for call in self._delayed:
            call.cancel()
        self._delayed.clear()
        self.send_queue.clear()
        self._over = True
        for call_ended in self._close_callbacks:
            call_ended()
        self._close_callbacks.clear()
        dropped, replaced = self.send_queue.dropped, self.send_queue.replaced
        if dropped or replaced:
            self._log.info(
                "a slow page lost {dropped} pushes, and {replaced} to newer ones",
                dropped=dropped,
                replaced=replaced,
            )

    def push(self, event: str, text: bytes) -> None:
        """Send an event; see ``bridge.rpc.hub.Subscriber``."""
        self.send_queue.put(text, event)

    def notify(self, event: str, data: Any) -> None:
        """Push to this page alone; see ``bridge.rpc.caller.Caller``."""
        if not self._over:
            self.push(event, frames.push(event, data))

    def on_close(self, call: Callable[[], None]) -> None:
        """Call ``call`` when the socket has closed; see ``Caller.on_close``."""
        if self._over:
            call()
        else:
            self._close_callbacks.append(call)

    def _greeted(self, hello: Hello) -> list[effects.Effect]:
        # The token is ASCII, so a text that can't be encoded does not match.
        if not self._context.guard.token.matches(hello.token.encode("utf-8")):
            return self._session.hello_refused()
        # The name is only logged; no page is refused for it.
        client = one_line(hello.client, limits.CLIENT_CHARACTERS)
        self._log.debug("a page connected: {client}", client=client)
        return self._session.hello_accepted()

    def _hello_timed_out(self) -> None:
        self._perform(self._session.hello_timed_out())

    def _perform(self, wanted: list[effects.Effect]) -> None:
        for effect in wanted:
            match effect:
                case effects.Dispatch():
                    self._dispatch(effect.request, effect.after)
                case effects.Welcome():
                    self._welcome()
                case effects.Close(reason):
                    self.close(reason)
                case effects.WriteLogs(records):
                    self._write_logs(records)
                case _:
                    self._refuse(effect)

    def _refuse(
        self,
        effect: effects.Refuse
        | effects.PushError
        | effects.CountRefusedHello
        | effects.DropLogs,
    ) -> None:
        match effect:
            case effects.Refuse(request_id, error):
                self.send_queue.put(frames.refusal(request_id, error))
            case effects.PushError(error):
                fields = frames.error_fields(error)
                self.push(Event.ERROR, frames.push(Event.ERROR, fields))
            case effects.CountRefusedHello():
                self._context.guard.count_refused_hello()
            case effects.DropLogs(records, why):
                self._context.logs.drop(records, why)

    def _write_logs(self, records: Any) -> None:
        self._context.logs.frame(records)
        if self._context.logs.overloaded:
            self.close(CloseReason.LOGS_BEHIND)

    def _welcome(self) -> None:
        self._delayed.discard(self._hello)
        self._hello.cancel()
        if not self._transport.welcomed():
            self.close(CloseReason.TOO_MANY_SOCKETS)
            return
        services = self._context.dispatcher.registry.describe()
        self.send_queue.put(frames.welcome(self._context.version, services))
        self._context.hub.add(self)

    def _dispatch(self, request: Request, after: float) -> None:
        if after or self._overdue():
            self._later(after, lambda: self._call(request))
        else:
            self._call(request)

    def _overdue(self) -> bool:
        """Whether earlier calls that are due are still waiting."""
        if not self._delayed:
            return False
        now = self._context.clock.seconds()
        return any(call.getTime() <= now for call in self._delayed)

    def _call(self, request: Request) -> None:
        calling = self._context.dispatcher.call(
            request.service, request.method, request.params, self
        )
        run(
            calling,
            lambda result: self._answer(request.id, result),
            lambda failure: self._refuse_call(request.id, failure),
        )

    def _answer(self, request_id: str, result: Any) -> None:
        try:
            answer = frames.response(request_id, result)
        except Exception:  # noqa: BLE001
            self._refuse_call(request_id, Failure())
        else:
            self.send_queue.put(answer)

    def _refuse_call(self, request_id: str, failure: Failure) -> None:
        error = failure.value
        if not isinstance(error, BridgeError):
            self._log.failure("an answer could not be written", failure=failure)
            error = internal_error()
        self.send_queue.put(frames.refusal(request_id, error))

    def _later(self, seconds: float, call: Callable[[], None]) -> IDelayedCall:
        """Call ``call`` after some seconds, unless the socket has closed by then."""
        delayed: IDelayedCall

        def run() -> None:
            self._delayed.discard(delayed)
            call()

        delayed = self._context.clock.callLater(seconds, run)
        self._delayed.add(delayed)
        return delayed
