"""A systemctl that notes what it is asked, and has a service that can be stopped."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.settings.host import Paths

from ..directories import fresh_directory

_DAEMON: Final = """
import pathlib, sys, time
from bridge.system.locks import acquire
held = acquire(pathlib.Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""


class SystemctlCase(SynchronousTestCase):
    """A home with a systemctl in its PATH."""

    def setUp(self) -> None:
        self.home = fresh_directory(self)
        self.fake = self.home / "bin"
        self.fake.mkdir()
        (self.fake / "asked").touch()
        shutil.copy(Path(__file__).with_suffix(""), self.fake)
        environ = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
        environ["HOME"] = str(self.home)
        environ["PATH"] = f"{self.fake}{os.pathsep}{environ['PATH']}"
        # What a test sets in it goes with it.
        self.enterContext(mock.patch.dict(os.environ, environ, clear=True))

    def asked(self) -> list[str]:
        """Return what systemctl was asked to change."""
        lines = (self.fake / "asked").read_text().splitlines()
        return [line for line in lines if " show " not in f" {line} "]

    def begin(self, place: Paths, *, as_service: bool) -> subprocess.Popen[str]:
        """Start a process that holds the lock as a daemon does."""
        started = subprocess.Popen(
            [sys.executable, "-c", _DAEMON, str(place.data.lock)],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(started.communicate)
        self.addCleanup(started.kill)
        self.assertEqual(started.stdout.readline(), "held\n")
        if as_service:
            (self.fake / "pid").write_text(f"{started.pid}\n")
        return started


def unit_of(home: Path) -> Path:
    """Return where the unit of a user is."""
    return home / ".config/systemd/user/plugin-bridge.service"
