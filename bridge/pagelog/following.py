"""
Reads the page's log file while the daemon writes it.

Each line is returned once and in order, whatever happens to the file: the daemon
rotates it, rolls back partial writes, and writes for a while to a file it has renamed;
other programs truncate or remove it.
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

_BLOCK_BYTES: Final = 64 * 1024
_RECENT_BYTES: Final = 64 * 1024
_COMPARED_BYTES: Final = 256
_TRIES: Final = 10


@define(eq=False)
class _Generation:
    """
    A file that is read.  It is kept open, so that nothing else gets its number.

    :ivar position: Everything before it was returned.
    :ivar recent: The last bytes before it, to find the position again.
    """

    file: BinaryIO
    position: int = 0
    recent: bytes = b""

    def lines(self) -> Iterator[bytes]:
        """Yield the whole lines that are new."""
        self._find_position()
        while block := self._read(self.position, _BLOCK_BYTES):
            whole = block[: block.rfind(b"\n") + 1]
            if not whole and len(block) == _BLOCK_BYTES:
                whole = block  # no line is so long: return it in pieces
            if not whole:
                return
            self.position += len(whole)
            self.recent = (self.recent + whole)[-_RECENT_BYTES:]
            yield from whole.removesuffix(b"\n").split(b"\n")

    def lines_backward(self) -> Iterator[bytes]:
        """Return the whole lines so far, the last first; they are no longer new."""
        end = self.position = self._last_line_end()
        start = max(0, end - _RECENT_BYTES)
        self.recent = self._read(start, end - start)
        return self._backward(end - 1)

    def _backward(self, end: int) -> Iterator[bytes]:
        rest = b""
        while end > 0:
            start = max(0, end - _BLOCK_BYTES)
            rest, *lines = (self._read(start, end - start) + rest).split(b"\n")
            yield from reversed(lines)
            end = start
        if self.position:
            yield rest

    def _last_line_end(self) -> int:
        end = self._size()
        while end > 0:
            start = max(0, end - _BLOCK_BYTES)
            found = self._read(start, end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
        return 0

    def _find_position(self) -> None:
        """Find where the file is still as it was read, or return to its beginning."""
        end = min(self.position, self._size())
        kept = max(0, len(self.recent) - (self.position - end))
        known = self.recent[:kept]
        compared = known[-_COMPARED_BYTES:]
        same = self._read(end - len(compared), len(compared)) == compared
        if compared and same:
            self.position, self.recent = end, known
        else:
            self.position, self.recent = 0, b""

    def _size(self) -> int:
        return os.fstat(self.file.fileno()).st_size

    def _read(self, start: int, size: int) -> bytes:
        self.file.seek(start)
        return self.file.read(size)


_Key = tuple[int, int]


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
            lines = generation.lines_backward()
            while len(found) < count and (line := next(lines, None)) is not None:
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
        """Open both generations, as they are at one moment, the older first."""
        older_path = older_of(self.path)
        for _ in range(_TRIES):
            older, current = _open(older_path), _open(self.path)
            there = [file for file in (older, current) if file is not None]
            if _key(older) == _key_of(older_path):
                return {_key(file) or (0, 0): _Generation(file) for file in there}
            for file in there:
                file.close()
        raise LogFileError(f"{self.path}: is rotated too fast to be read")


def _open(path: Path) -> BinaryIO | None:
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
    return os.fdopen(fd, "rb", buffering=0)


def _key(file: BinaryIO | None) -> _Key | None:
    if file is None:
        return None
    found = os.fstat(file.fileno())
    return found.st_dev, found.st_ino


def _key_of(path: Path) -> _Key | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
