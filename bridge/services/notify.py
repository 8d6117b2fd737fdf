"""The ``notify`` service: notifications to VR overlays and the desktop."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

from attrs import field
from twisted.logger import Logger

from ..classes import define, frozen
from ..protocol.errors import BridgeError, Code
from ..protocol.limits import (
    CALL_SECONDS,
    NOTIFY_OVERRIDES,
    NOTIFY_SINK_CHARACTERS,
    NOTIFY_SINKS,
    SINK_SECONDS,
)
from ..protocol.rules import Schema
from ..protocol.wire import (
    BrokenRuleError,
    converter,
    make_converter,
    structure,
    unstructure,
)
from ..rpc.caller import Caller
from ..rpc.registry import NoParams, method
from ..sinks.fanout import Delivery, Failed, Fanout
from ..sinks.notification import (
    Message,
    Notification,
    Patch,
    notification,
    patched,
    title_first,
)


@frozen
class SinkNames:
    """1 to ``most`` names of sinks."""

    most: int

    def broken(self, value: list[str]) -> bool:
        """See ``Rule.broken``."""
        if not 1 <= len(value) <= self.most:
            return True
        # A generator would take as long as four other fields.
        for name in value:  # noqa: SIM110
            if not 1 <= len(name) <= NOTIFY_SINK_CHARACTERS:
                return True
        return False

    def describe(self) -> str:
        """See ``Rule.describe``."""
        return (
            f"1 to {self.most} names, each of 1 to {NOTIFY_SINK_CHARACTERS} characters"
        )

    def schema(self) -> Schema:
        """See ``Rule.schema``."""
        name = {"minLength": 1, "maxLength": NOTIFY_SINK_CHARACTERS}
        return {"minItems": 1, "maxItems": self.most, "items": name}


@frozen(eq=False, repr=False)
class Overrides:
    """
    What some sinks show instead.

    :ivar patches: Each a ``Patch`` in plain JSON, by the name of its sink.  Its fields
        have the right types; they must keep their rules only where the notification is
        delivered to that sink.
    """

    patches: Mapping[str, Any]

    @classmethod
    def schema(cls) -> Schema:
        """Return the schema, without that of the patches."""
        return {"type": "object", "maxProperties": NOTIFY_OVERRIDES}


_shapes = make_converter(ruled=False)


def _overrides(value: Any, _: Any) -> Overrides:
    if type(value) is not dict:
        raise TypeError
    if len(value) > NOTIFY_OVERRIDES:
        raise BrokenRuleError(f"at most {NOTIFY_OVERRIDES} sinks")
    for patch in value.values():
        _shapes.structure(patch, Patch)
    return Overrides(value)


converter.register_structure_hook(Overrides, _overrides)


@frozen(kw_only=True, field_transformer=title_first, eq=False, repr=False)
class SendParams(Message):
    """
    A notification, and the sinks that show it.

    :ivar sinks: The targets that show it; every one when absent.
    :ivar overrides: What some of them are to show instead: an object of these fields
        for each, by name.
    """

    sinks: Annotated[list[str], SinkNames(NOTIFY_SINKS)] | None = None
    overrides: Overrides | None = None


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

    @method(SendParams, SendResult, seconds=SINK_SECONDS + CALL_SECONDS)
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
        deliveries = list(self._deliveries(params, base))
        outcomes = await self._fanout.deliver(deliveries)
        failed = [outcome for outcome in outcomes if outcome is not None]
        delivered = [
            delivery.requested_name
            for delivery, outcome in zip(deliveries, outcomes, strict=True)
            if outcome is None
        ]
        self._log.debug(
            "a notification was delivered to {delivered}; failed: {failed}",
            delivered=", ".join(delivered) or "no sink",
            failed="; ".join(outcome.error for outcome in failed) or "none",
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

    def _deliveries(self, params: SendParams, base: Notification) -> Iterator[Delivery]:
        """Pair each target with what it shows."""
        patches = {} if params.overrides is None else params.overrides.patches
        for requested_name, sink in self._requested(params.sinks).items():
            patch = self._patch(patches, sink.name)
            shown = base if patch is None else self._patched(params, patch, base)
            yield Delivery(requested_name, sink, shown)

    def _patched(
        self, params: SendParams, patch: Any, base: Notification
    ) -> Notification:
        try:
            message = patched(params, structure(converter, patch, Patch))
            return notification(message, self._application, base.sender)
        except BridgeError as e:
            raise BridgeError(e.code, f"overrides: {e.message}") from None

    def _requested(self, names: list[str] | None) -> dict[str, Any]:
        """Return the targets, each once, by the name its caller used first."""
        available = {sink.name: sink for sink in self._fanout.targets()}
        if not available:
            raise BridgeError(Code.UNAVAILABLE, "no notification sink has started")
        if names is None:
            return available
        found: dict[str, str] = {}
        for requested_name in names:
            name = self._aliases.get(requested_name, requested_name)
            if name not in available:
                known = [*available, *self._known_aliases(available)]
                raise _unknown(requested_name, known)
            found.setdefault(name, requested_name)
        return {requested: available[name] for name, requested in found.items()}

    def _aliases_of(self, name: str) -> list[str]:
        return [alias for alias, aliased in self._aliases.items() if aliased == name]

    def _known_aliases(self, available: Mapping[str, Any]) -> list[str]:
        return [alias for alias, name in self._aliases.items() if name in available]

    def _patch(self, patches: Mapping[str, Any], name: str) -> Any:
        """Find the patch of a sink, under any of its names."""
        names = [name, *self._aliases_of(name)]
        found = [patches[n] for n in names if n in patches]
        if len(found) > 1:
            both = " and ".join(names)
            raise BridgeError(
                Code.BAD_REQUEST, f"overrides: {both} are one sink; name it once"
            )
        return found[0] if found else None


def _unknown(requested_name: str, available: list[str]) -> BridgeError:
    # Cut, and escaped: it is the caller's.
    cut = json.dumps(requested_name[:NOTIFY_SINK_CHARACTERS])
    return BridgeError(
        Code.BAD_REQUEST,
        f"sinks: no sink is called {cut}; there are {', '.join(available)}",
    )
