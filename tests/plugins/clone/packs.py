"""Git objects, packs and repositories made by hand, so that they may be wrong."""

import hashlib
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from attrs import field, frozen

from bridge.plugins.clone.pack import PackedObject, Unpacked

COMMIT: Final = 1
TREE: Final = 2
BLOB: Final = 3
BY_OFFSET: Final = 6
BY_NAME: Final = 7

FILE: Final = b"100644"
DIRECTORY: Final = b"40000"
SYMLINK: Final = b"120000"
SUBMODULE: Final = b"160000"


@frozen
class Object:
    """An object: its kind in words, its content, its name."""

    kind: str
    content: bytes
    name: bytes = field(init=False)

    @name.default
    def _name(self) -> bytes:
        head = f"{self.kind} {len(self.content)}\0".encode("ascii")
        return hashlib.sha1(head + self.content, usedforsecurity=False).digest()

    @property
    def code(self) -> int:
        return {"commit": COMMIT, "tree": TREE, "blob": BLOB}[self.kind]


def blob(content: bytes = b"x") -> Object:
    """A file's content."""
    return Object("blob", content)


def tree(*entries: tuple[bytes, bytes, Object | bytes]) -> Object:
    """A directory of (mode, name, object)."""
    parts = []
    for mode, name, target in entries:
        to = target.name if isinstance(target, Object) else target
        parts.append(mode + b" " + name + b"\0" + to)
    return Object("tree", b"".join(parts))


def commit(root: Object, *parents: Object) -> Object:
    """A commit of a directory."""
    return made_commit(b"Message\n", *parents, root=root)


EMPTY = tree()
START = 1_700_000_000


def made_commit(
    message: bytes, *parents: Object, at: int | bytes = START, root: Object = EMPTY
) -> Object:
    """A commit; ``at`` is its committer's time, which may be nonsense."""
    when = at if isinstance(at, bytes) else b"%d" % at
    lines = [b"tree " + root.name.hex().encode("ascii")]
    lines += [b"parent " + parent.name.hex().encode("ascii") for parent in parents]
    lines += [b"author A <a@example.invalid> 1 +0000"]
    lines += [b"committer B <b@example.invalid> " + when + b" +0000", b"", message]
    return Object("commit", b"\n".join(lines))


def line_of(
    length: int, *, start: Object | None = None, name: str = ""
) -> list[Object]:
    """Commits one after another, a minute apart; the first is the oldest."""
    made: list[Object] = []
    for number in range(length):
        parents = made[-1:] or ([start] if start is not None else [])
        message = f"{name}{number}".encode("ascii")
        made.append(made_commit(message, *parents, at=START + 60 * number))
    return made


def unpacked_of(objects: Sequence[Object]) -> Unpacked:
    """What unpacking a pack of these gives."""
    found = {one.name: PackedObject(one.kind, one.content) for one in objects}
    return Unpacked(found, [], b"")


def make_repository(root: Path, name: str, objects: Sequence[Object]) -> str:
    """Make a bare repository whose branch is the last of ``objects``; the commit."""
    git = root / f"{name}.git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "objects").mkdir()
    for made in objects:
        hexadecimal = made.name.hex()
        path = git / "objects" / hexadecimal[:2] / hexadecimal[2:]
        path.parent.mkdir(exist_ok=True)
        head = f"{made.kind} {len(made.content)}\0".encode("ascii")
        path.write_bytes(zlib.compress(head + made.content, 1))
    tip = objects[-1].name.hex()
    (git / "refs" / "heads" / "main").write_text(f"{tip}\n", "ascii")
    (git / "HEAD").write_text("ref: refs/heads/main\n", "ascii")
    return tip


def entry(
    code: int, content: bytes, base: bytes = b"", size: int | None = None
) -> bytes:
    """One entry of a pack; ``size`` is a lie about the length of ``content``."""
    return entry_head(
        code, len(content) if size is None else size, base
    ) + zlib.compress(content)


def entry_head(code: int, size: int, base: bytes = b"") -> bytes:
    """What stands before an entry's compressed bytes."""
    head, more = code << 4 | size & 15, size >> 4
    return (bytes([head | 0x80]) + _varint(more) if more else bytes([head])) + base


def back(distance: int) -> bytes:
    """How far back the base of a delta is, for distances below 128."""
    return bytes([distance])


def packed(made: Object) -> bytes:
    """An object as an entry."""
    return entry(made.code, made.content)


def make_pack(*entries: bytes, count: int | None = None) -> bytes:
    """A pack of entries; ``count`` is a lie about how many."""
    number = len(entries) if count is None else count
    body = b"PACK\0\0\0\2" + number.to_bytes(4, "big") + b"".join(entries)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def delta(base_size: int, size: int, *steps: bytes) -> bytes:
    """A delta, its two sizes claimed."""
    return _varint(base_size) + _varint(size) + b"".join(steps)


def copy(start: int, length: int) -> bytes:
    """A step of a delta: bytes of the base."""
    return bytes([0xFF]) + start.to_bytes(4, "little") + length.to_bytes(3, "little")


def insert(content: bytes) -> bytes:
    """A step of a delta: new bytes, at most 127."""
    return bytes([len(content)]) + content


def _varint(size: int) -> bytes:
    out = bytearray([size & 0x7F])
    size >>= 7
    while size:
        out[-1] |= 0x80
        out.append(size & 0x7F)
        size >>= 7
    return bytes(out)


def zeros_deflated(size: int) -> bytes:
    """``size`` zeros compressed, without ever holding them; a multiple of 16 MiB."""
    block = 16 * 1024 * 1024
    stream = zlib.compressobj(9)
    first = stream.compress(bytes(block)) + stream.flush(zlib.Z_FULL_FLUSH)
    raw = zlib.compressobj(9, wbits=-15)
    again = raw.compress(bytes(block)) + raw.flush(zlib.Z_FULL_FLUSH)
    checksum = (size % 65521) << 16 | 1
    end = b"\x01\0\0\xff\xff" + checksum.to_bytes(4, "big")
    return first + again * (size // block - 1) + end
