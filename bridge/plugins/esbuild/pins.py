"""The bundler in use: its version, and its digests on every system it runs on."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Final

from ...classes import frozen

VERSION: Final = "0.28.2"

BINARY_NAME: Final = "esbuild.exe" if os.name == "nt" else "esbuild"
CHECKSUM_NAME: Final = "esbuild.sha256"

BUNDLER_FILES: Final = (f"bin/{BINARY_NAME}", f"bin/{CHECKSUM_NAME}")
"""Paths of the bundler, relative to the data directory."""


@frozen
class Pin:
    """
    The bundler for one system.

    :ivar platform: As npm names it, such as ``linux-x64``.
    :ivar tarball: The npm package's digest: SHA-512, base64.
    :ivar binary: The binary's digest: SHA-256, lower-case hexadecimal.
    """

    platform: str
    tarball: str
    binary: str

    @property
    def name(self) -> str:
        """The npm package's name."""
        return f"@esbuild/{self.platform}"

    @property
    def member(self) -> str:
        """Where the binary is in the package."""
        windows = self.platform.startswith("win32")
        return "package/esbuild.exe" if windows else "package/bin/esbuild"


# What npm calls otherwise than Python does.
_SYSTEMS: Final = {"windows": "win32"}
_MACHINES: Final = {
    "x86_64": "x64",
    "amd64": "x64",
    "aarch64": "arm64",
    "armv6l": "arm",
    "armv7l": "arm",
    "i386": "ia32",
    "i686": "ia32",
    "x86": "ia32",
    "ppc64le": "ppc64",
    "loongarch64": "loong64",
}


_TABLE: Final = json.loads((Path(__file__).parent / "pins.json").read_text("ascii"))

PINS: Final = [Pin(name, **digests) for name, digests in _TABLE.items()]
"""
Every pin, whose digests npm's registry publishes.

Read at the start: a daemon whose files are replaced never has those of two versions.
"""


def pin_for(
    system: str = platform.system(), machine: str = platform.machine()
) -> Pin | None:
    """Return the bundler for a system, or ``None``; see ``PINS``."""
    kind, cpu = system.lower(), machine.lower()
    name = f"{_SYSTEMS.get(kind, kind)}-{_MACHINES.get(cpu, cpu)}"
    return next((pin for pin in PINS if pin.platform == name), None)
