"""
The state: the namespaces of values that are held in memory, and the file that keeps
them, which is replaced whole, with the generation before it.

::

    state.json.tmp      the new generation, until it is durable
    state.json          the current one
    state.json.bak      the previous one

``state.json`` is whole at every instant, so that whatever looks at it, such as a
backup, finds one generation or the other; ``state.json.bak`` is for damage to it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any, Final, TypeAlias

from attrs import field

from ..classes import frozen
from ..datadir.ownership import NotOwnError, check
from ..protocol import limits
from ..protocol.errors import BridgeError, Code, UserError, bad_request
from ..protocol.strictjson import dumps, loads_own, loads_unique
from ..system.files import NotRegularError, open_regular, sync_directory, write_new

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


_DAEMONS: Final = "the daemon's"
_LIMITS = {
    "the page's": limits.STATE_FILE_BYTES,
    "the host's": limits.STATE_HOST_BYTES,
    _DAEMONS: limits.STATE_DAEMON_BYTES,
}


def _part(ns: str) -> str:
    if ns.startswith(DAEMON_PREFIX):
        return _DAEMONS
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
            store that grew is over its limit; ``internal`` if that is the daemon's.
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
                # No caller has chosen the daemon's own.
                is_own = part == _DAEMONS
                code = Code.INTERNAL if is_own else Code.BAD_REQUEST
                why = f"value: {part} values take at most {most} bytes in all"
                raise BridgeError(code, why)


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


_NO_HARD_LINKS: Final = frozenset(
    {errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK}
)


class StoreError(UserError):
    """The state file cannot be used, and must not be overwritten."""


class RepairableError(StoreError):
    """It is damaged; a start of the daemon sets it aside."""


class DamagedError(Exception):
    """What was read is not what was ever written whole."""


class NotDurableError(OSError):
    """The new generation is the current one, unless the power fails now."""


@frozen(eq=False, repr=False)
class Generations:
    """
    One file and its previous generation.  Everything here blocks.

    :ivar path: The current generation.
    """

    path: Path

    @cached_property
    def previous(self) -> Path:
        """The previous generation."""
        return self._sibling(".bak")

    @cached_property
    def _temporary(self) -> Path:
        return self._sibling(".tmp")

    @cached_property
    def _spare(self) -> Path:
        return self._sibling(".bak.tmp")

    def _sibling(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)

    def load(self) -> tuple[Tables, str | None]:
        """
        Read the current generation, or else the previous one; only who writes may.

        A file that is damaged is kept aside under a name of its own, and files of an
        interrupted ``replace`` are removed.

        :return: What was read; and what the operator should know, ``None`` when all is
            well.
        :raise StoreError: A file can't be read now, or has a shape this version does
            not know, or nothing can be set aside or removed in its directory.
        """
        damaged = []
        with _explained(self.path):
            for stray in (self._temporary, self._spare):
                stray.unlink(missing_ok=True)
            for path in (self.path, self.previous):
                try:
                    found = _tables(self.path, read_file(path))
                except FileNotFoundError:
                    continue
                except (NotRegularError, DamagedError):
                    damaged.append(path)
                else:
                    self._separate()
                    return found, self._notice(damaged, path)
            return Tables(), self._notice(damaged, None)

    def _separate(self) -> None:
        """
        Give both generations a file of their own.

        A kill between the two renames of ``replace`` leaves one with both names, and
        what damages it would damage both.
        """
        with contextlib.suppress(OSError):
            if os.path.samefile(self.path, self.previous):
                write_new(self._spare, [read_file(self.path)])
                os.replace(self._spare, self.previous)

    def _notice(self, damaged: list[Path], source: Path | None) -> str | None:
        if source == self.path or not (source or damaged):
            return None
        notices = [
            f"{path.name} could not be read and is kept as {self._set_aside(path)}"
            for path in damaged
        ]
        if not notices:
            notices = [f"{self.path.name} is missing"]
        sync_directory(self.path.parent)
        if source is None:
            return "; ".join([*notices, "starting with an empty one"])
        return "; ".join(
            [*notices, f"{source.name}, the generation before it, is used"]
        )

    def _set_aside(self, path: Path) -> str:
        number = 1
        while os.path.lexists(self._sibling(f".corrupt-{number}")):
            number += 1
        aside = self._sibling(f".corrupt-{number}")
        os.rename(path, aside)
        return aside.name

    def replace(self, pieces: Iterable[bytes]) -> None:
        """
        Make a new generation, durable when this returns.

        :raise NotDurableError: It is the current one, and not durable.
        :raise OSError: It could not be made, and the current one is as it was.
        """
        try:
            write_new(self._temporary, pieces)
            self._keep()
            self._rename()
        except BaseException:
            for stray in (self._temporary, self._spare):
                with contextlib.suppress(OSError):
                    os.unlink(stray)
            raise
        try:
            sync_directory(self.path.parent)
        except OSError as e:
            raise NotDurableError(e.errno, e.strerror) from e

    def _rename(self) -> None:
        try:
            os.replace(self._temporary, self.path)
        except OSError as e:
            # A disk may have done what it reports as failed.
            if os.path.lexists(self._temporary):
                raise
            raise NotDurableError(e.errno, e.strerror) from e

    def _keep(self) -> None:
        """Make the current generation, which stays in its place, the previous one."""
        self._spare.unlink(missing_ok=True)
        try:
            os.link(self.path, self._spare)
        except FileNotFoundError:
            return
        except OSError as e:
            if e.errno not in _NO_HARD_LINKS:
                raise
            write_new(self._spare, [read_file(self.path)])
        os.replace(self._spare, self.previous)
        # Replacing does nothing when both were names of one file already.
        self._spare.unlink(missing_ok=True)


def read_file(path: Path) -> bytes:
    """
    Read one generation, of which there may be a link.

    :raise OSError: It can't be read, or is not a regular file.
    """
    with open_regular(os.path.realpath(path)) as file:
        return file.read()


def read_state(path: Path) -> Tables:
    """
    Read the state file as another process has left it, which may be running.

    Nothing is touched.  Where the file is missing, it is the generation before it.

    :raise StoreError: It can't be read, or another user may have written it; starting
        the daemon repairs what it can.
    """
    with _explained(path):
        generations = (path, Generations(path).previous)
        for generation in generations:
            check(generation)
        for generation in generations:
            with contextlib.suppress(FileNotFoundError):
                return _tables(path, read_file(generation))
        return Tables()


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say why a state file can't be used, as ``StoreError``."""
    try:
        yield
    except NotOwnError as e:
        raise StoreError(str(e)) from None
    except NotRegularError as e:
        raise RepairableError(f"{path} cannot be read: {e.strerror}") from None
    except OSError as e:
        fix = "try again, or move it away to go on with its .bak"
        if isinstance(e, PermissionError):
            fix = f"make it yours, run: sudo chown -R $USER {quote(str(path.parent))}"
        raise StoreError(f"{path} cannot be read: {e.strerror}; {fix}") from None
    except DamagedError:
        why = f"{path} is damaged; starting the daemon repairs it"
        raise RepairableError(why) from None


def _tables(path: Path, content: bytes) -> Tables:
    try:
        parsed = loads_unique(content)
    except BridgeError:
        raise DamagedError from None
    if type(parsed) is not dict or any(type(v) is not dict for v in parsed.values()):
        raise StoreError(
            f"{path}: not an object of objects; start the version that wrote it, if a "
            "newer one did, or move it away, and its .bak too if this is reported again"
        )
    return Tables.load(parsed)
