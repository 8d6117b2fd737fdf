"""Which services there are, and which methods each offers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Protocol, TypeVar, runtime_checkable

from attrs import field

from ..classes import define, frozen
from ..protocol.limits import CALL_SECONDS
from .caller import Caller

P = TypeVar("P")
R = TypeVar("R")
S = TypeVar("S")


@frozen
class Nothing:
    """No fields: for a method that takes no parameters, or answers ``{}``."""


@frozen(kw_only=True)
class Terms:
    """
    What the callers of a method may rely on.

    :ivar seconds: How long a caller should wait for the answer.
    :ivar since: The version of the protocol that the method came with.
    """

    seconds: float = CALL_SECONDS
    since: str = "1.0"


@frozen
class Method:
    """
    One method of a service.

    :ivar summary: The first sentence of its docstring.
    :ivar params: The class its parameters are read as.
    :ivar result: The class its result is written from.
    :ivar refusals: The part of its docstring about ``BridgeError``, or empty.
    :ivar call: Called with the service, the parameters and the caller.
    :ivar terms: What callers may rely on.
    """

    name: str
    summary: str
    refusals: str
    params: type[Any]
    result: type[Any]
    call: Callable[..., Awaitable[Any]]
    terms: Terms


@runtime_checkable
class Describes(Protocol):
    """A service that adds fields of its own to its description in ``welcome``."""

    def describe(self) -> dict[str, Any]:
        """Return the fields that follow ``summary`` and ``methods``; plain JSON."""


_MARK = "__bridge_method__"


def method(
    params: type[P], result: type[R], **terms: Any
) -> Callable[[Callable[[S, P], Awaitable[R]]], Callable[[S, P], Awaitable[R]]]:
    """
    Offer the decorated method over the socket and, with ``--dev``, over REST.

    :param terms: Fields of ``Terms``.
    """

    def mark(f: Callable[[S, P], Awaitable[R]]) -> Callable[[S, P], Awaitable[R]]:
        def call(service: S, arguments: P, caller: Caller) -> Awaitable[R]:
            return f(service, arguments)

        setattr(f, _MARK, _documented(f, params, result, call, Terms(**terms)))
        return f

    return mark


def method_for(
    params: type[P], result: type[R], **terms: Any
) -> Callable[
    [Callable[[S, P, Caller], Awaitable[R]]], Callable[[S, P, Caller], Awaitable[R]]
]:
    """Offer a method, as ``method`` does, that also receives its caller."""

    def mark(
        f: Callable[[S, P, Caller], Awaitable[R]],
    ) -> Callable[[S, P, Caller], Awaitable[R]]:
        setattr(f, _MARK, _documented(f, params, result, f, Terms(**terms)))
        return f

    return mark


def _documented(
    f: Callable[..., Any],
    params: type[Any],
    result: type[Any],
    call: Callable[..., Awaitable[Any]],
    terms: Terms,
) -> Method:
    _, _, refusals = (f.__doc__ or "").partition(":raise BridgeError:")
    text = " ".join(refusals.split())
    return Method(f.__name__, summary_of(f), text, params, result, call, terms)


def summary_of(documented: object) -> str:
    """
    Return the first sentence of a docstring, as plain text.

    :raise ValueError: There is none: what callers can reach is documented.
    """
    lines = (documented.__doc__ or "").strip().split("\n\n")[0].split()
    if not lines:
        raise ValueError(f"undocumented: {documented!r}")
    return " ".join(lines).replace("``", "")


def methods_of(service: type[Any]) -> Iterator[Method]:
    """Yield every method so decorated, in the order of the source."""
    for value in vars(service).values():
        if isinstance(found := getattr(value, _MARK, None), Method):
            yield found


@define(eq=False, repr=False)
class Registry:
    """The named services."""

    _services: dict[str, object] = field(factory=dict)
    _methods: dict[tuple[str, str], Method] = field(factory=dict)

    def register(self, name: str, service: object) -> None:
        """Add ``service`` under ``name``."""
        self._services[name] = service
        for found in methods_of(type(service)):
            self._methods[name, found.name] = found

    def extended(self, name: str, service: object) -> Registry:
        """Return a registry that has ``service`` too; this one stays as it is."""
        more = Registry({**self._services}, {**self._methods})
        more.register(name, service)
        return more

    def names(self) -> list[str]:
        """The services' names, sorted."""
        return sorted(self._services)

    def methods(self, service: str) -> list[str]:
        """The names of a service's methods; none when there is no such service."""
        return [name for owner, name in self._methods if owner == service]

    def find(self, service: str, name: str) -> tuple[object, Method | None] | None:
        """
        Look one method up.

        :return: ``None`` when there is no such service; the method is ``None``
            when the service has no such method.
        """
        if service not in self._services:
            return None
        return self._services[service], self._methods.get((service, name))

    def describe(self) -> dict[str, dict[str, Any]]:
        """Describe every service: the payload of ``welcome.services``."""
        return {name: self._describe(name) for name in self.names()}

    def _describe(self, name: str) -> dict[str, Any]:
        service = self._services[name]
        more = service.describe() if isinstance(service, Describes) else {}
        return {
            "summary": summary_of(type(service)),
            "methods": [m.name for m in methods_of(type(service))],
            **more,
        }
