"""
What the state holds of plugins: where each is from, which keys the user has accepted,
and how far each has signed.

Nothing is written here: changes are returned as edits, which the operation commits
together with everything else it changes, or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Protocol

from attrs import asdict, evolve

from ...classes import define, frozen
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.text import PLUGIN_ID, timestamp
from ...protocol.wire import camel, string, structure, unstructure
from ...store.state import HOST, Edit, Put, Remove
from ..tree.tree import Signed, key_id

RECORDS: Final = "bridge.plugins"
"""By plugin id: the records."""

KEYS: Final = "bridge.plugin-keys"
"""By key id: the keys the user has accepted."""

MARKS: Final = "bridge.plugin-marks"
"""By plugin id: the highest ``signedAt`` committed, by key id."""

SWITCH: Final = "enabled:"
"""Begins the page's key of a plugin's switch; the plugin's id follows."""

GRANTS: Final = "grants:"
"""Begins the page's key of what a plugin was granted; the plugin's id follows."""


class Entries(Protocol):
    """Reads the state; ``Store`` does, and so do ``Tables``."""

    def get(self, ns: str, key: str) -> Any | None:
        """Return one value; ``None`` when there is none."""

    def entries(self, ns: str) -> dict[str, Any]:
        """Return the values of a namespace by key."""


@frozen
class Record:
    """
    Where a plugin came from, and whose signature it carries.

    :ivar url: As it was given to ``install``.
    :ivar commit: The hexadecimal id of the commit.
    :ivar key_id: The fingerprint of its author's key; empty in a record made
        before plugins were signed.
    :ivar signed_at: Seconds since the epoch, as the author wrote it.
    :ivar installed_at: Milliseconds since the epoch.
    :ivar updated_at: The same; equal to ``installed_at`` until the first update.
    """

    url: str
    commit: str
    key_id: str
    signed_at: int
    installed_at: int
    updated_at: int

    def fields(self) -> dict[str, Any]:
        """Return the fields as they are in the store."""
        return {camel(name): value for name, value in asdict(self).items()}

    def put(self, plugin_id: str) -> Put:
        """Return the edit that stores this."""
        return Put(RECORDS, plugin_id, self.fields())


_NOTHING: Final = Record("", "", "", 0, 0, 0)


def read_record(value: Any) -> Record:
    """
    Read a record, even a damaged one.

    A field that is missing or of the wrong type is empty or 0: a plugin whose
    record is damaged must still be seen, and be uninstalled.
    """
    found = value if type(value) is dict else {}
    fields = asdict(_NOTHING)
    for name, nothing in fields.items():
        one = found.get(camel(name))
        fields[name] = one if type(one) is type(nothing) else nothing
    return Record(**fields)


def read_records(store: Entries) -> dict[str, Record]:
    """
    Return every record by plugin id, sorted.

    A key that is no plugin id is left out: no path is ever made of it.
    """
    return {
        name: read_record(value)
        for name, value in sorted(store.entries(RECORDS).items())
        if re.fullmatch(PLUGIN_ID, name)
    }


def recorded(store: Entries, plugin_id: str) -> Record:
    """
    Return the record of an installed plugin.

    :raise BridgeError: ``not_installed``.
    """
    if not is_recorded(store, plugin_id):
        raise plugin_error(Prefix.NOT_INSTALLED, f"{plugin_id} is not installed")
    return read_record(store.get(RECORDS, plugin_id))


def check_signed(record: Record) -> None:
    """
    Check that a plugin's record is not from before plugins were signed.

    :raise BridgeError: ``reinstall_required``.
    """
    if not record.key_id:
        raise plugin_error(
            Prefix.REINSTALL_REQUIRED,
            "the record names no signing key; uninstall the plugin and install it "
            "again",
        )


def is_recorded(store: Entries, plugin_id: str) -> bool:
    """Whether there is a record, damaged or not: it may be ``null``."""
    return plugin_id in store.entries(RECORDS)


def settings_namespace(plugin_id: str) -> str:
    """Return the namespace of a plugin's settings."""
    return f"plugin:{plugin_id}"


def removal(plugin_id: str) -> list[Edit]:
    """Return the edits of an uninstall: all goes but the marks."""
    # The page removes its switch and its grants too, but may be gone by then.
    pages = [Remove(HOST, prefix + plugin_id) for prefix in (SWITCH, GRANTS)]
    return [Remove(RECORDS, plugin_id), Remove(settings_namespace(plugin_id)), *pages]


@frozen
class Former:
    """
    A value of the state as it was before an operation.

    :ivar key: ``None`` for a namespace that was empty.
    :ivar value: ``None`` when there was none.
    """

    ns: str
    key: str | None = None
    value: Any = None

    def edit(self) -> Edit:
        """Return the edit that restores it."""
        if self.key is None or self.value is None:
            return Remove(self.ns, self.key)
        return Put(self.ns, self.key, self.value)


def former(store: Entries, edits: Sequence[Edit]) -> list[Former]:
    """
    Return the current values of what ``edits`` change.

    :param edits: A whole namespace among them is empty.
    """
    return [
        Former(edit.ns, edit.key, store.get(edit.ns, edit.key) if edit.key else None)
        for edit in edits
    ]


@frozen
class _Key:
    """
    What is known of a key.

    :ivar public_key: The Ed25519 key, 64 hexadecimal digits.
    :ivar label: What it was first accepted for: a plugin's id, and its address.
    :ivar trusted_at: When it was accepted: milliseconds since the epoch.
    :ivar last_used_at: The same, of the last install or update that it signed.
    """

    public_key: Annotated[str, string(64, like=r"[0-9a-f]+", least=64)]
    label: str
    trusted_at: int
    last_used_at: int


@frozen
class AcceptedKey(_Key):
    """
    The record of a key the user has accepted.

    :ivar plugins: Ids of every plugin it has signed, in the order they were seen.
    """

    plugins: list[str]


@frozen
class KeyEntry(_Key):
    """
    An accepted key.

    :ivar key_id: Its fingerprint.
    :ivar seen_for: Ids of every plugin it has signed, in the order they were seen.
    :ivar installed: Ids of the installed plugins it has signed, sorted.
    """

    key_id: str
    seen_for: list[str]
    installed: list[str]


@define
class Trust:
    """Reads authors' keys from the state store."""

    _records: Entries

    def is_trusted(self, key_id: str) -> bool:
        """Whether the user has accepted this key."""
        return self._accepted(key_id) is not None

    def _accepted(self, of: str) -> AcceptedKey | None:
        value = self._records.get(KEYS, of)
        return None if value is None else _read(of, value)

    def trusted_at(self, key_id: str) -> int | None:
        """When a key was accepted, in milliseconds since the epoch; ``None`` if not."""
        key = self._accepted(key_id)
        return None if key is None else key.trusted_at

    def label(self, key_id: str) -> str:
        """What a key was first accepted for; empty when that is not known."""
        key = self._accepted(key_id)
        return "" if key is None else key.label

    def mark(self, plugin_id: str, key_id: str) -> int:
        """
        The highest ``signedAt`` committed for this plugin by this key.

        :return: Seconds since the epoch; 0 when there is none.
        """
        return self._marks(plugin_id).get(key_id, 0)

    def _marks(self, plugin_id: str) -> dict[str, int]:
        value = self._records.get(MARKS, plugin_id)
        if type(value) is not dict:
            return {}
        return {k: at for k, at in value.items() if type(at) is int}

    def check_mark(self, plugin_id: str, signed: Signed) -> None:
        """
        Refuse a tree signed before one that this plugin already had by this key.

        :raise BridgeError: ``downgrade``.
        """
        mark = self.mark(plugin_id, signed.key_id)
        if signed.signed_at < mark:
            raise signed_earlier(signed.signed_at, mark)

    def acceptance(
        self, plugin_id: str, url: str, signed: Signed, now_ms: int
    ) -> list[Edit]:
        """
        Return the edits that accept the key of a tree, and raise its mark.

        Made from what the store holds now, so to be committed before anything else
        changes these records.

        :param url: Where the tree came from; already validated.
        :param now_ms: Milliseconds since the epoch.
        """
        key = self._accepted(signed.key_id) or AcceptedKey(
            signed.public_key, f"{plugin_id} ({url})", now_ms, now_ms, []
        )
        plugins = list(dict.fromkeys([*key.plugins, plugin_id]))
        key = evolve(key, last_used_at=now_ms, plugins=plugins)
        highest = max(signed.signed_at, self.mark(plugin_id, signed.key_id))
        marks = {**self._marks(plugin_id), signed.key_id: highest}
        return [
            Put(KEYS, signed.key_id, unstructure(key)),
            Put(MARKS, plugin_id, marks),
        ]

    def keys(self, installed: Mapping[str, str]) -> list[KeyEntry]:
        """
        Return the accepted keys for ``plugins/keys``, the last used first.

        :param installed: From the id of each installed plugin to its key id.
        """
        entries = []
        for of, value in self._records.entries(KEYS).items():
            if (key := _read(of, value)) is not None:
                ids = sorted(name for name, by in installed.items() if by == of)
                about = asdict(key, recurse=False)
                seen = about.pop("plugins")
                entries.append(
                    KeyEntry(**about, key_id=of, seen_for=seen, installed=ids)
                )
        return sorted(entries, key=lambda one: (-one.last_used_at, one.key_id))

    def forgetting(self, key_id: str) -> list[Edit]:
        """
        Return the edits that remove a key, and its marks.

        With them, nothing could replace a release that was dated ahead.

        :raise BridgeError: ``not_trusted``: it is not accepted.
        """
        if self._records.get(KEYS, key_id) is None:
            raise plugin_error(
                Prefix.NOT_TRUSTED, "keyId: no accepted key has this fingerprint"
            )
        edits: list[Edit] = [Remove(KEYS, key_id)]
        for plugin_id in self._records.entries(MARKS):
            marks = self._marks(plugin_id)
            if marks.pop(key_id, None) is not None:
                edits.append(
                    Put(MARKS, plugin_id, marks) if marks else Remove(MARKS, plugin_id)
                )
        return edits


def signed_earlier(found: int, highest: int) -> BridgeError:
    """
    Refuse a tree that was signed before another one that was installed.

    :param found: When, in seconds since the epoch.
    :param highest: The same, of the other one.
    """
    this, other = (timestamp(at, "seconds") for at in (found, highest))
    return plugin_error(
        Prefix.DOWNGRADE,
        f"it was signed at {this}, before the release of {other} that was installed; "
        "to go back, uninstall the plugin, forget its key, and install it again",
    )


def _read(of: str, value: Any) -> AcceptedKey | None:
    """Read a record; ``None``, so not accepted, when it is not of that key."""
    try:
        key = structure(value, AcceptedKey)
    except BridgeError:
        return None
    return key if key_id(key.public_key) == of else None
