"""Tests for what the code needs of the system that it runs on."""

import re
from typing import Final

from twisted.trial.unittest import SynchronousTestCase

from ..directories import fresh_directory
from ..programs import ROOT, python
from . import windows

NATIVE: Final = "|".join(windows.MODULES | {"_winapi", "ctypes", "msvcrt", "winreg"})
OF_ANY: Final = {*windows.OF_OS, *windows.OF_SIGNAL, *windows.OF_SOCKET}
NAMES: Final = "|".join(OF_ANY - {"listxattr"})
ASKED: Final = re.compile(
    rf"^ *(?:import|from) (?:{NATIVE})\b"
    rf"|\b(?:os|signal|socket)(?:\.| import .*|, \")(?:{NAMES}|name|getuid|O_BINARY)\b"
    r"|(?<!`)\bsys(?:\.| import .*)(?:platform|getwindowsversion)\b"
    r"|\bplatform(?:\.| import .*)(?:machine|system)\b",
    re.MULTILINE,
)

ELSEWHERE: Final = {
    "bridge/approval/approvers.py": "which prompt a system has, and a message box",
    "bridge/cli/commands/doctor.py": "which prompt a system has",
    "bridge/settings/host.py": "where a profile's application keeps its files",
    "bridge/plugins/esbuild/executable.py": "which bundler is for it",
    "bridge/plugins/esbuild/conversation.py": "how the system ended the bundler",
    "bridge/http/client.py": "whose certificates it trusts",
    "bridge/daemon/controlsocket.py": "sockets that only POSIX has",
    "bridge/datadir/paths.py": "sockets that only POSIX has",
}
"""What else asks for a system, and for what: a port looks here, and in the package."""


class SpreadTests(SynchronousTestCase):
    def test_one_place(self) -> None:
        """Only the package does, and the modules that are listed with their reason."""
        found = {
            path.relative_to(ROOT).as_posix()
            for path in ROOT.glob("bridge/**/*.py")
            if ASKED.search(path.read_text("utf-8"))
        }
        own = {name for name in found if name.startswith("bridge/system/")}
        self.assertEqual(found - own, set(ELSEWHERE))


class WindowsTests(SynchronousTestCase):
    """Tests for the code in a double of Windows; nobody has run it on the system."""

    def test_imports_and_data_directory(self) -> None:
        """Every module imports, and the data directory can be made, locked and used."""
        where = str(fresh_directory(self))
        done = python("-W", "error", "-m", windows.__name__, where)
        self.assertEqual(done.returncode, 0, done.stderr)
        modules = len(list(windows.names()))
        self.assertGreater(modules, 100)
        self.assertEqual(done.stdout, f"{modules} modules\n")
