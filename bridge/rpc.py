"""
Which services there are, which methods each offers, who calls one, how, and what is
pushed to all who may.

From a named method and plain JSON to its result: look up, read, call, write.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from inspect import signature
from typing import Any, ClassVar, Concatenate, Protocol, TypeVar

from attrs import NOTHING, field, fields
from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger

from .classes import define, frozen
from .concurrency.shares import Holder
from .protocol import frames
from .protocol.errors import BridgeError, Code, WireString, internal_error
from .protocol.limits import CALL_SECONDS
from .protocol.text import nearest
from .protocol.wire import camel, structure, unstructure

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")
Offered = Callable[Concatenate[Any, P, ...], Awaitable[R]]


class Caller(Holder, Protocol):
    """
    The caller of a method.  Equal to no other, and usable as a key.

    When it ends, what it holds, such as a port that is listened on, is released or
    left to the next caller.
    """

    def push(self, event: str, text: bytes) -> None:
        """Send one event to this caller alone; ``text`` is its whole frame."""


@define(eq=False)
class HttpCaller:
    """Every caller by HTTP: it receives no events, and has no end."""

    is_page: bool = False

    def push(self, event: str, text: bytes) -> None:
        """See ``Caller.push``; does nothing."""

    def on_close(self, call: Callable[[Any], None]) -> None:
        """See ``Caller.on_close``; never calls it."""

    def drained(self) -> Deferred[None]:
        """See ``Holder.drained``; what is sent by HTTP waits elsewhere."""
        return succeed(None)


HTTP_CALLER = HttpCaller()
"""The one caller by HTTP."""


@frozen
class NoParams:
    """No fields: the parameters of a method that has none."""


@frozen
class NoResult:
    """No fields: the result of a method that only does something."""


@frozen
class Method:
    """
    One method of a service.

    :ivar params: The class its parameters are read as.
    :ivar result: The class its result is written from.
    :ivar call: Called with the service, the parameters and, for some, the caller.
    :ivar for_callers: Whether it is called with the caller.
    :ivar seconds: How long a caller should wait for the answer.
    """

    name: str
    params: type[Any]
    result: type[Any]
    call: Callable[..., Awaitable[Any]]
    for_callers: bool
    seconds: float


_MARK = "__bridge_method__"


def method(
    params: type[P],
    result: type[R],
    *,
    seconds: float = CALL_SECONDS,
) -> Callable[[Offered[P, R]], Offered[P, R]]:
    """
    Offer the decorated method over the socket and, with ``--dev``, over REST.

    It receives its parameters and, where its signature has a ``caller``, its caller.

    :param seconds: See ``Method``.
    """

    def mark(f: Offered[P, R]) -> Offered[P, R]:
        for_callers = "caller" in signature(f).parameters
        offered = Method(f.__name__, params, result, f, for_callers, seconds)
        setattr(f, _MARK, offered)
        return f

    return mark


def summary_of(documented: object) -> str:
    """
    Return the first sentence of a docstring, as plain text.

    :return: Empty without one, as with ``PYTHONOPTIMIZE=2``.
    """
    lines = (documented.__doc__ or "").strip().split("\n\n")[0].split()
    return " ".join(lines).replace("``", "")


def methods_of(service: type[Any]) -> Iterator[Method]:
    """Yield every method so decorated, in the order of the source."""
    for value in vars(service).values():
        if isinstance(found := getattr(value, _MARK, None), Method):
            yield found


@define(eq=False, repr=False)
class Registry:
    """The named services, and calls of their methods."""

    _services: dict[str, tuple[object, dict[str, Method]]] = field(factory=dict)

    _log: ClassVar[Logger] = Logger()

    def register(self, name: str, service: object) -> None:
        """Add ``service`` under ``name``."""
        methods = {method.name: method for method in methods_of(type(service))}
        self._services[name] = service, methods

    def names(self) -> list[str]:
        """The services' names, sorted."""
        return sorted(self._services)

    def find(self, service: str, name: str) -> tuple[object, Method]:
        """
        Look one method up, with its service.

        :raise BridgeError: There is no such service, or it has no such method.
        """
        if service not in self._services:
            hint = nearest(service, self._services)
            raise BridgeError(Code.UNKNOWN_SERVICE, f"no service has this name{hint}")
        owner, methods = self._services[service]
        if name not in methods:
            why = f"the service has no such method{nearest(name, methods)}"
            raise BridgeError(Code.UNKNOWN_METHOD, why)
        return owner, methods[name]

    def describe(self) -> dict[str, dict[str, Any]]:
        """Describe every service: the payload of ``welcome.services``."""
        return {name: self._describe(name) for name in self.names()}

    def _describe(self, name: str) -> dict[str, Any]:
        service, methods = self._services[name]
        more: dict[str, Any] = {}
        try:
            # A service may have fields of its own, which follow those of all.
            more = getattr(service, "describe", dict)()
        except Exception:  # noqa: BLE001
            # Each page that connects gets the description: it connects without this.
            self._log.failure("{name} can't be described", name=name)
        return {
            "summary": summary_of(type(service)),
            "methods": list(methods),
            **more,
        }

    async def call(
        self, service: str, name: str, params: Any, caller: Caller = HTTP_CALLER
    ) -> Any:
        """
        Call one method.

        :param params: Plain JSON.
        :param caller: The page or program that calls.
        :return: The result as plain JSON.
        :raise BridgeError: The call is refused.  A bug in a service or in
            a rule is logged in full, and refused as ``internal`` without any detail;
            so is ``CancelledError``, as no code cancels a call.
        """
        owner, method = self.find(service, name)
        try:
            arguments = read_arguments(params, method.params)
            more = (caller,) if method.for_callers else ()
            result = await method.call(owner, arguments, *more)
            return unstructure(result, method.result)
        except BridgeError:
            raise
        except Exception:  # noqa: BLE001
            # The names were looked up, so they are ours and safe to log.
            self._log.failure("{service}/{name} failed", service=service, name=name)
            raise internal_error() from None


def read_arguments(params: Any, kind: type[T]) -> T:
    """
    Read the parameters of a call as a method's class.

    What may be absent may also be null, which means the same.

    :raise BridgeError: ``bad_request``, naming the field and the rule.
    """
    if type(params) is dict and None in params.values():
        known: type[Any] = kind
        optional = {camel(a.name) for a in fields(known) if a.default is not NOTHING}
        params = {
            name: value
            for name, value in params.items()
            if value is not None or name not in optional
        }
    return structure(params, kind)


class Event(WireString):
    """The events a page can be pushed."""

    LOG = "log", "the daemon logs a line at or above --log"
    ERROR = "error", "a frame is refused that has no request id; to its own socket"
    PROGRESS = "progress", "a plugin operation reaches a step"
    PLUGINS = "plugins", "the set of installed plugins has changed"
    BUILD = "build", "a build has ended"
    REMOTE = "remote", "with `--dev`: a snippet is to be evaluated; `{id, code}`"
    OSC = "osc", "an OSC message was received; the newest of each address"


@define(eq=False, repr=False)
class Hub:
    """The authenticated sockets.  A failure of one harms no other."""

    _subscribers: dict[Caller, None] = field(factory=dict)
    _joined: list[Callable[[Any], None]] = field(factory=list)

    _log: ClassVar[Logger] = Logger()

    def add(self, subscriber: Caller) -> None:
        """
        Push to ``subscriber`` from now on.

        A command is no page: it is asked nothing, and what a page has left is not for
        it.
        """
        self._subscribers[subscriber] = None
        for call in self._joined if subscriber.is_page else ():
            call(subscriber)

    def on_join(self, call: Callable[[Any], None]) -> None:
        """Call ``call`` with each page that is added from now on."""
        self._joined.append(call)

    def remove(self, subscriber: Caller) -> None:
        """Stop pushing to ``subscriber``; does nothing if it was not added."""
        self._subscribers.pop(subscriber, None)

    def push(self, event: str, data: Any) -> None:
        """Send an event to every subscriber; ``data`` is plain JSON."""
        self._send(event, data, list(self._subscribers))

    def ask(self, event: str, data: Any) -> list[Caller]:
        """
        Send an event that pages are to answer.

        :param data: Plain JSON.
        :return: The pages it was sent to.
        """
        pages = [subscriber for subscriber in self._subscribers if subscriber.is_page]
        return self._send(event, data, pages)

    def _send(self, event: str, data: Any, subscribers: list[Caller]) -> list[Caller]:
        text = frames.push(event, data)
        reached = []
        for subscriber in subscribers:
            try:
                subscriber.push(event, text)
                reached.append(subscriber)
            except Exception:  # noqa: BLE001
                self.remove(subscriber)
                self._log.failure("a socket could not be pushed to")
        return reached
