"""Which plugins are installed, and from where: namespace ``bridge.plugins``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, Protocol

from attrs import asdict

from ...classes import frozen
from ...protocol.errors import Prefix, plugin_error
from ...protocol.text import PLUGIN_ID
from ...protocol.wire import camel
from ...store.tables import HOST, Edit, Put, Remove

RECORDS: Final = "bridge.plugins"
"""By plugin id: the records."""

KEYS: Final = "bridge.plugin-keys"
"""By key id: the keys the user has accepted."""

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
