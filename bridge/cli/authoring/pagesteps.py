"""
The steps of ``plugin-bridge check`` on what only pages would find.

The daemon installs a plugin that does not pass them. Each step returns its message, or
raises ``EndedError`` or, to refuse, ``CommandError``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ...plugins.tree.files import TooLargeError, read_bounded
from ...plugins.tree.manifest import ENTRY_FILE, MANIFEST_FILE
from ...plugins.tree.versions import admits
from ...protocol.limits import SOURCE_BYTES
from ...protocol.text import escaped
from ...settings.host import HostProfile
from ..terminal import CommandError
from .exported import exported_id, lacks_default_export, page_names
from .hostapi import COMPILER, Compiler, TypesUnknownError, api_version, check_types
from .verdict import LeftOutError, NotDoneError, WarnedError, counted

_SOURCES: Final = (".ts", ".tsx", ".js", ".jsx", ".mjs")
_NOT_RUN: Final = ("tests", "node_modules", ".git", ".host")
_SHOWN_NAMES: Final = 10


def need_entry(tree: Path) -> None:
    """Check that a copy of the plugin has a ``main.ts``."""
    path = tree / ENTRY_FILE
    if path.is_symlink() or not path.is_file():
        raise NotDoneError(f"there is no {ENTRY_FILE} at the root")


def compare_id(tree: Path, plugin_id: str) -> str:
    """
    Compare the id that ``main.ts`` exports with the manifest's.

    :param tree: A copy of the plugin, with a ``main.ts``.
    """
    try:
        source = read_bounded(tree / ENTRY_FILE, SOURCE_BYTES).decode(
            "utf-8", "replace"
        )
    except TooLargeError:
        raise LeftOutError(f"{ENTRY_FILE} is over {SOURCE_BYTES} bytes") from None
    if lacks_default_export(source):
        raise CommandError(
            f"{ENTRY_FILE} has no default export; pages cannot start the plugin"
        )
    exported = exported_id(source, plugin_id)
    if exported is None:
        raise LeftOutError(
            f"{ENTRY_FILE} does not export its id as a plain string, so check cannot "
            f"compare it with {MANIFEST_FILE}"
        )
    if exported != plugin_id:
        raise CommandError(
            f"{ENTRY_FILE} exports the id {escaped(exported)}, {MANIFEST_FILE} has "
            f"{plugin_id}; pages cannot start the plugin"
        )
    return f"{ENTRY_FILE} exports {plugin_id}"


def look_for_page(tree: Path, profile: HostProfile) -> str:
    """
    Look for what a page has, and the worker that a plugin runs in has not.

    :param tree: A copy of the plugin.
    """
    if not profile.has_texts:
        raise LeftOutError("plugins of this host run in its page")
    found = [
        f"{path.relative_to(tree).as_posix()}:{line} {name}"
        for path in sorted(tree.rglob("*"))
        if path.suffix in _SOURCES and path.relative_to(tree).parts[0] not in _NOT_RUN
        for line, name in page_names(path.read_text("utf-8", "replace"))
    ]
    if found:
        why = "a plugin runs in a worker, which does not have these:"
        raise WarnedError("\n".join([why, *found[:_SHOWN_NAMES]]))
    return "nothing that only a page has"


def warnings_of(root: Path, plugin_id: str, profile: HostProfile) -> list[str]:
    """Return why a plugin that is linked may not run, for its author."""
    found: list[str] = []
    for step in (
        lambda: compare_id(root, plugin_id),
        lambda: look_for_page(root, profile),
    ):
        try:
            step()
        except (CommandError, WarnedError) as e:
            found += str(e).split("\n")
        except (LeftOutError, OSError):
            pass
    return found


def compare_version(api_range: str, host: Path) -> str:
    """
    Compare the manifest's ``apiVersion`` with the version of the host's API.

    :param host: The ``host`` directory of a data directory.
    """
    version = api_version(host)
    if version is None:
        raise LeftOutError("the host's sources do not contain the version of their API")
    if not admits(api_range, version):
        raise WarnedError(
            f"apiVersion does not admit {version}, the version of the API in the "
            "host's sources; a page may warn about the plugin, or not start it"
        )
    return f"apiVersion admits {version}"


def compare_types(
    compiler: Compiler | None, tree: Path, host: Path, module: str
) -> str:
    """
    Check the plugin against the types of the host's API.

    :param compiler: ``None`` when there is none.
    :param module: The name that plugins import the API by.
    """
    if compiler is None:
        raise LeftOutError(
            f"there is no {COMPILER} on PATH outside the plugin; to check types, "
            "install it, or name it with --tsc: npx --yes --package typescript which "
            f"{COMPILER} prints where npx has it"
        )
    try:
        errors = check_types(compiler, tree, host, module)
    except TypesUnknownError as e:
        raise LeftOutError(str(e)) from None
    if errors:
        raise CommandError("\n".join([counted(len(errors), "type error"), *errors]))
    return "no type errors"
