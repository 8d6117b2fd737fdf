"""
What the bundler read, judged by the metafile it wrote.

Every file of a bundle must be the host's, the generated table, or one of the bundled
plugins' own; and each may reach only what it has a right to.  Nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from ..protocol.errors import BridgeError
from ..protocol.wire import loads_own
from .digest import SIGNATURE_FILE
from .executable import BundlerError
from .files import shown
from .manifest import ENTRY_FILE, MANIFEST_FILE
from .policy.tree import EXEMPT, is_test_name
from .table import TABLE_FILE

API: Final = "host/packages/api/src/"
HOST: Final = "host/packages/"
PACKAGES: Final = "host/node_modules/"
PLUGINS: Final = "plugins/"

# A module that a package's `browser` map leaves out: an empty one stands for it.
_DISABLED: Final = "(disabled):"

# What a file of each room may import; a plugin's own room and `API` are a plugin's.
_REACH: Final = {
    API: (API, PACKAGES),
    HOST: (API, HOST, PACKAGES, TABLE_FILE),
    PACKAGES: (PACKAGES,),
}


class BuildError(BundlerError):
    """Why there is no new bundle; one readable sentence for the build report."""


def check_metafile(
    text: bytes, plugins: Collection[str], outputs: Collection[str]
) -> frozenset[str]:
    """
    Check everything a bundle was made of.

    :param text: The metafile, its paths relative to the data directory.
    :param plugins: The ids of the plugins of this build.
    :param outputs: The names of the files the bundler was to write.
    :return: The files it read, relative to the data directory, with ``/``.
    :raise BuildError: Naming the file that has no business in the bundle.
    """
    try:
        whole = _object(loads_own(text))
    except BridgeError:
        raise _unreadable() from None
    inputs = _object(whole.get("inputs"))
    if not inputs:
        raise BuildError("the bundler's metafile names no inputs")
    _check_outputs(_object(whole.get("outputs")), outputs)
    files = {_slashed(path): _object(about) for path, about in inputs.items()}
    for path, about in files.items():
        _check_input(path, plugins)
        for target, external in _imports(about):
            _check_import(path, target, external, plugins)
    return frozenset(path for path in files if not path.startswith(_DISABLED))


def _unreadable() -> BuildError:
    return BuildError("the bundler's metafile cannot be read")


def _object(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if type(value) is not dict:
        raise _unreadable()
    return value


def _slashed(path: str) -> str:
    return path.replace("\\", "/")


def _imports(about: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Every import of an input: the path, and whether it stayed unresolved."""
    imports = about.get("imports", [])
    if type(imports) is not list:
        raise _unreadable()
    for edge in map(_object, imports):
        path = edge.get("path")
        if type(path) is not str:
            raise _unreadable()
        yield _slashed(path), edge.get("external") is True


def _check_outputs(written: dict[str, Any], wanted: Collection[str]) -> None:
    names = {_slashed(path).rpartition("/")[2] for path in written}
    extra = sorted(names - set(wanted))
    if extra:
        raise BuildError(
            f"the bundler wrote {shown(extra[0])} beside the bundle; a bundle is one "
            "script, and nothing it imports may make further files"
        )


def _room(path: str, plugins: Collection[str]) -> str | None:
    """The room a file is in, as the start of its path; ``None`` for no room."""
    if path == TABLE_FILE:
        return TABLE_FILE
    if ".." in path.split("/"):
        return None
    for room in (API, HOST, PACKAGES):
        if path.startswith(room):
            return room
    if path.startswith(PLUGINS):
        plugin_id, slash, _ = path.removeprefix(PLUGINS).partition("/")
        if slash and plugin_id in plugins:
            return f"{PLUGINS}{plugin_id}/"
    return None


def _check_input(path: str, plugins: Collection[str]) -> None:
    named = path.removeprefix(_DISABLED)
    room = _room(named, plugins)
    if room is None:
        # Nothing of a module that was left out is in the bundle; who may name one
        # outside every room is a question of the import.
        if named == path:
            raise BuildError(
                f"the bundle may not include {_told(path)}; only the host, the "
                "generated table and the bundled plugins' own files"
            )
    elif room.startswith(PLUGINS):
        _check_plugin_file(named, named.removeprefix(room))


def _check_plugin_file(path: str, inside: str) -> None:
    if "?" in inside or "#" in inside:
        raise BuildError(f"{shown(path)} is imported with a query or a fragment")
    if is_test_name(inside.rpartition("/")[2]):
        raise BuildError(f"{shown(path)} is a test file; nothing may import one")
    # None of these is scanned by the source policy, and the last two are not signed.
    if inside.lower() in EXEMPT:
        raise BuildError(f"{shown(path)} is a tool's file; nothing may import one")
    if ".git" in inside.lower().split("/"):
        raise BuildError(f"{shown(path)} is git's; nothing may import it")
    if inside == SIGNATURE_FILE:
        raise BuildError(f"{shown(path)} is the signature; nothing may import it")
    if inside.lower().endswith(".css"):
        raise BuildError(
            f"{shown(path)} is a style sheet; a bundle is one script, so styles "
            "belong into it as text"
        )


def _check_import(
    path: str, target: str, external: bool, plugins: Collection[str]
) -> None:
    room = _room(path.removeprefix(_DISABLED), plugins)
    from_plugin = room is not None and room.startswith(PLUGINS)
    if external:
        if from_plugin:
            raise BuildError(f"{shown(path)} imports what is not in the bundle")
        return
    named = target.removeprefix(_DISABLED)
    to = _room(named, plugins)
    if room == TABLE_FILE:
        allowed = _in_table(named, to)
    elif to is None:
        allowed = named != target and not from_plugin
    elif from_plugin:
        allowed = to in (API, room)
    else:
        allowed = to in _REACH.get(room or "", ())
    if not allowed:
        raise BuildError(f"{shown(path)} may not import {_told(named)}")


def _in_table(path: str, room: str | None) -> bool:
    return room is not None and path in (room + ENTRY_FILE, room + MANIFEST_FILE)


def _told(path: str) -> str:
    # Not a file: what the bundler calls the text of a data: URL.
    return "a data: URL" if path.startswith("<") else shown(path)
