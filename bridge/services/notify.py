"""The ``notify`` service: notifications to VR overlays and the desktop."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from attrs import define, field, frozen

from ..protocol.errors import BridgeError, Code
from ..protocol.limits import (
    NOTIFY_OVERRIDES,
    NOTIFY_SINK_CHARACTERS,
    NOTIFY_SINKS,
)
from ..protocol.wire import BrokenRuleError, converter, unstructure
from ..rpc.registry import Nothing, method
from ..sinks.fanout import Delivery, Failed, Fanout
from ..sinks.notification import Notification, Patch, Title, notification, patched


@frozen
class Names:
    """1 to ``most`` names of sinks."""

    most: int

    def broken(self, value: list[str]) -> bool:
        """See ``Rule.broken``."""
        fit = all(1 <= len(name) <= NOTIFY_SINK_CHARACTERS for name in value)
        return not (1 <= len(value) <= self.most and fit)

    def describe(self) -> str:
        """See ``Rule.describe``."""
        return (
            f"1 to {self.most} names, each of 1 to {NOTIFY_SINK_CHARACTERS} characters"
        )


@frozen
class Overrides:
    """
    What some sinks are to show instead.

    :ivar patches: By the name of the sink; those for others are ignored.
    """

    patches: Mapping[str, Patch]


def _overrides(value: Any, _: Any) -> Overrides:
    if type(value) is not dict:
        raise TypeError
    if len(value) > NOTIFY_OVERRIDES:
        raise BrokenRuleError(f"at most {NOTIFY_OVERRIDES} sinks")
    return Overrides({k: converter.structure(v, Patch) for k, v in value.items()})


converter.register_structure_hook(Overrides, _overrides)


@frozen(kw_only=True)
class Sending(Patch):
    """
    A notification, and who is to show it.

    :ivar title: The first line.
    :ivar sinks: Who is to show it; every target when absent.
    :ivar overrides: What some of them are to show instead: an object of these fields
        for each, by name.
    """

    title: Title
    sinks: Annotated[list[str], Names(NOTIFY_SINKS)] | None = None
    overrides: Overrides | None = None


@frozen
class Delivered:
    """
    What became of a notification.

    :ivar ok: Whether at least one target took it.
    :ivar delivered: The names of those that took it.
    :ivar failed: Those that did not, each with ``sink`` and ``error``.
    """

    ok: bool
    delivered: list[str]
    failed: list[Failed]


@frozen
class Target:
    """
    A sink that can be delivered to.

    :ivar name: What ``sinks`` and ``overrides`` know it by.
    :ivar description: What it reaches.
    :ivar health: ``up``, ``unknown`` or ``down``.
    :ivar honours: The fields it has a use for.
    :ivar aliases: Other names it goes by.
    """

    name: str
    description: str
    health: str
    honours: list[str]
    aliases: list[str]


@frozen
class Targets:
    """
    Every target.

    :ivar targets: Each with ``name``, ``description``, ``health``, ``honours`` (the
        fields it has a use for) and ``aliases`` (other names it goes by).
    """

    targets: list[Target]


@define
class Notify:
    """Shows notifications, on VR overlays and on the desktop."""

    _fanout: Fanout
    _application: str
    _aliases: Mapping[str, str] = field(factory=dict)

    def describe(self) -> dict[str, Any]:
        """Give the targets of now."""
        plain: dict[str, Any] = unstructure(self._targets())
        return plain

    @method(Sending, Delivered)
    async def send(self, params: Sending) -> Delivered:
        """
        Show a notification on every target, or on those that are named.

        :raise BridgeError: ``bad_request`` for a field that breaks its rule, a sink
            that is not there, no sink at all in ``sinks``, and an override under two
            names of a sink; ``unavailable`` when no sink is started. A sink that fails
            is in ``failed``.
        """
        deliveries = list(self._deliveries(params))
        # What no target is shown must be sound too: targets come and go.
        notification(params, self._application)
        outcomes = await self._fanout.deliver(deliveries)
        failed = [outcome for outcome in outcomes if outcome is not None]
        delivered = [
            delivery.called
            for delivery, outcome in zip(deliveries, outcomes, strict=True)
            if outcome is None
        ]
        return Delivered(bool(delivered), delivered, failed)

    @method(Nothing, Targets)
    async def targets(self, params: Nothing) -> Targets:
        """Say who can show notifications, how it is, and what it has a use for."""
        return self._targets()

    def _targets(self) -> Targets:
        return Targets(
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

    def _deliveries(self, params: Sending) -> Iterator[Delivery]:
        """Judge what each target is to show."""
        patches = {} if params.overrides is None else params.overrides.patches
        for called, sink in self._called(params.sinks).items():
            patch = self._patch(patches, sink.name)
            yield Delivery(called, sink, self._judged(params, patch))

    def _judged(self, params: Sending, patch: Patch | None) -> Notification:
        if patch is None:
            return notification(params, self._application)
        try:
            return notification(patched(params, patch), self._application)
        except BridgeError as e:
            notification(params, self._application)  # its own fault is told as its own
            raise BridgeError(e.code, f"overrides: {e.message}") from None

    def _called(self, names: list[str] | None) -> dict[str, Any]:
        """Find the targets, each once, by the name its caller used first."""
        there = {sink.name: sink for sink in self._fanout.targets()}
        if not there:
            raise BridgeError(Code.UNAVAILABLE, "no notification sink has started")
        if names is None:
            return there
        found: dict[str, str] = {}
        for called in names:
            name = self._aliases.get(called, called)
            if name not in there:
                raise _unknown(called, [*there, *self._known_aliases(there)])
            found.setdefault(name, called)
        return {called: there[name] for name, called in found.items()}

    def _aliases_of(self, name: str) -> list[str]:
        return [alias for alias, aliased in self._aliases.items() if aliased == name]

    def _known_aliases(self, there: Mapping[str, Any]) -> list[str]:
        return [alias for alias, name in self._aliases.items() if name in there]

    def _patch(self, patches: Mapping[str, Patch], name: str) -> Patch | None:
        """Find the patch of a sink, under any of its names."""
        names = [name, *self._aliases_of(name)]
        found = [patches[n] for n in names if n in patches]
        if len(found) > 1:
            both = " and ".join(names)
            raise BridgeError(
                Code.BAD_REQUEST, f"overrides: {both} are one sink; name it once"
            )
        return found[0] if found else None


def _unknown(called: str, there: list[str]) -> BridgeError:
    # Cut, and escaped: it is the caller's.
    cut = json.dumps(called[:NOTIFY_SINK_CHARACTERS])
    return BridgeError(
        Code.BAD_REQUEST,
        f"sinks: no sink is called {cut}; there are {', '.join(there)}",
    )
