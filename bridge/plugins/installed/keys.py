"""
Which authors' keys the user has accepted, and how far each has signed.

Nothing is written here: changes are returned as edits, which the operation
commits together with everything else it changes, or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from attrs import evolve

from ...classes import define, frozen
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.rules import Text
from ...protocol.text import timestamp
from ...protocol.wire import converter, structure, unstructure
from ...store.tables import Edit, Put, Remove
from ..tree.signature import Signed, key_id
from .records import KEYS, Entries

MARKS: Final = "bridge.plugin-marks"
"""By plugin id: the highest ``signedAt`` committed, by key id."""


@frozen
class AcceptedKey:
    """
    The record of a key the user has accepted.

    :ivar label: What it was first accepted for.
    :ivar trusted_at: Milliseconds since the epoch; never changes.
    :ivar last_used_at: Milliseconds since the epoch, of the last install or update.
    :ivar plugins: Ids of every plugin it has signed, in the order they were seen.
    """

    public_key: Annotated[str, Text(64, like=r"[0-9a-f]+", least=64)]
    label: str
    trusted_at: int
    last_used_at: int
    plugins: list[str]


@frozen
class KeyEntry:
    """
    An accepted key.

    :ivar key_id: Its fingerprint.
    :ivar public_key: The Ed25519 key, 64 hexadecimal digits.
    :ivar label: What it was first accepted for: a plugin's id, and its address.
    :ivar trusted_at: When it was accepted: milliseconds since the epoch.
    :ivar last_used_at: The same, of the last install or update that it signed.
    :ivar seen_for: Ids of every plugin it has signed, in the order they were seen.
    :ivar installed: Ids of the installed plugins it has signed, sorted.
    """

    key_id: str
    public_key: str
    label: str
    trusted_at: int
    last_used_at: int
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
                entries.append(
                    KeyEntry(
                        of,
                        key.public_key,
                        key.label,
                        key.trusted_at,
                        key.last_used_at,
                        key.plugins,
                        sorted(name for name, by in installed.items() if by == of),
                    )
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
        key = structure(converter, value, AcceptedKey)
    except BridgeError:
        return None
    return key if key_id(key.public_key) == of else None
