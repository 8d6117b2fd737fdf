"""The bundler's npm package as a file, fetched once into the checkout's cache."""

from __future__ import annotations

import subprocess
from pathlib import Path

from bridge.plugins.esbuild.pins import Pin, pin_for

from ..npm import CACHE, INSTALL_SECONDS


def this_pin() -> Pin:
    """The pin of the machine the tests run on."""
    pin = pin_for()
    assert pin is not None, "there is no bundler for this machine"
    return pin


def bundler_package() -> Path:
    """What ``npm pack`` makes of the pinned bundler."""
    CACHE.mkdir(parents=True, exist_ok=True)
    made = CACHE / "bundler.tgz"
    if not made.exists():
        try:
            name = subprocess.run(
                ["npm", "pack", "--silent", this_pin().package],
                cwd=CACHE,
                check=True,
                stdout=subprocess.PIPE,
                text=True,
                timeout=INSTALL_SECONDS,
            ).stdout.strip()
        except FileNotFoundError:
            raise AssertionError("npm is missing: apt-get install nodejs npm") from None
        (CACHE / name).rename(made)
    return made
