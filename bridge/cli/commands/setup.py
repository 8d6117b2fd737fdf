"""``plugin-bridge setup``: install ``bin/`` and ``host/`` in the data directory."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from twisted.python import usage

from ...plugins.esbuild.pins import VERSION
from ...provision.library import LIBRARY
from ...provision.npm import SetupError
from ...provision.service import UNIT, install_service
from ...provision.setup import download, setup
from ...settings.options import HostOptions, Paths

_STATUS: Final = f"systemctl --user status {UNIT.removesuffix('.service')}"


class SetupOptions(HostOptions):
    """The command line of ``plugin-bridge setup``."""

    synopsis = (
        "Usage: plugin-bridge setup [--bundler FILE] [--library FILE] [--host-sources "
        "DIR | --bundler-only | --download DIR] [--force] "
        "[--service]"
    )
    longdesc = (
        "Installs the bundler (esbuild, verified by its digest) and the sources of the "
        "host application's plugin system, and builds the bundle. Run it once before "
        "you run the daemon. It does not reinstall what is up to date. With --service "
        "it also writes a systemd user unit, which starts the daemon now and at each "
        "login; the Debian package has one already. Exit status: 0 everything is "
        "installed and the bundle is built, 1 something is missing, 2 wrong usage."
    )
    _one_of = ("bundler-only", "host-sources", "download")
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
        [
            "library",
            None,
            None,
            f"the package {LIBRARY.spec}, which the reference host's page is made "
            "with, as npm pack writes it (default: the one that ships with "
            "plugin-bridge, or else from npm)",
        ],
        [
            "download",
            None,
            None,
            "only download the bundler and the library into a directory, for a "
            "computer without npm",
        ],
    ]
    optFlags: ClassVar[list[Any]] = [
        ["force", None, "reinstall everything"],
        ["service", None, "start the daemon now and at each login, by systemd"],
        ["bundler-only", None, "install only the bundler, for plugin-bridge check"],
    ]

    def postOptions(self) -> None:
        """Refuse sources that would not be installed."""
        super().postOptions()
        given = [name for name in self._one_of if self[name]]
        if len(given) > 1:
            raise usage.UsageError(f"--{given[0]} and --{given[1]} exclude each other")
        if self["service"] and {"bundler-only", "download"}.intersection(given):
            raise usage.UsageError(f"--service and --{given[0]} exclude each other")


def main(arguments: Sequence[str]) -> int:
    """Run ``plugin-bridge setup`` and return the exit status."""
    options = SetupOptions()
    options.parseOptions(list(arguments))
    place = options.paths()
    given = {name: _path(options[name]) for name in ("bundler", "library", "download")}
    sources = _path(options["host-sources"])
    try:
        if given["download"]:
            download(given["download"], print)
            return 0
        setup(
            place.profile,
            place.data,
            given["bundler"],
            sources,
            print,
            library=given["library"],
            force=bool(options["force"]),
            bundler_only=bool(options["bundler-only"]),
        )
    except SetupError as e:
        sys.stderr.write(f"plugin-bridge: {e}\n")
        return 1
    except OSError as e:
        sys.stderr.write(f"plugin-bridge: --download: {e.strerror}\n")
        return 1
    if options["bundler-only"]:
        print(f"the bundler is installed in {place.data.root}")
        return 0
    print(f"everything is installed in {place.data.root}")
    status = _build(place)
    if options["service"] and status == 0:
        try:
            install_service(place.data, options.naming(place))
        except SetupError as e:
            sys.stderr.write(f"plugin-bridge: {e}\n")
            return 1
        print(f"the daemon runs now and after each login; see: {_STATUS}")
    return status


def _build(place: Paths) -> int:
    """Build the bundle; return the exit status."""
    from twisted.internet import reactor

    from ...wiring import oneshot

    report = oneshot.run(reactor, lambda: oneshot.build(reactor, place))
    for line in report.errors:
        sys.stderr.write(f"plugin-bridge: {line}\n")
    if not report.ok:
        return 1
    print(f"the bundle is built: {place.bundle}")
    return 0


def _path(given: str | None) -> Path | None:
    return Path(given) if given else None
