"""The ``notify`` service: notifications to VR overlays and the desktop."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final

from attrs import field
from twisted.internet.defer import gatherResults
from twisted.logger import Logger

from ..classes import define, frozen
from ..protocol import limits
from ..protocol.errors import BridgeError, bad_request, unavailable
from ..protocol.wire import (
    PARTIAL,
    Rule,
    entries,
    lenient,
    string,
    structure,
    unstructure,
)
from ..rpc import Caller, NoParams, method
from ..sinks.fanout import (
    FIELDS,
    Fanout,
    Message,
    Notification,
    Patch,
    notification,
    patched,
    title_first,
)

_FIELDS: Final = frozenset(FIELDS)
_FEW_SINKS: Final = Rule(
    f"at most {limits.NOTIFY_OVERRIDES} sinks",
    {"maxProperties": limits.NOTIFY_OVERRIDES},
    lambda patches: len(patches) > limits.NOTIFY_OVERRIDES,
)
_KNOWN_FIELDS: Final = Rule(
    "each an object, with no field but those of a notification",
    {PARTIAL: True},
    lambda patches: (
        not all(
            type(patch) is dict and patch.keys() <= _FIELDS
            for patch in patches.values()
        )
    ),
)
"""The fields keep their rules only where the notification is delivered to that sink."""


@frozen(kw_only=True, field_transformer=title_first, eq=False, repr=False)
class SendParams(Message):
    """
    A notification, and the sinks that show it.

    :ivar sinks: The targets that show it; every one when absent.
    :ivar overrides: What some of them are to show instead: an object of these fields
        for each, by name.
    """

    sinks: (
        Annotated[
            list[Annotated[str, string(limits.NOTIFY_SINK_CHARACTERS, least=1)]],
            entries(limits.NOTIFY_SINKS, least=1),
        ]
        | None
    ) = None
    overrides: (
        Annotated[dict[str, Annotated[Any, lenient(Patch)]], _FEW_SINKS, _KNOWN_FIELDS]
        | None
    ) = None


@frozen
class Failed:
    """
    A sink that did not show a notification.

    :ivar sink: Its name, as the caller wrote it.
    :ivar error: The name, whether it was unavailable or rejected the notification,
        and why.
    """

    sink: str
    error: str


@frozen(eq=False, repr=False)
class SendResult:
    """
    The outcome of a notification.

    :ivar ok: Whether at least one target accepted it.
    :ivar delivered: The names of those that accepted it.
    :ivar failed: Those that did not, each with ``sink`` and ``error``.
    """

    ok: bool
    delivered: list[str]
    failed: list[Failed]


@frozen(eq=False, repr=False)
class Target:
    """
    A sink that can be delivered to.

    :ivar name: Its name in ``sinks`` and ``overrides``.
    :ivar description: What it reaches.
    :ivar health: ``up``, ``unknown`` or ``down``.
    :ivar honours: The fields it uses.
    :ivar aliases: Other names it goes by.
    """

    name: str
    description: str
    health: str
    honours: list[str]
    aliases: list[str]


@frozen(eq=False, repr=False)
class TargetsResult:
    """
    Every target.

    :ivar targets: Each with ``name``, ``description``, ``health``, ``honours`` (the
        fields it uses) and ``aliases`` (other names it goes by).
    """

    targets: list[Target]


@define(eq=False, repr=False)
class Notify:
    """Shows notifications, on VR overlays and on the desktop."""

    _fanout: Fanout
    _application: str
    _aliases: Mapping[str, str] = field(factory=dict)

    _log: ClassVar[Logger] = Logger()

    def describe(self) -> dict[str, Any]:
        """Return the current targets."""
        plain: dict[str, Any] = unstructure(self._targets())
        return plain

    @method(SendParams, SendResult, seconds=limits.SINK_SECONDS + limits.CALL_SECONDS)
    async def send(self, params: SendParams, caller: Caller) -> SendResult:
        """
        Show a notification on every target, or on those that are named.

        :raise BridgeError: ``bad_request`` for a field that breaks its rule, an
            unknown sink, an empty ``sinks``, and an override under two names of one
            sink; ``unavailable`` when no sink is started. A sink that fails is in
            ``failed``.
        """
        # The base must be valid even if no target shows it: targets come and go.
        base = notification(params, self._application, caller)
        shown = list(self._deliveries(params, base))
        reasons = await gatherResults(
            [self._fanout.deliver(sink, one) for _, sink, one in shown]
        )
        delivered, failed = [], []
        for (name, _, _), why in zip(shown, reasons, strict=True):
            if why is None:
                delivered.append(name)
            else:
                failed.append(Failed(name, f"{name}: {why}"))
        self._log.debug(
            "a notification was delivered to {delivered}; failed: {failed}",
            delivered=", ".join(delivered) or "no sink",
            failed="; ".join(one.error for one in failed) or "none",
        )
        return SendResult(bool(delivered), delivered, failed)

    @method(NoParams, TargetsResult)
    async def targets(self, params: NoParams) -> TargetsResult:
        """List the targets, with their health and the fields they use."""
        return self._targets()

    def _targets(self) -> TargetsResult:
        return TargetsResult(
            [
                Target(
                    sink.name,
                    sink.description,
                    sink.health(),
                    list(sink.honours),
                    self._aliases_of(sink.name),
                )
                for sink in self._fanout.targets()
            ]
        )

    def _deliveries(
        self, params: SendParams, base: Notification
    ) -> Iterator[tuple[str, Any, Notification]]:
        """Yield the name that the caller used of each target, it, and what it shows."""
        patches = {} if params.overrides is None else params.overrides
        for requested_name, sink in self._requested(params.sinks).items():
            patch = self._patch(patches, sink.name)
            shown = base if patch is None else self._patched(params, patch, base)
            yield requested_name, sink, shown

    def _patched(
        self, params: SendParams, patch: Any, base: Notification
    ) -> Notification:
        try:
            message = patched(params, structure(patch, Patch))
            return notification(message, self._application, base.sender)
        except BridgeError as e:
            raise BridgeError(e.code, f"overrides: {e.message}") from None

    def _requested(self, names: list[str] | None) -> dict[str, Any]:
        """Return the targets, each once, by the name its caller used first."""
        available = {sink.name: sink for sink in self._fanout.targets()}
        if not available:
            raise unavailable("no notification sink has started")
        if names is None:
            return available
        aliased = {a: available[n] for a, n in self._aliases.items() if n in available}
        known = {**available, **aliased}
        found: dict[str, str] = {}
        for requested_name in names:
            if requested_name not in known:
                raise _unknown(requested_name, list(known))
            found.setdefault(known[requested_name].name, requested_name)
        return {requested: available[name] for name, requested in found.items()}

    def _aliases_of(self, name: str) -> list[str]:
        return [alias for alias, aliased in self._aliases.items() if aliased == name]

    def _patch(self, patches: Mapping[str, Any], name: str) -> Any:
        """Find the patch of a sink, under any of its names."""
        names = [name, *self._aliases_of(name)]
        found = [patches[n] for n in names if n in patches]
        if len(found) > 1:
            both = " and ".join(names)
            raise bad_request(f"overrides: {both} are one sink; name it once")
        return found[0] if found else None


def _unknown(requested_name: str, available: list[str]) -> BridgeError:
    # Cut, and escaped: it is the caller's.
    cut = json.dumps(requested_name[: limits.NOTIFY_SINK_CHARACTERS])
    return bad_request(
        f"sinks: no sink is called {cut}; there are {', '.join(available)}"
    )
