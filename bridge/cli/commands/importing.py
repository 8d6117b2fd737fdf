"""``plugin-bridge import``: installs and sets what ``export`` wrote."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final

from ...classes import define
from ...plugins.tree.files import TooLargeError, read_bounded
from ...protocol.errors import BridgeError
from ...protocol.limits import MIB, STATE_FILE_BYTES
from ...protocol.strictjson import loads_unique
from ...protocol.text import visible
from ...protocol.wire import converter, structure
from ...settings.options import HostOptions
from ..asking.client import Connection, shows_prompts
from ..asking.session import ended, session
from ..exportfile import VERSION, Export
from ..terminal import CommandError

_FILE_BYTES: Final = STATE_FILE_BYTES + MIB


class ImportOptions(HostOptions):
    """The command line of ``plugin-bridge import``."""

    synopsis = "Usage: plugin-bridge import [--replace] [--host NAME|PATH] FILE"
    longdesc = (
        "Has the running daemon install each plugin of FILE, with the same steps and "
        "prompts as from the page, and set the page's settings. Installed plugins "
        "stay, and so do existing settings unless --replace is given. Exit status: 0 "
        "done, 1 something was refused, 2 wrong usage, 3 no daemon is running."
    )
    optFlags: ClassVar[list[list[str | None]]] = [
        ["replace", None, "replace existing settings"]
    ]

    def parseArgs(  # type: ignore[override]
        self, file: str
    ) -> None:
        """Accept the file's name."""
        self["file"] = file


def main(arguments: list[str]) -> int:
    """Import a file and return the exit status."""
    options = ImportOptions()
    options.parseOptions(arguments)
    return ended("import", lambda: _import(options), words=str)


def _import(options: ImportOptions) -> int:
    export = read_export(Path(options["file"]))
    check_application(export, options.paths().profile.application)
    with session(options) as asked:
        replace = bool(options["replace"])
        importer = Importer(asked.connection, replace, sys.stdout.write)
        return 1 if importer.run(export) else 0


def read_export(path: Path) -> Export:
    """
    Read a file of ``plugin-bridge export``.

    :raise CommandError: It is none, or one of a newer version.
    """
    try:
        value = loads_unique(read_bounded(path, _FILE_BYTES))
    except TooLargeError:
        raise CommandError(f"the file is over {_FILE_BYTES} bytes") from None
    except OSError as e:
        raise CommandError(f"the file cannot be read: {e.strerror}") from None
    except BridgeError as e:
        raise CommandError(
            f"the file was not written by plugin-bridge export: {e.message}"
        ) from None
    if type(value) is dict and value.get("version") != VERSION:
        raise CommandError(f"the file must have version {VERSION} of the export format")
    try:
        return structure(converter, value, Export)
    except BridgeError as e:
        raise CommandError(
            f"the file was not written by plugin-bridge export: {e.message}"
        ) from None


def check_application(export: Export, application: str) -> None:
    """
    Check that a file is of this host application.

    :raise CommandError: It is of another, to which its settings mean nothing.
    """
    if export.application not in ("", application):
        raise CommandError(
            f"the file is for {visible(export.application)}, not for {application}; "
            "choose the host with --host"
        )


@define
class Importer:
    """
    Imports a file by the calls that a page makes.

    :ivar replace: Whether existing settings are replaced.
    :ivar report: Accepts lines of progress for the user.
    """

    _connection: Connection
    replace: bool
    report: Callable[[str], object]

    def run(self, export: Export) -> int:
        """
        Install every plugin and set every value; continue after a refusal.

        :return: The number of refusals.
        """
        self._connection.pushed = self._pushed
        return self._install(export) + self._set(export)

    def _pushed(self, event: str, data: Any) -> None:
        if event == "progress":
            self.report(f"    {visible(str(data.get('message')))}\n")

    def _install(self, export: Export) -> int:
        refused = 0
        listed = self._connection.call("plugins", "list", {})
        installed = {plugin["id"] for plugin in listed["plugins"]}
        asks = shows_prompts(self._connection.welcome)
        prompt = "; answer the prompt on your desktop" * asks
        for plugin in export.plugins:
            name = visible(plugin.id)
            if plugin.id in installed:
                self.report(f"{name}: already installed\n")
                continue
            self.report(f"{name}: installing{prompt}\n")
            try:
                self._connection.call("plugins", "install", {"url": plugin.url})
            except BridgeError as e:
                refused += 1
                self.report(f"{name}: refused: {visible(e.message)}\n")
            else:
                self.report(f"{name}: installed\n")
        return refused

    def _set(self, export: Export) -> int:
        made = kept = refused = 0
        for ns, entries in export.state.items():
            present = self._present(ns)
            for key, value in entries.items():
                if key in present and (not self.replace or present[key] == value):
                    kept += 1
                    continue
                try:
                    self._connection.call(
                        "state", "set", {"ns": ns, "key": key, "value": value}
                    )
                    made += 1
                except BridgeError as e:
                    refused += 1
                    self.report(f"a setting of {visible(ns)}: refused: {e.message}\n")
        self.report(f"settings: {made} set, {kept} kept, {refused} refused\n")
        return refused

    def _present(self, ns: str) -> dict[str, Any]:
        try:
            listed = self._connection.call("state", "list", {"ns": ns})
        except BridgeError:
            return {}  # each of its settings will be refused, and reported
        present: dict[str, Any] = listed["entries"]
        return present
