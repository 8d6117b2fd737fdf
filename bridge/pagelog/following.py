"""
Reads the page's log file while the daemon writes it.

Each line is returned once and in order, although the daemon rotates the file, and
writes for a while to one that it has renamed.  One that another program has truncated
is read from its beginning, as ``tail -F`` does.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

from attrs import field

from ..classes import define
from ..system.files import BINARY, NO_WAIT
from .pagefile import LogFileError, older_of

T = TypeVar("T")
_Key = tuple[int, int]

_BLOCK_BYTES: Final = 64 * 1024


@define(eq=False)
class _Generation:
    """
    A file that is read.  It is kept open, so that nothing else gets its number.

    :ivar position: Everything before it was returned.
    """

    file: BinaryIO
    position: int = 0

    @property
    def key(self) -> _Key:
        """What the file is known by, whatever its name."""
        found = os.fstat(self.file.fileno())
        return found.st_dev, found.st_ino

    def lines(self) -> list[bytes]:
        """Return the whole lines that are new."""
        if os.fstat(self.file.fileno()).st_size < self.position:
            self.position = 0
        self.file.seek(self.position)
        new = self.file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self.position += len(whole)
        return whole.split(b"\n")[:-1]

    def lines_backward(self) -> Iterator[bytes]:
        """Yield the whole lines so far, the last first; they are no longer new."""
        start = size = os.fstat(self.file.fileno()).st_size
        rest = b""
        while start:
            end, start = start, max(0, start - _BLOCK_BYTES)
            self.file.seek(start)
            rest, *lines = (self.file.read(end - start) + rest).split(b"\n")
            if lines and not self.position:
                self.position = size - len(lines.pop())
            yield from reversed(lines)
        if self.position:
            yield rest


@define(eq=False)
class Follower:
    """
    Returns the lines of a log file and of the generation before it.  Blocks.

    :ivar path: Where the file is, or will be.
    """

    path: Path
    _known: dict[_Key, _Generation] = field(factory=dict)

    def last(self, count: int, read: Callable[[bytes], T | None]) -> list[T]:
        """
        Return the last lines, even those returned before.

        :param count: At most so many.
        :param read: Converts a line; ``None`` leaves it out.
        :return: The results of ``read``, oldest first.
        :raise LogFileError: What has the name is not a regular file.
        :raise OSError: It can't be read.
        """
        self.close()
        self._known = self._look()
        found: list[T] = []
        for generation in reversed(self._known.values()):
            for line in generation.lines_backward():
                if len(found) == count:
                    break
                if (shown := read(line)) is not None:
                    found.append(shown)
        return found[::-1]

    def more(self) -> Iterator[bytes]:
        """
        Yield the whole lines that came since, oldest first.

        :raise LogFileError: What has the name is not a regular file.
        :raise OSError: It can't be read.
        """
        now, before = self._look(), self._known
        self._known = {}
        for key, generation in before.items():
            if key not in now:  # it has lost its name, after these lines
                yield from generation.lines()
                generation.file.close()
        for key, generation in now.items():
            if key in before:
                generation.file.close()
            self._known[key] = before.get(key, generation)
        for generation in self._known.values():
            yield from generation.lines()

    @property
    def found(self) -> bool:
        """Whether there is a file."""
        return bool(self._known)

    def close(self) -> None:
        """Close what is open."""
        for generation in self._known.values():
            generation.file.close()
        self._known = {}

    def _look(self) -> dict[_Key, _Generation]:
        """Open both generations, the older first."""
        # In this order a file that is renamed meanwhile is found twice, not missed.
        current, older = _open(self.path), _open(older_of(self.path))
        found: dict[_Key, _Generation] = {}
        for generation in (older, current):
            if generation is None:
                continue
            if found.setdefault(generation.key, generation) is not generation:
                generation.file.close()
        return found


def _open(path: Path) -> _Generation | None:
    try:
        # Not blocking: opening a FIFO would wait for its writer forever.
        fd = os.open(path, os.O_RDONLY | NO_WAIT | BINARY)
    except FileNotFoundError:
        return None
    with contextlib.ExitStack() as undo:
        undo.callback(os.close, fd)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise LogFileError(f"{path}: not a regular file")
        undo.pop_all()
    return _Generation(os.fdopen(fd, "rb", buffering=0))
