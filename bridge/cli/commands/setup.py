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
        "Installs the bundler (esbuild, verified by its digest) and the sources of the "
        "host application's plugin system. Run it once before you run the daemon. It "
        "does not reinstall what is up to date. Exit status: 0 everything is "
        "installed, 1 something is missing, 2 wrong usage."
    )
    optParameters: ClassVar[list[Any]] = [
        [
            "bundler",
            None,
            None,
            f"binary of esbuild {VERSION}, or its package as npm pack writes it "
            "(default: the one that ships with plugin-bridge, or else from npm)",
        ],
        [
            "host-sources",
            None,
            None,
            "the host's sources: a directory or tar archive with packages/api/src and "
            "packages/host/src",
        ],
    ]
    optFlags: ClassVar[list[Any]] = [
        ["force", None, "reinstall everything"],
        ["bundler-only", None, "install only the bundler, for plugin-bridge check"],
    ]

    def postOptions(self) -> None:
        """Refuse sources that would not be installed."""
        super().postOptions()
        if self["bundler-only"] and self["host-sources"]:
            raise usage.UsageError(
                "--bundler-only and --host-sources exclude each other"
            )


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
    print(f"{what} is installed in {place.data.root}")
    return 0
