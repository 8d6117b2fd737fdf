"""What every tree of a plugin is limited to, whether cloned or copied."""

from __future__ import annotations

from attrs import define, field

from ....protocol.errors import BridgeError
from ..transfer import CloneLimits, clone_failed


@define
class TreeSize:
    """
    Counts the files of one tree, and refuses those beyond the limits.

    Every method raises ``BridgeError``, ``clone_failed: …``, naming the limit.
    """

    _limits: CloneLimits
    _files: int = field(default=0, init=False)
    _bytes: int = field(default=0, init=False)

    @property
    def bytes_left(self) -> int:
        """The number of bytes that further files may have."""
        return self._limits.tree_bytes - self._bytes

    def check_depth(self, directories: int) -> None:
        """Check the number of directories that an entry is in."""
        if directories > self._limits.tree_depth:
            raise clone_failed(f"more than {self._limits.tree_depth} directories deep")

    def check_path(self, path: bytes) -> None:
        """Check the length of a path."""
        if len(path) > self._limits.path_bytes:
            raise clone_failed(f"a path of more than {self._limits.path_bytes} bytes")

    def add_file(self) -> None:
        """Count one file."""
        self._files += 1
        if self._files > self._limits.files:
            raise clone_failed(f"more than {self._limits.files} files")

    def add_bytes(self, count: int) -> None:
        """Count the bytes of a file."""
        self._bytes += count
        if self._bytes > self._limits.tree_bytes:
            raise self.too_many_bytes()

    def too_many_bytes(self) -> BridgeError:
        """Return the error for files that exceed ``bytes_left`` together."""
        return clone_failed(f"files of more than {self._limits.tree_bytes} bytes")
