"""
Every path under the data directory, how files get there whole, and where commands reach
a daemon: see ``DataDir.control_socket``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import socket
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from attrs import field

from ..classes import frozen
from ..protocol.errors import UserError
from ..system.files import create, has_owners, is_own, sync_directory, write_new
from ..system.locks import Lock, acquire
from .ownership import NotOwnError, check, check_above, check_tree


def make_directories(path: Path) -> None:
    """
    Make a directory and what is missing above it, each with mode 0700.

    ``Path.mkdir`` makes those above as the umask has it, which may let a group write.

    :raise OSError: One can't be made.
    """
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)


def write_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """
    Make a file.

    :param mode: What of it the umask does not remove.
    :raise OSError: It can't be made, or is there already.
    """
    with create(path, mode) as file:
        file.write(content)


def write_files(
    root: Path, files: Mapping[str, bytes], check: Callable[[], None] = lambda: None
) -> None:
    """
    Write files below a directory, which has none of them.

    :param files: The content of each, by its path with ``/``.
    :param check: Called before each; may raise to end this.
    :raise OSError: One can't be written, or there is something already.
    """
    for path, content in files.items():
        check()
        make_directories((root / path).parent)
        write_file(root / path, content)


LOOPBACK: Final = "127.0.0.1"
_FILE: Final = re.compile(rb"127\.0\.0\.1:([0-9]{1,5})\n")
_FILE_BYTES: Final = 32

ControlAddress = str | tuple[str, int]
"""A path, or a loopback address where there can be no Unix socket."""


class NotASocketError(OSError):
    """There is something else than a socket of this user, or a file that names one."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.ENOTSOCK, f"{path} is not a socket of your user")


def control_address(path: Path) -> ControlAddress:
    """
    Return where a daemon listens for commands, or did before it was killed.

    :raise FileNotFoundError: Nothing is there.
    :raise NotASocketError: It can't be where one listens.
    """
    found = path.lstat()
    if is_own(found):
        if stat.S_ISSOCK(found.st_mode):
            return str(path)
        if stat.S_ISREG(found.st_mode) and found.st_size <= _FILE_BYTES:
            port = _FILE.fullmatch(path.read_bytes())
            if port is not None:
                return LOOPBACK, int(port[1])
    raise NotASocketError(path)


def remove_left(path: Path) -> None:
    """
    Remove what a daemon that was killed has left there.

    :raise OSError: There is something else, or it can't be removed.
    """
    with contextlib.suppress(FileNotFoundError):
        control_address(path)
        path.unlink()


def connected(address: ControlAddress, seconds: float) -> socket.socket:
    """
    Connect to a daemon.

    :param seconds: How long each call of the socket may take.
    :raise OSError: Nobody listens there.
    """
    unix = isinstance(address, str)
    made = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
    try:
        made.settimeout(seconds)
        made.connect(address)
    except BaseException:
        made.close()
        raise
    return made


LINKED: Final = ".tmp-dev-"
"""
What the name of a linked tree's directory starts with, before the plugin's id.

It starts as a clone's does, so that a daemon which begins removes what is left.
"""

HOST_ENTRY: Final = "host/packages/host/src/index.ts"
API_ENTRY: Final = "host/packages/api/src/index.ts"
REALM_ENTRY: Final = "host/packages/host/src/realm/runtime.ts"
"""What runs before a plugin that is a text; see ``HostProfile.plugins``."""

HOST_FILES: Final = (HOST_ENTRY, API_ENTRY)
"""Paths of the host's sources, relative to the data directory."""

MADE: Final = "build/"
"""What is made for a build, below the data directory."""

TABLE_FILE: Final = f"{MADE}static-plugins.ts"
"""Where the table of plugins is."""


class DataDirError(UserError):
    """The data directory can't be used; the message names it and the reason."""


class _Part:
    """A path in the directory."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __get__(self, data: DataDir, owner: object) -> Path:
        return data.root.joinpath(*self.names)


@frozen
class DataDir:
    """
    The daemon's directory.

    :ivar root: Made, with mode 0700, by ``create``.
    :ivar token: The pairing token.
    :ivar state: The page's settings, what is installed, and the accepted keys.
    :ivar lock: Held by the one process that may write here.
    :ivar address: Where the daemon listens while it does, for clients and for the
        commands that show a page.
    :ivar journal: What an interrupted operation was doing.
    :ivar log: The page's log lines, unless ``--log-file`` names another file.
    :ivar daemon_log: The daemon's own log lines, for bug reports.
    :ivar bin: The bundler and its checksum.
    :ivar host: The host's and the plugin API's sources.
    :ivar host_new: Others that ``setup`` is installing.
    :ivar host_old: Those that they replace.
    :ivar build: The generated import table, and the staging directories of builds.
    :ivar build_lock: Held by a build, and by a setup while it replaces something.
    :ivar package: An empty package, so that the bundler reads no source by the package
        of a directory above.
    :ivar plugins: The installed trees, and clones under way.
    :ivar control_socket: Where commands reach the daemon.
    :ivar icons: The icons of notifications, for the desktop to open; each for a
        minute.
    :ivar page: What leads a browser to the page that ``open`` serves.
    """

    root: Path
    _checked: set[Path] = field(factory=set, init=False, eq=False, repr=False)

    token = _Part("token")
    state = _Part("state.json")
    lock = _Part("lock")
    address = _Part("address")
    journal = _Part("journal")
    log = _Part("logs", "plugins.log")
    daemon_log = _Part("logs", "daemon.log")
    bin = _Part("bin")
    host = _Part("host")
    host_new = _Part(".host-new")
    host_old = _Part(".host-old")
    build = _Part("build")
    build_lock = _Part("build", "lock")
    package = _Part("package.json")
    plugins = _Part("plugins")
    control_socket = _Part("control.socket")
    icons = _Part("icons")
    page = _Part("page.html")

    def create(self) -> str | None:
        """
        Make the directory and the two the daemon writes trees and tables to.

        A user who can write there decides which code runs, so no other user may.

        :return: A notice if it was open to other users; it is closed to them now.
        :raise DataDirError: They can't be made, or another user owns the directory, may
            replace it, or owns or may write what is used from the start on.
        """
        try:
            make_directories(self.root)
            notice = self._close()
            check_above(self.root, "--data-dir")
            for path in (self.plugins, self.build):
                path.mkdir(mode=0o700, exist_ok=True)
            for path in (self.bin, self.host, self.plugins):
                check(path)
            backup = self.state.with_name(f"{self.state.name}.bak")
            for part in (self.state, backup, self.journal, self.lock, self.build):
                self.checked(part)
        except NotOwnError as e:
            raise DataDirError(str(e)) from None
        except FileExistsError as e:
            raise DataDirError(f"{e.filename} is not a directory") from None
        except OSError as e:
            raise DataDirError(f"cannot use {self.root}: {e.strerror}") from None
        return notice

    def claim(self, patience: float = 0.0) -> Lock:
        """
        Acquire the directory's lock, as its daemon does.

        The addresses of a daemon that was killed are removed: another program may
        listen there by now, and a command that finds the lock held would send it the
        token.

        :raise LockedError: Another process holds it; see ``bridge.system.locks``.
        :raise DataDirError: It can't be acquired.
        """
        try:
            lock = acquire(self.lock, patience)
        except OSError as e:
            raise DataDirError(f"cannot lock {self.root}: {e.strerror}") from None
        with contextlib.suppress(OSError):
            self.address.unlink()
        with contextlib.suppress(OSError):
            remove_left(self.control_socket)
        return lock

    def checked(self, part: Path) -> Path:
        """
        Check a part of the directory by one walk, the first time that it is used.

        Nobody else can enter the directory, so what was checked once stays good.

        :return: The part.
        :raise NotOwnError: Another user may have written something in it.
        """
        if part not in self._checked:
            check_tree(part)
            self._checked.add(part)
        return part

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """List the names of what is in the directory."""
        parts = (part for part in vars(cls).values() if isinstance(part, _Part))
        return tuple(part.names[0] for part in parts)

    def _close(self) -> str | None:
        """Remove every other user's access; see ``create``."""
        found = self.root.stat()
        if not is_own(found):
            raise DataDirError(f"{self.root} belongs to another user")
        if not self.is_open():
            return None
        if found.st_mode & stat.S_ISVTX or self.root.parent == self.root:
            raise DataDirError(
                f"{self.root} is for all users; choose another directory with "
                "--data-dir"
            )
        self.root.chmod(0o700)
        self._checked.clear()
        return (
            f"the data directory was open to other users (mode "
            f"{stat.S_IMODE(found.st_mode):04o}); it is 0700 now"
        )

    def is_open(self) -> bool:
        """
        Whether other users may enter; never once a daemon has started.

        :raise OSError: It is not there.
        """
        return has_owners() and bool(self.root.stat().st_mode & 0o077)

    def used_by(self, pid: int | None) -> str:
        """
        Say that a daemon uses the directory, and how to stop it.

        :param pid: Its process id, if that is known.
        """
        process, how = (f" (process {pid})", f": kill {pid}") if pid else ("", "")
        return f"a daemon uses {self.root}{process}; stop it first{how}"

    def plugin(self, plugin_id: str) -> Path:
        """The tree of one plugin.  The id has been validated by the caller."""
        return self.plugins / plugin_id


def missing_files(root: Path, paths: Iterable[str]) -> list[str]:
    """
    Return those of ``paths`` that are not files, or can't be looked at.  Blocks.

    :param root: The data directory.
    """
    # Unlike ``Path.is_file``, it raises nothing for what is in a closed directory.
    return [path for path in paths if not os.path.isfile(root / path)]


def write_atomically(path: Path, content: bytes, mode: int = 0o600) -> None:
    """
    Replace ``path`` by ``content``: whole and durable, or not at all.

    :raise OSError: It could not be written; the old file is untouched.
    """
    temporary = path.with_name(path.name + ".tmp")
    try:
        write_new(temporary, [content], mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_directory(path.parent)
