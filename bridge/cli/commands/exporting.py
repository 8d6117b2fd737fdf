"""``plugin-bridge export``: the plugins and the page's settings, in one file."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from ...plugins.installed.ids import RECORDS
from ...plugins.installed.records import read_record
from ...protocol.strictjson import dumps
from ...protocol.text import timestamp
from ...protocol.wire import unstructure
from ...settings.options import HostOptions
from ...store import DAEMON_PREFIX, StoreError, Tables, read_state
from ..exportfile import VERSION, Export, PluginSource
from ..terminal import failed, private_file


class ExportOptions(HostOptions):
    """The command line of ``plugin-bridge export``."""

    synopsis = "Usage: plugin-bridge export [--host NAME|PATH] FILE"
    longdesc = (
        "Writes the URLs of the installed plugins, and the page's settings, to FILE (- "
        "for standard output), for plugin-bridge import on another computer. FILE does "
        "not contain accepted keys or the pairing token. Settings can contain secrets "
        "of plugins, so FILE gets mode 0600. An existing file is never replaced."
    )

    def parseArgs(  # type: ignore[override]
        self, file: str
    ) -> None:
        """Accept the file's name."""
        self["file"] = file


def main(arguments: list[str]) -> int:
    """Write the file and return the exit status."""
    options = ExportOptions()
    options.parseOptions(arguments)
    place = options.paths()
    if not place.data.root.is_dir():
        return failed(
            "export",
            f"there is no data directory {place.data.root}; choose one with --host or "
            "--data-dir",
        )
    try:
        view = read_state(place.data.state)
    except StoreError as e:
        return failed("export", str(e))
    export = taken(view, place.profile.application, time.time())
    text = dumps(unstructure(export)) + b"\n"
    try:
        _write(options["file"], text)
    except FileExistsError:
        return failed("export", "the file exists already")
    except OSError as e:
        return failed("export", f"the file cannot be written: {e.strerror}")
    values = sum(len(entries) for entries in export.state.values())
    sys.stderr.write(f"plugins: {len(export.plugins)}, settings: {values}\n")
    return 0


def taken(view: Tables, application: str, now: float) -> Export:
    """
    Return the part of the state that is exported.

    :param now: Seconds since the epoch.
    """
    records = sorted(view.entries(RECORDS).items())
    return Export(
        VERSION,
        application,
        timestamp(now, "seconds"),
        [PluginSource(name, read_record(value).url) for name, value in records],
        {
            ns: view.entries(ns)
            for ns in view.namespaces()
            if not ns.startswith(DAEMON_PREFIX)
        },
    )


def _write(name: str, text: bytes) -> None:
    if name == "-":
        sys.stdout.buffer.write(text)
        return
    with private_file(Path(name)) as file:
        file.write(text)
