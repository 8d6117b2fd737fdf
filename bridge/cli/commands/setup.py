"""``plugin-bridge setup``: install ``bin/`` and ``host/`` in the data directory."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from twisted.python import usage

from ...plugins.esbuild.pins import VERSION
from ...provision.hostsources import SetupError
from ...provision.setup import setup
from ...settings.options import HostOptions


class SetupOptions(HostOptions):
    """The command line of ``plugin-bridge setup``."""

    synopsis = (
        "Usage: plugin-bridge setup [--bundler FILE] [--host-sources DIR | "
        "--bundler-only] [--force]"
    )
    longdesc = (
        "Installs what the daemon builds with: the bundler, which is esbuild "
        "(verified by its digest), and the sources of the host application's plugin "
        "system. Run it once before the daemon; what is in place already is left "
        "alone. Exit status: 0 everything is in place, 1 something is not, 2 wrong "
        "usage."
    )
    optParameters: ClassVar[list[Any]] = [
        [
            "bundler",
            None,
            None,
            f"the bundler, esbuild {VERSION}: its binary, or its package as npm pack "
            "makes it (default: what came with plugin-bridge, else npm is asked)",
        ],
        [
            "host-sources",
            None,
            None,
            "the host's sources: a directory or a tar archive with packages/api/src "
            "and packages/host/src",
        ],
    ]
    optFlags: ClassVar[list[Any]] = [
        ["force", None, "install again what is in place already"],
        ["bundler-only", None, "install the bundler alone, for plugin-bridge check"],
    ]

    def postOptions(self) -> None:
        """Refuse sources that would not be installed."""
        super().postOptions()
        if self["bundler-only"] and self["host-sources"]:
            raise usage.UsageError("--bundler-only installs no --host-sources")


def main(arguments: Sequence[str]) -> int:
    """Run ``plugin-bridge setup`` and return the exit status."""
    options = SetupOptions()
    options.parseOptions(list(arguments))
    place = options.paths()
    bundler, sources = options["bundler"], options["host-sources"]
    try:
        setup(
            place.profile,
            place.data,
            Path(bundler) if bundler else None,
            Path(sources) if sources else None,
            print,
            force=bool(options["force"]),
            bundler_only=bool(options["bundler-only"]),
        )
    except SetupError as e:
        sys.stderr.write(f"plugin-bridge: {e}\n")
        return 1
    what = "the bundler" if options["bundler-only"] else "everything"
    print(f"{what} is in place in {place.data.root}")
    return 0
