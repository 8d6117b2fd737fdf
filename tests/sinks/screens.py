"""A screen nobody sees, and a real notification server on it."""

from __future__ import annotations

import io
import os
import subprocess
from pathlib import Path
from typing import Any

from PIL import Image

from tests.freedesktop.buses import SessionBus, program

ARTEFACTS = Path(__file__).parents[2] / "artefacts"

DUNST = """\
[global]
    width = 400
    height = 200
    origin = top-left
    offset = 20x20
    font = Sans 12
    frame_width = 6
    icon_position = left
    max_icon_size = 64
[urgency_low]
    frame_color = "#0000ff"
    background = "#222222"
    foreground = "#ffffff"
[urgency_normal]
    frame_color = "#0000ff"
    background = "#222222"
    foreground = "#ffffff"
[urgency_critical]
    frame_color = "#00ff00"
    background = "#222222"
    foreground = "#ffffff"
"""

SERVERS = {
    "dunst": ("dunst", "dunst"),
    "xfce4-notifyd": (
        "xfce4-notifyd",
        "xfce4-notifyd",
        *map(str, Path("/usr/lib").glob("*/xfce4/notifyd/xfce4-notifyd")),
    ),
    "notification-daemon": (
        "notification-daemon",
        "notification-daemon",
        "/usr/lib/notification-daemon/notification-daemon",
        "/usr/libexec/notification-daemon",
    ),
}
"""By name: what ``program`` takes to find it."""


class Screen:
    """
    A screen with one notification server, until ``remove``.

    :ivar bus: The session bus it serves on.
    """

    def __init__(self, name: str, bus: SessionBus) -> None:
        self.bus = bus
        self._x = subprocess.Popen(
            [
                program("Xvfb", "xvfb"),
                "-displayfd",
                "1",
                "-screen",
                "0",
                "800x400x24",
                "-nolisten",
                "tcp",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._x.stdout is not None
        display = self._x.stdout.readline().decode("ascii").strip()
        assert display, "Xvfb did not start"
        self._environ = {
            **os.environ,
            **bus.environment,
            "DISPLAY": f":{display}",
            "HOME": str(bus.directory),
            "NO_AT_BRIDGE": "1",
        }
        self._environ.pop("WAYLAND_DISPLAY", None)
        line = [program(*SERVERS[name])]
        if name == "dunst":
            settings = bus.directory / "dunstrc"
            settings.write_text(DUNST)
            line += ["-conf", str(settings)]
        self._server = subprocess.Popen(
            line,
            env=self._environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def picture(self) -> Any:
        """Take a picture of it: an image in RGB."""
        shot = subprocess.run(
            [program("import", "imagemagick"), "-window", "root", "png:-"],
            env=self._environ,
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        return Image.open(io.BytesIO(shot), formats=["PNG"]).convert("RGB")

    def count(self, colour: tuple[int, int, int]) -> int:
        """Count the pixels of just this colour."""
        return sum(n for n, c in self.picture().getcolors(2**24) if c == colour)

    def keep(self, name: str) -> None:
        """Leave a picture of it for people to look at."""
        ARTEFACTS.mkdir(exist_ok=True)
        self.picture().save(ARTEFACTS / f"{name}.png")

    def remove(self) -> None:
        """End both."""
        for process in (self._server, self._x):
            process.kill()
            process.wait()
        assert self._x.stdout is not None
        self._x.stdout.close()
