"""A desktop of one's own: a bus, a screen, a notification server, hands to click."""

import glob
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final, Self

from attrs import define, field, frozen
from PIL import Image, ImageChops

from bridge.freedesktop.notifications import SERVICE

from ..programs import program
from ..waiting import wait_until
from .buses import DIES_WITH_US, SessionBus

ARTEFACTS: Final = Path(__file__).parents[2] / "artefacts"
PATIENCE_SECONDS: Final = 30.0
WIDTH: Final = 800
HEIGHT: Final = 480
_SERVERS: Final = {
    "notification-daemon": (
        "/usr/lib/notification-daemon/notification-daemon",
        "/usr/libexec/notification-daemon",
    ),
    "xfce4-notifyd": tuple(glob.glob("/usr/lib/*/xfce4/notifyd/xfce4-notifyd")),
}
"""Where those are that are not on the path, by the names of their packages."""


def notification_server(name: str) -> str:
    """Find the program of a notification server, by its package."""
    return program(name, name, *_SERVERS.get(name, ()))


@frozen(order=True)
class Box:
    """A part of the screen, in pixels; ``right`` and ``bottom`` are outside."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def middle(self) -> tuple[int, int]:
        return (self.left + self.right) // 2, (self.top + self.bottom) // 2

    def holds(self, x: int, y: int) -> bool:
        return self.left <= x < self.right and self.top <= y < self.bottom


@frozen
class Picture:
    """What is on the screen."""

    image: Image.Image

    def changed(self, other: Self) -> Box | None:
        """Give the smallest box around all that differs."""
        found = ImageChops.difference(self.image, other.image).getbbox()
        return None if found is None else Box(*found)

    def count(self, colour: tuple[int, int, int]) -> int:
        """Count the pixels of just this colour."""
        colours = self.image.getcolors(WIDTH * HEIGHT) or ()
        return sum(number for number, found in colours if found == colour)


@define(eq=False)
class Session:
    """
    A desktop session.

    :ivar home: A home directory, empty except for what tests put there.
    """

    bus: SessionBus = field(factory=SessionBus)
    home: Path = field(factory=lambda: Path(tempfile.mkdtemp(prefix="session-")))
    _display: str = field(default="", init=False)
    _running: list[subprocess.Popen[bytes]] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        settings = self.home / ".config" / "gtk-3.0" / "settings.ini"
        settings.parent.mkdir(parents=True)
        settings.write_text("[Settings]\ngtk-enable-animations=0\n")
        reading, writing = os.pipe()
        self._run(
            [
                program("Xvfb", "xvfb"),
                *("-displayfd", str(writing), "-screen", "0"),
                *(f"{WIDTH}x{HEIGHT}x24", "-nolisten", "tcp", "-noreset"),
            ],
            writing,
        )
        os.close(writing)
        with os.fdopen(reading) as stream:
            self._display = f":{stream.readline().strip()}"
        assert self._display != ":", "Xvfb did not start"

    @property
    def environment(self) -> dict[str, str]:
        """What programs of the session are started with."""
        return {
            **self.bus.environment,
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.home),
            "DISPLAY": self._display,
            "GDK_BACKEND": "x11",
            "GSETTINGS_BACKEND": "memory",
            "GTK_A11Y": "none",
            "NO_AT_BRIDGE": "1",
        }

    def serve(self, *command: str) -> subprocess.Popen[bytes]:
        return self._run(list(command))

    def serve_framed_notes(self) -> subprocess.Popen[bytes]:
        """Start dunst; a critical note has a frame of green, others one of blue."""
        settings = Path(__file__).with_name("framed.dunstrc")
        return self.serve(notification_server("dunst"), "-conf", str(settings))

    def serve_menu(self) -> subprocess.Popen[bytes]:
        """Start dunst; who opens the menu of a note has chosen Confirm."""
        menu = self.home / "menu"
        menu.write_text("#!/bin/sh\nexec grep -m1 Confirm\n")
        menu.chmod(0o755)
        settings = self.home / "dunstrc"
        options = f"dmenu = {menu}\nheight = 400\nhistory_length = 1000\n"
        settings.write_text(f"[global]\n{options}")
        return self.serve(notification_server("dunst"), "-conf", str(settings))

    def dunstctl(self, *arguments: str) -> str:
        """Control dunst as the README describes; gives what that prints."""
        command = program("dunstctl", "dunst"), *arguments
        return self._do(*command).decode("utf-8").strip()

    def has_server(self) -> bool:
        """Whether a notification server has its name on the bus."""
        asked = self._do(
            *(program("dbus-send", "dbus-bin"), "--session", "--print-reply"),
            *("--dest=org.freedesktop.DBus", "/org/freedesktop/DBus"),
            *("org.freedesktop.DBus.NameHasOwner", f"string:{SERVICE}"),
        )
        return b"boolean true" in asked

    def end(self) -> None:
        for process in reversed(self._running):
            self.stop(process)
        self.bus.remove()
        shutil.rmtree(self.home)

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()

    def picture(self) -> Picture:
        command = program("import", "imagemagick"), "-window", "root"
        pixels = self._do(*command, "-depth", "8", "rgb:-")
        return Picture(Image.frombytes("RGB", (WIDTH, HEIGHT), pixels))

    def settled(self, before: Picture) -> Picture:
        """Wait until the screen differs from ``before``, and stands still."""
        last = before

        def stands_still() -> bool:
            nonlocal last
            time.sleep(0.2)
            earlier, last = last, self.picture()
            return earlier == last != before

        wait_until(stands_still, "nothing new stands on the screen")
        return last

    def buttons(self, area: Box) -> list[Box]:
        """
        Find what is lit when the pointer is on it, from left to right.

        :param area: Where to look; the lowest row of buttons is found.
        """
        self.point(0, HEIGHT - 1)
        time.sleep(0.3)
        dark = self.picture()
        found: set[Box] = set()
        for y in range(area.bottom - 8, area.top, -16):
            for x in range(area.left + 20, area.right, 40):
                self.point(x, y)
                time.sleep(0.05)
                lit = self.picture().changed(dark)
                if lit is not None and lit.holds(x, y) and area.holds(*lit.middle):
                    found.add(lit)
            if found:
                break
        self.point(0, HEIGHT - 1)
        return sorted(found)

    def save(self, name: str) -> None:
        """Keep a picture of the screen for people to look at."""
        ARTEFACTS.mkdir(exist_ok=True)
        self.picture().image.save(ARTEFACTS / name)

    def point(self, x: int, y: int) -> None:
        self._do(program("xdotool", "xdotool"), "mousemove", "--sync", str(x), str(y))

    def click(self, x: int, y: int) -> None:
        self.point(x, y)
        time.sleep(0.2)
        self._do(program("xdotool", "xdotool"), "click", "1")

    def _do(self, *command: str) -> bytes:
        """Run a program of the session to its end; gives what it prints."""
        return subprocess.run(
            command,
            env=self.environment,
            capture_output=True,
            check=True,
            timeout=PATIENCE_SECONDS,
        ).stdout

    def _run(self, command: list[str], *inherited: int) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [*DIES_WITH_US, *command],
            env=self.environment,
            pass_fds=inherited,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._running.append(process)
        return process
