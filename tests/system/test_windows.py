"""Tests for what the code needs of the system that it runs on."""

import ast
from collections.abc import Iterator
from typing import Final

from twisted.trial.unittest import SynchronousTestCase

from ..directories import fresh_directory
from ..programs import ROOT, python
from . import windows

ROOM: Final = "bridge/system/"
NATIVE: Final = windows.MODULES | {"_winapi", "ctypes", "msvcrt", "winreg"}
ASKED: Final = {
    "os": {"name", "getuid", "O_BINARY", *windows.OF_OS} - {"listxattr"},
    "sys": {"platform", "getwindowsversion"},
    "platform": {"machine", "system"},
    "signal": set(windows.OF_SIGNAL),
    "socket": set(windows.OF_SOCKET),
}

ELSEWHERE: Final = {
    # The message box of Windows.
    "bridge/approval/windows.py": {"ctypes", "sys.platform"},
    # Which prompt a system has.
    "bridge/cli/commands/doctor.py": {"sys.platform"},
    "bridge/wiring/plugins.py": {"sys.platform"},
    # Where a profile's application keeps its files.
    "bridge/settings/host.py": {"sys.platform"},
    # Which bundler is for it.
    "bridge/plugins/esbuild/pins.py": {
        "os.name",
        "platform.machine",
        "platform.system",
    },
    # Whose certificates it trusts.
    "bridge/net/certificates.py": {"sys.platform"},
    # How the system ended it.
    "bridge/plugins/esbuild/conversation.py": {"signal.SIGKILL"},
    # Sockets that only POSIX has.
    "bridge/daemon/controlsocket.py": {"socket.SO_PEERCRED"},
    "bridge/daemon/sd_notify.py": {"socket.AF_UNIX"},
    "bridge/datadir/control.py": {"socket.AF_UNIX"},
}
"""What else asks for a system, and for what: a port looks here, and into the room."""


def asked(tree: ast.Module) -> Iterator[str]:
    """Name what a module takes from modules that differ between systems."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name in NATIVE)
        elif isinstance(node, ast.ImportFrom) and node.module in NATIVE:
            yield node.module
        else:
            for module, name in named(node):
                if name in ASKED.get(module, ()):
                    yield f"{module}.{name}"


def named(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Pair a module with a name, in each way of writing that one is taken from it."""
    match node:
        case ast.ImportFrom(str() as module, names, 0):
            yield from ((module, alias.name) for alias in names)
        case ast.Attribute(ast.Name(module), name):
            yield module, name
        case ast.Call(_, [ast.Name(module), ast.Constant(str() as name), *_]):
            yield module, name


class SpreadTests(SynchronousTestCase):
    def test_one_place(self) -> None:
        """Only the room does, and the modules that are listed with their reason."""
        found: dict[str, set[str]] = {}
        for path in sorted(ROOT.glob("bridge/**/*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(ROOM):
                for one in asked(ast.parse(path.read_text("utf-8"))):
                    found.setdefault(name, set()).add(one)
        self.assertEqual(found, ELSEWHERE)


class WindowsTests(SynchronousTestCase):
    """Tests for the code in a double of Windows; nobody has run it on the system."""

    def test_imports_and_data_directory(self) -> None:
        """Every module imports, and the data directory can be made, locked and used."""
        where = str(fresh_directory(self))
        done = python("-W", "error", "-m", windows.__name__, where)
        self.assertEqual(done.returncode, 0, done.stderr)
        modules = len(list(windows.names()))
        self.assertGreater(modules, 200)
        self.assertEqual(done.stdout, f"{modules} modules\n")
