"""The bundler's npm package as a file, fetched once into the checkout's cache."""

from __future__ import annotations

from pathlib import Path

from bridge.plugins.esbuild.pins import VERSION, Pin, pin_for

from ..npm import packed


def this_pin() -> Pin:
    """The pin of the machine the tests run on."""
    pin = pin_for()
    assert pin is not None, "there is no bundler for this machine"
    return pin


def bundler_package() -> Path:
    """What ``npm pack`` makes of the pinned bundler."""
    return packed(f"{this_pin().name}@{VERSION}")
