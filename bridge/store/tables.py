"""What the state store holds in memory: namespaces of values, and their JSON."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from attrs import field

from ..classes import define, frozen
from ..protocol.errors import BridgeError, Code
from ..protocol.limits import (
    STATE_DAEMON_BYTES,
    STATE_FILE_BYTES,
    STATE_HOST_BYTES,
    STATE_NAMESPACE_BYTES,
)
from ..protocol.strictjson import dumps, loads_own

DAEMON_PREFIX = "bridge."
"""What the namespaces start with that belong to the daemon."""

HOST = "host"
"""The namespace of the page itself: switches and grants."""

Undo: TypeAlias = Callable[[], None]

_Entry: TypeAlias = tuple[bytes, Any]
"""A value: as JSON with its key, ``"key":value``, and as it is read from that."""

# So few keys that joining their texts holds the interpreter well under 1 ms.
_KEYS_AT_ONCE = 1024


@frozen
class Put:
    """
    Set a value.

    :ivar value: Anything that is JSON; a copy is kept.
    """

    ns: str
    key: str
    value: Any


@frozen
class Remove:
    """Remove a value; nothing happens when there is none."""

    ns: str
    key: str


@frozen
class Drop:
    """Remove a whole namespace; nothing happens when there is none."""

    ns: str


Edit: TypeAlias = Put | Remove | Drop


@define(eq=False, repr=False)
class Snapshot:
    """
    One namespace as it was, on its way into the file.

    The texts are joined on first use, so in the thread that writes; a namespace
    that has not changed since is not joined again.
    """

    _keys: list[str]
    _texts: dict[str, bytes]
    _joined: list[bytes] | None = None

    def pieces(self) -> list[bytes]:
        """Return the namespace as JSON, in pieces."""
        if self._joined is None:
            self._joined = list(self._join())
            self._keys, self._texts = [], {}
        return self._joined

    def _join(self) -> Iterator[bytes]:
        yield b"{"
        for start in range(0, len(self._keys), _KEYS_AT_ONCE):
            if start:
                yield b","
            keys = self._keys[start : start + _KEYS_AT_ONCE]
            yield b",".join(self._texts[key] for key in keys)
        yield b"}"


@define(eq=False, repr=False)
class Namespace:
    """
    The values of one namespace.

    :ivar size: The bytes it takes in the file, its own name included.
    """

    size: int
    values: dict[str, Any] = field(factory=dict)
    _texts: dict[str, bytes] = field(factory=dict)
    _keys: list[str] = field(factory=list)
    _snapshot: Snapshot | None = None

    @classmethod
    def named(cls, name: str) -> Namespace:
        """Make an empty one."""
        return cls(len(dumps(name)) + len(b":{},"))

    def load(self, values: Mapping[str, Any]) -> None:
        """Load what was read from the file."""
        for key in sorted(values):
            self.put(key, (_member(key, values[key]), values[key]))

    def entry(self, key: str) -> _Entry | None:
        """Return a value; ``None`` when there is none."""
        text = self._texts.get(key)
        return None if text is None else (text, self.values[key])

    def put(self, key: str, entry: _Entry) -> None:
        """Set a value."""
        self._forget(key)
        if key not in self._texts:
            self._keys.insert(bisect_left(self._keys, key), key)
        self._texts[key], self.values[key] = entry
        self.size += len(self._texts[key]) + len(b",")

    def remove(self, key: str) -> None:
        """Remove a value that is there."""
        self._forget(key)
        del self._keys[bisect_left(self._keys, key)]
        del self._texts[key], self.values[key]

    def _forget(self, key: str) -> None:
        self._snapshot = None
        if key in self._texts:
            self.size -= len(self._texts[key]) + len(b",")

    def snapshot(self) -> Snapshot:
        """Fix what the namespace holds now; later changes do not show in it."""
        if self._snapshot is None:
            self._snapshot = Snapshot(self._keys.copy(), self._texts.copy())
        return self._snapshot


def _member(key: str, value: Any) -> bytes:
    return dumps({key: value})[1:-1]


_LIMITS = {
    "the page's": STATE_FILE_BYTES,
    "the host's": STATE_HOST_BYTES,
    "the daemon's": STATE_DAEMON_BYTES,
}


def _part(ns: str) -> str:
    if ns.startswith(DAEMON_PREFIX):
        return "the daemon's"
    return "the host's" if ns == HOST else "the page's"


@define(eq=False, repr=False)
class Tables:
    """
    Every namespace.

    The daemon's, the host's and the others have each their own limit: plugins that fill
    theirs keep neither the page from its switches nor the daemon from its records.  No
    one of the others may take all that they have together.
    """

    _namespaces: dict[str, Namespace] = field(factory=dict)
    _names: list[str] = field(factory=list)
    _sizes: dict[str, int] = field(factory=lambda: dict.fromkeys(_LIMITS, 0))

    @classmethod
    def load(cls, content: Mapping[str, Mapping[str, Any]]) -> Tables:
        """Load what was read from the file, even when it is over a limit."""
        tables = cls()
        for ns, values in content.items():
            if values:
                namespace = Namespace.named(ns)
                namespace.load(values)
                # Now, so that the first write need not copy everything at once.
                namespace.snapshot()
                tables._restore(ns, namespace)
        return tables

    def get(self, ns: str, key: str) -> Any | None:
        """See ``Store.get``."""
        namespace = self._namespaces.get(ns)
        return None if namespace is None else namespace.values.get(key)

    def entries(self, ns: str) -> dict[str, Any]:
        """See ``Store.entries``."""
        namespace = self._namespaces.get(ns)
        return {} if namespace is None else namespace.values.copy()

    def names(self) -> list[str]:
        """See ``Store.namespaces``."""
        return self._names.copy()

    def snapshot(self) -> list[tuple[str, Snapshot]]:
        """Fix what is held now, as (namespace, its values), sorted."""
        return [(ns, self._namespaces[ns].snapshot()) for ns in self._names]

    def apply(self, edits: Sequence[Edit], *, limited: bool = True) -> list[Undo]:
        """
        Make all the edits, or none.

        :param limited: Whether the limits hold.
        :return: What undoes them, last first; empty when nothing changed.
        :raise BridgeError: ``bad_request``: a value is not JSON, or a part of the
            store that grew is over its limit.
        """
        before = self._sizes.copy(), {e.ns: self._size(e.ns) for e in edits}
        undo: list[Undo] = []
        try:
            for edit in edits:
                undo.extend(self._edit(edit))
            if limited:
                self._check_limits(*before)
        except BridgeError:
            roll_back(undo)
            raise
        return undo

    def _size(self, ns: str) -> int:
        namespace = self._namespaces.get(ns)
        return 0 if namespace is None else namespace.size

    def _check_limits(
        self, before: Mapping[str, int], touched: Mapping[str, int]
    ) -> None:
        for ns, size in touched.items():
            own = _part(ns) == "the page's"
            if own and size < self._size(ns) > STATE_NAMESPACE_BYTES:
                raise BridgeError(
                    Code.BAD_REQUEST,
                    f"value: a namespace takes at most {STATE_NAMESPACE_BYTES} bytes",
                )
        for part, most in _LIMITS.items():
            # Braces, and no comma after the last namespace.
            if before[part] < self._sizes[part] and self._sizes[part] + 1 > most:
                raise BridgeError(
                    Code.BAD_REQUEST,
                    f"value: {part} values take at most {most} bytes in all",
                )

    def _edit(self, edit: Edit) -> list[Undo]:
        namespace = self._namespaces.get(edit.ns)
        if isinstance(edit, Drop):
            if namespace is None:
                return []
            return [partial(self._restore, edit.ns, self._drop(edit.ns))]
        old = None if namespace is None else namespace.entry(edit.key)
        new = _entry(edit.key, edit.value) if isinstance(edit, Put) else None
        if (old and old[0]) == (new and new[0]):
            return []
        self._change(edit.ns, edit.key, new)
        return [partial(self._change, edit.ns, edit.key, old)]

    def _change(self, ns: str, key: str, entry: _Entry | None) -> None:
        """Set a value, or with ``None`` remove one that is there."""
        namespace = self._namespaces.get(ns)
        if namespace is None:
            namespace = Namespace.named(ns)
        else:
            self._drop(ns)
        if entry is None:
            namespace.remove(key)
        else:
            namespace.put(key, entry)
        if namespace.values:
            self._restore(ns, namespace)

    def _drop(self, ns: str) -> Namespace:
        namespace = self._namespaces.pop(ns)
        self._sizes[_part(ns)] -= namespace.size
        del self._names[bisect_left(self._names, ns)]
        return namespace

    def _restore(self, ns: str, namespace: Namespace) -> None:
        self._namespaces[ns] = namespace
        self._names.insert(bisect_left(self._names, ns), ns)
        self._sizes[_part(ns)] += namespace.size


def roll_back(undo: Sequence[Undo]) -> None:
    """Undo changes, the last one first."""
    for one in reversed(undo):
        one()


def _entry(key: str, value: Any) -> _Entry:
    try:
        text = _member(key, value)
    except TypeError:
        raise BridgeError(Code.BAD_REQUEST, "value: not JSON") from None
    # Reading it back keeps memory and file the same; as deep as in the file,
    # because the file must be readable again.
    [copy] = loads_own(b"[{" + text + b"}]")
    return text, copy[key]
