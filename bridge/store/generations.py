"""
A file that is replaced whole, and the generation before it.

::

    state.json.tmp      the new generation, until it is durable
    state.json          the current one
    state.json.bak      the previous one

At every instant ``state.json`` or ``state.json.bak`` is whole.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeVar

from ..classes import frozen
from ..datadir.ownership import NotOwnError, check
from ..system.files import NO_LINK, NO_WAIT, sync_directory

T = TypeVar("T")

_NO_HARD_LINKS: Final = frozenset(
    {errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK}
)


class DamagedError(Exception):
    """What was read is not what was ever written whole."""


class NotDurableError(OSError):
    """The new generation is the current one, unless the power fails now."""


@frozen(eq=False, repr=False)
class Generations:
    """
    One file and its previous generation.  Everything here blocks.

    :ivar path: The current generation.
    """

    path: Path

    @property
    def previous(self) -> Path:
        """The previous generation."""
        return self._sibling(".bak")

    @property
    def _temporary(self) -> Path:
        return self._sibling(".tmp")

    @property
    def _spare(self) -> Path:
        return self._sibling(".bak.tmp")

    def _sibling(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)

    def load(self, read: Callable[[bytes], T]) -> tuple[T | None, str | None]:
        """
        Read the current generation, or else the previous one.

        A file that cannot be read is kept aside under a name of its own, and
        files of an interrupted ``replace`` are removed.

        :param read: From a file's content to what it means; raises
            ``DamagedError`` for what was never written whole.  Anything else it
            raises ends the loading before any damaged file is touched.
        :return: What was read, ``None`` when nothing could be; and what the
            operator should know, ``None`` when all is well.
        :raise NotOwnError: Another user may have written it; nothing is touched.
        """
        _unlink(self._temporary)
        _unlink(self._spare)
        found = None
        source = None
        damaged = []
        for path in (self.path, self.previous):
            try:
                found = read(read_file(path))
            except FileNotFoundError:
                continue
            except NotOwnError:
                raise
            except (OSError, DamagedError):
                damaged.append(path)
            else:
                source = path
                break
        if source == self.path or not (source or damaged):
            return found, None
        return found, self._notice(damaged, source)

    def _notice(self, damaged: list[Path], source: Path | None) -> str:
        notices = [
            f"{path.name} could not be read and is kept as {self._set_aside(path)}"
            for path in damaged
        ]
        if not notices:
            notices = [f"{self.path.name} is missing"]
        sync_directory(self.path.parent)
        if source is None:
            return "; ".join([*notices, "starting with an empty one"])
        return "; ".join(
            [*notices, f"{source.name}, the generation before it, is used"]
        )

    def _set_aside(self, path: Path) -> str:
        number = 1
        while os.path.lexists(self._sibling(f".corrupt-{number}")):
            number += 1
        aside = self._sibling(f".corrupt-{number}")
        os.rename(path, aside)
        return aside.name

    def peek(self, read: Callable[[bytes], T]) -> T | None:
        """
        Read the current generation, or where it is missing the previous one.

        Nothing is touched, so another process may be writing here.

        :param read: See ``load``.
        :return: ``None`` when there is none.
        :raise OSError: It can't be read; so does what ``read`` raises.
        """
        for path in (self.path, self.previous):
            with contextlib.suppress(FileNotFoundError):
                return read(read_file(path))
        return None

    def replace(self, pieces: Iterable[bytes]) -> None:
        """
        Make a new generation, durable when this returns.

        :raise NotDurableError: It is the current one, and not durable.
        :raise OSError: It could not be made, and the current one is as it was.
        """
        moved = False
        try:
            self._write(pieces)
            moved = self._keep()
            os.replace(self._temporary, self.path)
        except BaseException:
            _unlink_quietly(self._temporary)
            _unlink_quietly(self._spare)
            if moved:
                with contextlib.suppress(OSError):
                    os.replace(self.previous, self.path)
            raise
        try:
            sync_directory(self.path.parent)
        except OSError as e:
            raise NotDurableError(e.errno, e.strerror) from e

    def _write(self, pieces: Iterable[bytes]) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK
        temporary = str(self._temporary)
        try:
            fd = os.open(temporary, flags, 0o600)
        except FileExistsError:
            os.unlink(temporary)
            fd = os.open(temporary, flags, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())

    def _keep(self) -> bool:
        """Make the current generation the previous one; whether it was moved there."""
        try:
            self._link(self.path, self.previous)
        except FileNotFoundError:
            return False
        except OSError as e:
            if e.errno not in _NO_HARD_LINKS:
                raise
            os.replace(self.path, self.previous)
            return True
        return False

    def _link(self, source: Path, target: Path) -> None:
        """Let ``target`` name the file that ``source`` names, at one instant."""
        spare = str(self._spare)
        try:
            os.link(source, spare)
        except FileExistsError:
            os.unlink(spare)
            os.link(source, spare)
        os.replace(spare, target)
        # Replacing does nothing when both were names of one file already.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(spare)


def _unlink(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _unlink_quietly(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def read_file(path: Path) -> bytes:
    """
    Read one generation.

    :raise NotOwnError: Another user may have written it.
    :raise OSError: It can't be read, or is not a regular file.
    """
    check(path)
    # Opening a pipe would wait for its writer.
    fd = os.open(path, os.O_RDONLY | NO_WAIT)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(fd)
