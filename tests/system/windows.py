"""
A double of Windows, as far as a program that is started here can see it.

Run as a program, it imports every module of the daemon there, and then has the data
directory made, locked and written. It proves that nothing needs a module, a function or
a constant that only POSIX has. It does not prove that the daemon runs on Windows.
"""

import fcntl
import importlib
import os
import pathlib
import pkgutil
import signal
import socket
import sys
import types
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from typing import Any, Final, cast

import bridge

MODULES: Final = frozenset(
    (
        *("crypt", "fcntl", "grp", "nis", "posix", "pty", "pwd", "readline"),
        *("resource", "spwd", "syslog", "termios", "tty"),
    )
)
OF_OS: Final = (
    *("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK"),
    *("chown", "fchmod", "fchown", "fork", "getegid", "geteuid", "getgid"),
    *("getgroups", "getloadavg", "getpgid", "getuid", "killpg", "lchown"),
    *("listxattr", "memfd_create", "mkfifo", "openpty", "pidfd_open"),
    *("posix_fadvise", "posix_fallocate", "pread", "pwrite"),
    *("sched_getaffinity", "setsid", "statvfs", "uname"),
)
OF_SIGNAL: Final = (
    *("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT"),
    *("SIGUSR1", "SIGUSR2"),
)
OF_SOCKET: Final = (
    *("AF_NETLINK", "AF_UNIX", "SCM_RIGHTS", "SO_PEERCRED", "SO_REUSEPORT"),
)


class Absent:
    """Finds none of the modules that Windows does not have."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        if name in MODULES:
            raise ModuleNotFoundError(f"Windows has no {name}")
        return None


def names() -> Iterator[str]:
    """Name every module of the daemon."""
    for found in pkgutil.walk_packages(bridge.__path__, "bridge."):
        if not found.name.endswith("__main__"):
            yield found.name


def msvcrt() -> types.ModuleType:
    """Make a double of the module with the locks of Windows."""
    made: Any = types.ModuleType("msvcrt")
    made.LK_NBLCK = fcntl.LOCK_EX | fcntl.LOCK_NB
    made.locking = lambda fd, how, count: fcntl.flock(fd, how)
    return cast(types.ModuleType, made)


def become() -> None:
    """Take away from this process what Windows does not have."""
    sys.modules["msvcrt"] = msvcrt()
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, Absent())
    for module, lost in ((os, OF_OS), (signal, OF_SIGNAL), (socket, OF_SOCKET)):
        for name in lost:
            if hasattr(module, name):
                delattr(module, name)
    # Paths keep their form: what is tested is not how they are spelled.
    pathlib.Path.__new__.__globals__["WindowsPath"] = pathlib.PosixPath
    os.name, sys.platform = "nt", "win32"


def use(directory: pathlib.Path) -> None:
    """Make a data directory, and do with it what a daemon does first."""
    from bridge.datadir import ownership, paths, token
    from bridge.pagelog import pagefile
    from bridge.system import files, locks

    data = paths.DataDir(directory / "data")
    data.create()
    held = locks.acquire(data.root / "lock")
    try:
        locks.acquire(data.root / "lock")
    except locks.LockedError:
        held.release()
    else:
        raise AssertionError("locked twice")
    locks.acquire(data.root / "lock").release()
    made = token.make_token(data.token)
    assert token.read_token(data.token) == made
    ownership.check_tree(data.root)
    paths.write_atomically(data.state, b"{}")
    assert files.read_bounded(data.state, 10) == b"{}"
    log = pagefile.PageFile.open(directory / "logs" / "plugins.log", 10)
    for line in (b"the first\n", b"the second\n"):
        log.append(line)
    log.close()
    assert log.path.read_bytes() == b"the second\n"
    assert log.older.read_bytes() == b"the first\n"


def start(directory: pathlib.Path) -> None:
    """Have the command ``run`` read its options, and those of twistd for Windows."""
    from twisted.python import runtime
    from twisted.scripts import twistd

    runtime.platformType = "win32"
    importlib.reload(twistd)
    del sys.modules["bridge.cli.commands.run"]
    from bridge.cli.commands.run import run

    started: list[Any] = []
    twistd.runApp = started.append
    run.main(["--host=reference", f"--data-dir={directory}"], standalone_mode=False)
    assert [config.subCommand for config in started] == ["bridge"]


def main() -> None:
    """Do all of it; an exception names what is missing."""
    found = list(names())
    for name in found:
        importlib.import_module(name)
    # Imported again, their modules see Windows; libraries have been imported before.
    for name in [n for n in sys.modules if n.partition(".")[0] == "bridge"]:
        del sys.modules[name]
    become()
    for name in found:
        importlib.import_module(name)
    directory = pathlib.Path(sys.argv[1])
    use(directory)
    start(directory)
    sys.stdout.write(f"{len(found)} modules\n")


if __name__ == "__main__":
    main()
