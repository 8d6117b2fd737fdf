"""``plugin.json``: what a plugin declares about itself, and two versions of one."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection
from typing import Annotated, Any, Final

from attrs import field, fields

from ...approval.prompts import Difference, Differences
from ...classes import frozen
from ...protocol import limits
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.strictjson import loads_unique
from ...protocol.text import CONTROLS, INVISIBLES, JOINERS, PLUGIN_ID, SPACES
from ...protocol.wire import (
    WINDOWS_DEVICES,
    camel,
    entries,
    string,
    structure,
)
from ...settings.host import HostProfile
from . import versions
from .jsontext import syntax_refusal, unknown_field
from .tree import Tree

MANIFEST_FILE: Final = "plugin.json"
SCHEMA_FIELD: Final = "$schema"
"""Names the schema of a file, for editors."""

ENTRY_FILE: Final = "main.ts"

_ID_RULE: Final = (
    "an id is 2 to 40 of a-z, 0-9 and hyphen, and does not start with a hyphen"
)
_RESERVED: Final = frozenset({"host", "bridge"})
"""The names of the page's and of the daemon's own log scopes."""

_RESERVED_RULE: Final = (
    "an id must not be host, bridge, or a device name of Windows, such as con or nul"
)
_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_PORT: Final = (
    "(?!0+$)(?:[0-5]?[0-9]{1,4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
)

# A joiner is between two others that show.
_LINE: Final = (
    f"(?:[^{CONTROLS}{INVISIBLES}{JOINERS}]"
    f"|(?<=[^{SPACES}{JOINERS}])[{JOINERS}](?=[^{SPACES}{JOINERS}]))*"
)
# Marks alone choose how a character before them looks.
_SHOWING: Final = (
    rf"(?=[\s\S]*[^{SPACES}{JOINERS}"
    "\\u034f\\u180b-\\u180f\\ufe00-\\ufe0f\U000e0100-\U000e01ef])"
)
_SEEN: Final = "no control, invisible or private characters"

# One line of text, all of which somebody can see, and which can't distort a prompt.
_Description = Annotated[
    str,
    string(
        limits.MANIFEST_TEXT_CHARACTERS,
        like=f"(?:{_SHOWING}{_LINE})?",
        meaning=f"empty or not blank, {_SEEN}",
    ),
]
_SingleLine = Annotated[
    str,
    string(
        limits.MANIFEST_TEXT_CHARACTERS,
        like=_SHOWING + _LINE,
        least=1,
        meaning=f"not blank, {_SEEN}",
    ),
]
_Host = Annotated[
    str,
    string(
        limits.MANIFEST_TEXT_CHARACTERS,
        like=rf"{_LABEL}(?:\.{_LABEL})*(?::{_PORT})?",
        meaning=(
            "a lower-case host name with an optional :port; no scheme, path or wildcard"
        ),
    ),
]
_Name = Annotated[
    str, string(limits.MANIFEST_TEXT_CHARACTERS, like=r"[A-Za-z0-9_.:-]+", least=1)
]
_Names = Annotated[list[_Name], entries(limits.MANIFEST_LIST_ENTRIES, unique=True)]
_Id = Annotated[str, string(40, like=PLUGIN_ID, least=2)]


@frozen
class Manifest:
    """
    A manifest that breaks no rule.

    :ivar id: Names the plugin everywhere, for ever: its folder, its settings, its
        signature. Not ``host`` or ``bridge``, nor a device name of Windows, such as
        con, nul or com1.
    :ivar name: What users read.
    :ivar version: The plugin's own, by the rules of SemVer. An update must not be
        lower.
    :ivar api_version: The versions of the plugin API it works with, as a range.
    :ivar description: One line about it. An emoji counts as two characters, as in a
        page.
    :ivar tags: Words to find it by.
    :ivar permissions: What the plugin can't do without; the vocabulary is the host
        profile's.
    :ivar optional_permissions: What it uses if it may; the same vocabulary.
    :ivar actions: The host's actions it intends to call.
    :ivar events: The host's events it intends to listen for.
    :ivar hosts: The hosts the plugin declares it intends to reach.
    :ivar dependencies: Ids of the plugins the page has to start before it.
    :ivar author: Who wrote it; this is not checked.
    :ivar homepage: Where to read on; it is never opened.
    """

    id: _Id
    name: _SingleLine
    version: _SingleLine
    api_version: Annotated[
        str, string(limits.MANIFEST_RANGE_CHARACTERS, least=1, control=False)
    ]
    description: _Description = ""
    tags: Annotated[list[_SingleLine], entries(limits.MANIFEST_TAGS, unique=True)] = (
        field(factory=list)
    )
    permissions: _Names = field(factory=list)
    optional_permissions: _Names = field(factory=list)
    actions: _Names = field(factory=list)
    events: _Names = field(factory=list)
    hosts: Annotated[
        list[_Host], entries(limits.MANIFEST_LIST_ENTRIES, unique=True)
    ] = field(factory=list)
    dependencies: Annotated[
        list[_Id], entries(limits.MANIFEST_LIST_ENTRIES, unique=True)
    ] = field(factory=list)
    author: _SingleLine | None = None
    homepage: _SingleLine | None = None


_FIELDS: Final = (*(camel(a.name) for a in fields(Manifest)), SCHEMA_FIELD)


def check_id(text: str) -> str:
    """
    Let a plugin id pass: what it returns may become a part of a path.

    :raise BridgeError: ``invalid_id``.
    """
    if re.fullmatch(PLUGIN_ID, text) is None:
        raise plugin_error(Prefix.INVALID_ID, _ID_RULE)
    return text


def is_usable_id(text: str) -> bool:
    """Whether a plugin may have this id: nothing else is named so."""
    return re.fullmatch(PLUGIN_ID, text) is not None and (
        text not in WINDOWS_DEVICES and text not in _RESERVED
    )


def check_new_id(text: str) -> str:
    """
    Let the id of a plugin that is to be installed or built pass.

    ``check_id`` is for the others: what was installed under any id can be removed.

    :raise BridgeError: ``invalid_id``.
    """
    if not is_usable_id(check_id(text)):
        raise plugin_error(Prefix.INVALID_ID, _RESERVED_RULE)
    return text


def read_manifest(content: bytes, profile: HostProfile) -> Manifest:
    """
    Read a manifest's text, with or without a byte order mark.

    :param profile: Decides which permissions there are, and how free versions are.
    :raise BridgeError: ``invalid_id``, or ``manifest_invalid`` naming the field
        and the rule.
    """
    value = read_object(content)
    if "id" in value:
        check_new_id(value["id"] if type(value["id"]) is str else "")
    if not value.keys() <= set(_FIELDS):
        why = unknown_field(MANIFEST_FILE, content, value, _FIELDS)
        raise plugin_error(Prefix.MANIFEST_INVALID, why)
    if type(value.pop(SCHEMA_FIELD, "")) is not str:
        raise _invalid(SCHEMA_FIELD, "must be a string")
    try:
        manifest = structure(value, Manifest)
    except BridgeError as e:
        raise plugin_error(Prefix.MANIFEST_INVALID, e.message) from None
    most = limits.MANIFEST_TEXT_CHARACTERS
    if len(manifest.description.encode("utf-16-le")) > 2 * most:
        rule = f"at most {most} characters; an emoji counts as two"
        raise _invalid("description", rule)
    _check_versions(manifest, profile.plain_versions)
    _check_permissions(manifest, profile.permissions)
    if manifest.id in manifest.dependencies:
        raise _invalid("dependencies", "a plugin cannot depend on itself")
    return manifest


def read_object(content: bytes) -> dict[str, Any]:
    """
    Parse a manifest, and check none of its fields.

    :raise BridgeError: ``manifest_invalid``, with the line of what is no JSON.
    """
    if len(content) > limits.MANIFEST_BYTES:
        raise _invalid(MANIFEST_FILE, f"must be at most {limits.MANIFEST_BYTES} bytes")
    content = content.removeprefix(codecs.BOM_UTF8)
    try:
        value = loads_unique(content)
    except BridgeError as e:
        why = syntax_refusal(MANIFEST_FILE, content, e.message)
        raise plugin_error(Prefix.MANIFEST_INVALID, why) from None
    if type(value) is not dict:
        raise _invalid(MANIFEST_FILE, "must be an object")
    return value


def load_manifest(tree: Tree, profile: HostProfile) -> Manifest:
    """
    Read the manifest of a tree, which must have a ``main.ts`` too.

    :raise BridgeError: ``no_manifest``, or as ``read_manifest``.
    """
    content = tree.files.get(MANIFEST_FILE)
    if content is None:
        raise plugin_error(
            Prefix.NO_MANIFEST, f"there is no {MANIFEST_FILE} at the root"
        )
    manifest = read_manifest(content, profile)
    if ENTRY_FILE not in tree.files:
        raise plugin_error(Prefix.MANIFEST_INVALID, f"{ENTRY_FILE} is missing")
    return manifest


def _check_versions(manifest: Manifest, plain: bool) -> None:
    if plain:
        if not versions.is_plain_version(manifest.version):
            raise _invalid("version", "must be N.N.N, numbers without leading zeros")
        if not versions.is_plain_range(manifest.api_version):
            raise _invalid(
                "apiVersion",
                f"must be 1 to {versions.PLAIN_COMPARATORS} versions N.N.N, each "
                "directly after one of >= <= > < = ^ ~ or nothing",
            )
        return
    if not versions.is_version(manifest.version):
        raise _invalid("version", "must be a version by SemVer 2, such as 1.2.3")
    if not versions.is_range(manifest.api_version):
        raise _invalid("apiVersion", "must be a range of versions, such as ^1.2.3")


def _check_permissions(manifest: Manifest, vocabulary: list[str]) -> None:
    for name, asked in (
        ("permissions", manifest.permissions),
        ("optionalPermissions", manifest.optional_permissions),
    ):
        if not set(asked) <= set(vocabulary):
            raise _invalid(name, f"each must be one of {', '.join(vocabulary)}")


def _invalid(name: str, rule: str) -> BridgeError:
    return plugin_error(Prefix.MANIFEST_INVALID, f"{name}: {rule}")


def differences(old: Manifest | None, new: Manifest) -> Differences:
    """
    Compare the manifest of a new version with the installed one.

    :param old: ``None`` when nothing is installed, or it can't be trusted: then
        everything is gained.
    """
    required = old.permissions if old else []
    optional = old.optional_permissions if old else []
    before = {*required, *optional}
    after = {*new.permissions, *new.optional_permissions}
    return Differences(
        permissions=Difference(
            gained=_without(new.permissions, required), lost=_without(required, after)
        ),
        optional_permissions=Difference(
            gained=_without(new.optional_permissions, {*before, *new.permissions}),
            lost=_without(optional, after),
        ),
        hosts=_compare(old.hosts if old else [], new.hosts),
        actions=_compare(old.actions if old else [], new.actions),
        events=_compare(old.events if old else [], new.events),
    )


def _compare(old: list[str], new: list[str]) -> Difference:
    return Difference(gained=_without(new, old), lost=_without(old, new))


def _without(names: list[str], others: Collection[str]) -> list[str]:
    return [name for name in names if name not in others]
