"""What the state store holds in memory: namespaces of values, and their JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from attrs import field

from ..classes import frozen
from ..protocol import limits
from ..protocol.errors import bad_request
from ..protocol.strictjson import dumps, loads_own

DAEMON_PREFIX = "bridge."
"""What the namespaces start with that belong to the daemon."""

HOST = "host"
"""The namespace of the page itself: switches and grants."""

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
    """
    Remove a value, or a whole namespace; nothing happens when there is none.

    :ivar key: ``None`` for all of the namespace.
    """

    ns: str
    key: str | None = None


Edit: TypeAlias = Put | Remove


@frozen(eq=False, repr=False)
class Namespace:
    """
    The values of one namespace, never changed: an edit makes another.

    :ivar size: The bytes it takes in the file, its own name included.
    :ivar texts: Each value as JSON with its key, ``"key":value``.
    """

    size: int
    values: Mapping[str, Any] = field(factory=dict)
    texts: Mapping[str, bytes] = field(factory=dict)

    @classmethod
    def load(cls, name: str, values: Mapping[str, Any]) -> Namespace:
        """Load what was read from the file."""
        texts = {key: _member(key, value) for key, value in values.items()}
        size = sum(len(text) + len(b",") for text in texts.values())
        return cls(len(dumps(name)) + len(b":{},") + size, values, texts)

    def put(self, key: str, value: Any) -> Namespace:
        """
        Set a value.

        :return: Itself, when it has that value.
        :raise BridgeError: ``bad_request``: it is not JSON.
        """
        try:
            text = _member(key, value)
        except TypeError:
            raise bad_request("value: not JSON") from None
        if text == self.texts.get(key):
            return self
        # Reading it back keeps memory and file the same; as deep as in the file,
        # because the file must be readable again.
        [copy] = loads_own(b"[{" + text + b"}]")
        return Namespace(
            self.size - self._taken(key) + len(text) + len(b","),
            {**self.values, **copy},
            {**self.texts, key: text},
        )

    def without(self, key: str) -> Namespace:
        """Remove a value; the same namespace when there is none."""
        if key not in self.texts:
            return self
        values, texts = dict(self.values), dict(self.texts)
        del values[key], texts[key]
        return Namespace(self.size - self._taken(key), values, texts)

    def _taken(self, key: str) -> int:
        return len(self.texts[key]) + len(b",") if key in self.texts else 0

    @cached_property
    def pieces(self) -> list[bytes]:
        """
        The namespace as JSON, in pieces.

        They are joined on first use, so in the thread that writes.
        """
        texts = list(self.texts.values())
        starts = range(0, len(texts), _KEYS_AT_ONCE)
        joined = [b",".join(texts[start : start + _KEYS_AT_ONCE]) for start in starts]
        between = [piece for text in joined for piece in (b",", text)]
        return [b"{", *between[1:], b"}"]


def _member(key: str, value: Any) -> bytes:
    return dumps({key: value})[1:-1]


_LIMITS = {
    "the page's": limits.STATE_FILE_BYTES,
    "the host's": limits.STATE_HOST_BYTES,
    "the daemon's": limits.STATE_DAEMON_BYTES,
}


def _part(ns: str) -> str:
    if ns.startswith(DAEMON_PREFIX):
        return "the daemon's"
    return "the host's" if ns == HOST else "the page's"


@frozen(eq=False, repr=False)
class Tables:
    """
    Every namespace, never changed: edits make other tables.

    The daemon's, the host's and the others have each their own limit: plugins that fill
    theirs keep neither the page from its switches nor the daemon from its records.  No
    one of the others may take all that they have together.
    """

    _namespaces: Mapping[str, Namespace] = field(factory=dict)
    _sizes: Mapping[str, int] = field(factory=lambda: dict.fromkeys(_LIMITS, 0))

    @classmethod
    def load(cls, content: Mapping[str, Mapping[str, Any]]) -> Tables:
        """Load what was read from the file, even when it is over a limit."""
        namespaces = {
            ns: Namespace.load(ns, values) for ns, values in content.items() if values
        }
        sizes = dict.fromkeys(_LIMITS, 0)
        for ns, namespace in namespaces.items():
            sizes[_part(ns)] += namespace.size
        return cls(namespaces, sizes)

    def get(self, ns: str, key: str) -> Any | None:
        """Return one value, which must not be modified; ``None`` when there is none."""
        namespace = self._namespaces.get(ns)
        return None if namespace is None else namespace.values.get(key)

    def entries(self, ns: str) -> dict[str, Any]:
        """Return the values of a namespace by key; they must not be modified."""
        namespace = self._namespaces.get(ns)
        return {} if namespace is None else dict(namespace.values)

    def namespaces(self) -> list[str]:
        """Name every namespace that has a value, sorted."""
        return sorted(self._namespaces)

    def pieces(self) -> Iterator[bytes]:
        """Return the whole file."""
        yield b"{"
        for index, (ns, namespace) in enumerate(self._namespaces.items()):
            yield (b"," if index else b"") + dumps(ns) + b":"
            yield from namespace.pieces
        yield b"}"

    def edited(self, edits: Sequence[Edit], *, limited: bool = True) -> Tables:
        """
        Make all the edits.

        :param limited: Whether the limits hold.
        :return: Itself, when nothing changed.
        :raise BridgeError: ``bad_request``: a value is not JSON, or a part of the
            store that grew is over its limit.
        """
        namespaces, sizes = dict(self._namespaces), dict(self._sizes)
        for edit in edits:
            ns = edit.ns
            old = namespaces.get(ns)
            new = _edited(ns, old, edit)
            if new is None:
                namespaces.pop(ns, None)
            else:
                namespaces[ns] = new
            sizes[_part(ns)] += _size(new) - _size(old)
        made = Tables(namespaces, sizes)
        touched = [edit.ns for edit in edits]
        if all(namespaces.get(ns) is self._namespaces.get(ns) for ns in touched):
            return self
        if limited:
            made._check_limits(self, touched)
        return made

    def _check_limits(self, before: Tables, touched: Sequence[str]) -> None:
        for ns in touched:
            size = _size(self._namespaces.get(ns))
            grown = size > _size(before._namespaces.get(ns))
            most = limits.STATE_NAMESPACE_BYTES
            if grown and _part(ns) == "the page's" and size > most:
                raise bad_request(f"value: a namespace takes at most {most} bytes")
        for part, most in _LIMITS.items():
            # Braces, and no comma after the last namespace.
            if before._sizes[part] < self._sizes[part] and self._sizes[part] + 1 > most:
                raise bad_request(
                    f"value: {part} values take at most {most} bytes in all"
                )


def _size(namespace: Namespace | None) -> int:
    return 0 if namespace is None else namespace.size


def _edited(ns: str, namespace: Namespace | None, edit: Edit) -> Namespace | None:
    """Make one edit; ``None`` is an empty namespace."""
    if isinstance(edit, Put):
        return (namespace or Namespace.load(ns, {})).put(edit.key, edit.value)
    if namespace is None or edit.key is None:
        return None
    rest = namespace.without(edit.key)
    return rest if rest.texts else None
