"""Every path under the data directory, and how files get there whole."""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
from pathlib import Path
from typing import Final

from attrs import field

from ..classes import frozen
from ..system.files import sync_directory, write_new
from ..system.users import has_owners, is_own
from .ownership import NotOwnError, check, check_tree, exposed_parent, make_directories

LINKED: Final = ".tmp-dev-"
"""
What the name of a linked tree's directory starts with, before the plugin's id.

It starts as a clone's does, so that a daemon which begins removes what is left.
"""


class DataDirError(OSError):
    """The data directory can't be made; the message names it and the reason."""


@frozen
class DataDir:
    """
    The daemon's directory.

    :ivar root: Made, with mode 0700, by ``create``.
    """

    root: Path
    _checked: set[Path] = field(factory=set, init=False, eq=False, repr=False)

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
            self._check_above()
            for path in (self.plugins, self.build):
                path.mkdir(mode=0o700, exist_ok=True)
            for path in (self.bin, self.host, self.plugins):
                check(path)
            backup = self.state.with_name(f"{self.state.name}.bak")
            for part in (self.state, backup, self.journal, self.lock, self.build):
                self.checked(part)
        except DataDirError:
            raise
        except NotOwnError as e:
            raise DataDirError(str(e)) from None
        except FileExistsError as e:
            raise DataDirError(f"{e.filename} is not a directory") from None
        except OSError as e:
            raise DataDirError(f"cannot make {self.root}: {e.strerror}") from None
        return notice

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

    def _check_above(self) -> None:
        """Check that nobody else can put another directory in this one's place."""
        if (parent := exposed_parent(self.root)) is not None:
            fix = shlex.join(["chmod", "go-w", str(parent)])
            raise DataDirError(
                f"{self.root} can be replaced by other users, who can write {parent}; "
                f"run: {fix}, or choose another directory with --data-dir"
            )

    def _close(self) -> str | None:
        """Remove every other user's access; see ``create``."""
        found = self.root.stat()
        if not is_own(found):
            raise DataDirError(f"{self.root} belongs to another user")
        if not self.is_open():
            return None
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

    @property
    def token(self) -> Path:
        """The pairing token."""
        return self.root / "token"

    @property
    def state(self) -> Path:
        """The page's settings, what is installed, and the accepted keys."""
        return self.root / "state.json"

    @property
    def lock(self) -> Path:
        """Held by the one process that may write here."""
        return self.root / "lock"

    @property
    def address(self) -> Path:
        """Where the daemon listens while it does, for the commands that call it."""
        return self.root / "address"

    @property
    def journal(self) -> Path:
        """What an interrupted operation was doing."""
        return self.root / "journal"

    @property
    def log(self) -> Path:
        """The page's log lines, unless ``--log-file`` names another file."""
        return self.root / "logs" / "plugins.log"

    @property
    def daemon_log(self) -> Path:
        """The daemon's own log lines, for bug reports."""
        return self.root / "logs" / "daemon.log"

    @property
    def bin(self) -> Path:
        """The bundler and its checksum."""
        return self.root / "bin"

    @property
    def host(self) -> Path:
        """The host's and the plugin API's sources."""
        return self.root / "host"

    @property
    def build(self) -> Path:
        """The generated import table, and the staging directories of builds."""
        return self.root / "build"

    @property
    def plugins(self) -> Path:
        """The installed trees, and clones under way."""
        return self.root / "plugins"

    def plugin(self, plugin_id: str) -> Path:
        """The tree of one plugin.  The id has been validated by the caller."""
        return self.plugins / plugin_id

    @property
    def control_socket(self) -> Path:
        """Where commands reach the daemon."""
        return self.root / "control.socket"

    @property
    def icons(self) -> Path:
        """The icons of notifications, for the desktop to open; each for a minute."""
        return self.root / "icons"

    def temporary_clone(self, random: str) -> Path:
        """Where a clone goes until it is accepted."""
        return self.plugins / f".tmp-{random}"


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
