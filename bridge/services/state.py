"""The ``state`` service: the page's key-value store."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from attrs import field

from ..classes import define, frozen
from ..protocol import limits
from ..protocol.strictjson import dumps
from ..protocol.wire import PARTIAL, Rule, converter, string
from ..rpc import NoResult, method
from ..store.state import DAEMON_PREFIX, Put, Remove
from ..store.store import Store

_NOT_RESERVED: Final = Rule(
    f"not starting with {DAEMON_PREFIX}, which is the daemon's",
    {"not": {"pattern": f"^{re.escape(DAEMON_PREFIX)}"}},
    lambda name: name.startswith(DAEMON_PREFIX),
)
_VALUE: Final = Rule(
    f"at most {limits.STATE_VALUE_BYTES} bytes as compact JSON",
    {PARTIAL: True},
    lambda value: len(dumps(value)) > limits.STATE_VALUE_BYTES,
)
_NAME = string(limits.STATE_NAME_CHARACTERS, like="[a-zA-Z0-9_.:-]+", least=1)

Name = Annotated[str, _NAME, _NOT_RESERVED]
Key = Annotated[str, _NAME]


@frozen(eq=False, repr=False)
class NamespaceRef:
    """
    A whole namespace.

    :ivar ns: The namespace: ``host``, or ``plugin:`` and a plugin's id.
    """

    ns: Name


@frozen(eq=False, repr=False)
class EntryRef(NamespaceRef):
    """
    Where one value lives.

    :ivar key: The key in it.
    """

    key: Key


@frozen(eq=False, repr=False)
class Setting(EntryRef):
    """
    A value, and where it is to live.

    :ivar value: Any JSON value.
    """

    value: Annotated[Any, _VALUE]


@frozen(eq=False, repr=False)
class Value:
    """
    What is there.

    :ivar value: ``null`` when nothing is.
    """

    value: Any


@frozen(eq=False, repr=False)
class Entries:
    """
    All that is there.

    :ivar entries: The values of the namespace by key; empty when it has none.
    """

    entries: dict[str, Any]


# They hold plain JSON, which cattrs would copy value by value.
converter.register_unstructure_hook(Value, lambda found: {"value": found.value})
converter.register_unstructure_hook(Entries, lambda found: {"entries": found.entries})


@define(eq=False, repr=False)
class State:
    """Keeps the page's settings: any JSON by namespace and key."""

    _store: Store
    _location: str = field(converter=str)

    def describe(self) -> dict[str, Any]:
        """Return the location of the file, and its limits."""
        return {
            "location": self._location,
            "limits": {
                "nameChars": limits.STATE_NAME_CHARACTERS,
                "valueBytes": limits.STATE_VALUE_BYTES,
                "fileBytes": limits.STATE_FILE_BYTES,
                "hostBytes": limits.STATE_HOST_BYTES,
                "namespaceBytes": limits.STATE_NAMESPACE_BYTES,
            },
        }

    @method(EntryRef, Value)
    async def get(self, params: EntryRef) -> Value:
        """Read one value; ``null`` when there is none."""
        return Value(self._store.get(params.ns, params.key))

    @method(Setting, NoResult)
    async def set(self, params: Setting) -> NoResult:
        """
        Set one value; answered when it is durable.

        :raise BridgeError: ``bad_request`` for a name that breaks a rule or is the
            daemon's, a value over 64 KiB, a namespace over 2 MiB, ``host`` over 512
            KiB, and a file that would exceed 8 MiB;
            ``internal`` when it can't be written: nothing has changed then.
        """
        await self._store.commit([Put(params.ns, params.key, params.value)])
        return NoResult()

    @method(EntryRef, NoResult)
    async def delete(self, params: EntryRef) -> NoResult:
        """
        Remove one value, which need not be there; answered when it is durable.

        :raise BridgeError: ``bad_request`` for a name that breaks a rule or is the
            daemon's; ``internal`` when the file can't be written.
        """
        await self._store.commit([Remove(params.ns, params.key)])
        return NoResult()

    @method(NamespaceRef, Entries)
    async def list(self, params: NamespaceRef) -> Entries:
        """Read all values of a namespace."""
        return Entries(self._store.entries(params.ns))
