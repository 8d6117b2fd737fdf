"""
The bundle's source map: checked against the files it names, and made portable.

The bundler follows ``sourceMappingURL`` comments without an entry in its metafile, so a
map may bring in a file from anywhere, or one that never was.  Nothing here does I/O.

A map can be tens of megabytes: it is read and written one string at a time, since
the decoder and the encoder let no other thread run while they work on a value.
"""

from __future__ import annotations

import json
import os.path
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from attrs import evolve, frozen

from ....protocol.limits import KIB, MIB
from ...tree.files import shown
from .metafile import PACKAGES, PLUGINS, BuildError

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_AFTER: Final = re.compile(rb"[ \t\r\n]*+(?:(\])|,[ \t\r\n]*+)")
_PLAIN: Final = re.compile(rb"null|[0-9]{1,9}")
_MAPPING_CHARACTERS: Final = (
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/,;"
)
_BATCH_BYTES: Final = 16 * KIB
_QUOTE: Final = ord(b'"')
_BACKSLASH: Final = ord(b"\\")

T = TypeVar("T")


@frozen
class SourceMap:
    """
    A source map, version 3.

    :ivar contents: The text of each of ``sources``, or ``None`` for one left out.
    :ivar mappings: As in the file; most of a map is this.
    """

    sources: list[str]
    contents: list[str | None]
    mappings: bytes
    names: list[str]


def parse_map(text: bytes) -> SourceMap:
    """
    Read a source map.

    :raise BuildError: It is none, or has fields the bundler does not write.
    """
    try:
        return _parsed(dict(_members(text)))
    except (ValueError, LookupError):
        raise BuildError("the bundler's source map cannot be read") from None


def _parsed(fields: dict[str, Any]) -> SourceMap:
    if fields.pop("version") != b"3":
        raise ValueError
    lists = (fields.pop("sources"), fields.pop("sourcesContent"), fields.pop("names"))
    mappings = fields.pop("mappings")
    if fields or type(mappings) is not bytes or {list} != set(map(type, lists)):
        raise ValueError
    sources, contents, names = map(_decoded, lists)
    if len(sources) != len(contents) or not _strings([*sources, *names]):
        raise ValueError
    if not _strings([content for content in contents if content is not None]):
        raise ValueError
    return SourceMap(sources, contents, _mappings(mappings), names)


def _decoded(pieces: list[bytes]) -> list[Any]:
    values: list[Any] = []
    for batch in _batches(pieces, len):
        values += json.loads(b"[%s]" % b",".join(batch))
    return values


def _batches(values: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """Group short values: a call of ``json`` costs more than one of them."""
    batch: list[T] = []
    total = 0
    for value in values:
        batch.append(value)
        total += size(value)
        if total > _BATCH_BYTES:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def _strings(values: list[Any]) -> bool:
    return all(type(value) is str for value in values)


def _mappings(piece: bytes) -> bytes:
    if piece[:1] != b'"':
        raise ValueError
    for at in range(1, len(piece) - 1, MIB):
        if piece[at : min(at + MIB, len(piece) - 1)].translate(
            None, _MAPPING_CHARACTERS
        ):
            raise ValueError
    return piece[1:-1]


def _members(text: bytes) -> Iterator[tuple[str, bytes | list[bytes]]]:
    """The members of an object, each value in pieces still to be decoded."""
    at = _past(b"{", text, _space(text, 0))
    while True:
        name, at = _atom(text, at)
        at = _past(b":", text, _space(text, at))
        value: bytes | list[bytes]
        value, at = (_list if text[at : at + 1] == b"[" else _atom)(text, at)
        yield str(json.loads(name)), value
        at = _space(text, at)
        if text[at : at + 1] == b"}":
            break
        at = _past(b",", text, at)
    if _space(text, at + 1) != len(text):
        raise ValueError


def _list(text: bytes, at: int) -> tuple[list[bytes], int]:
    pieces: list[bytes] = []
    at = _past(b"[", text, at)
    if text[at : at + 1] == b"]":
        return pieces, at + 1
    while True:
        piece, at = _atom(text, at)
        pieces.append(piece)
        after = _AFTER.match(text, at)
        if after is None:
            raise ValueError
        at = after.end()
        if after[1]:
            return pieces, at


def _atom(text: bytes, at: int) -> tuple[bytes, int]:
    """A string, a number or null, as it is written."""
    if text[at] == _QUOTE:
        end = _end_of_string(text, at)
    else:
        found = _PLAIN.match(text, at)
        if found is None:
            raise ValueError
        end = found.end()
    return text[at:end], end


def _end_of_string(text: bytes, at: int) -> int:
    while True:
        at = text.index(b'"', at + 1)
        before = at
        while text[before - 1] == _BACKSLASH:
            before -= 1
        if (at - before) % 2 == 0:
            return at + 1


def _past(mark: bytes, text: bytes, at: int) -> int:
    if text[at : at + 1] != mark:
        raise ValueError
    return _space(text, at + 1)


def _space(text: bytes, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def check_map(
    given: SourceMap,
    directory: str,
    root: str,
    inputs: Collection[str],
    read: Callable[[str], bytes],
) -> SourceMap:
    """
    Check that a map holds the sources of the bundle and nothing else.

    A package of the host may have a map of its own: its sources are not among the
    files the bundler read, so they keep their name and lose their text.

    :param directory: Where the bundler wrote the map; a real path.
    :param root: The data directory; a real path.
    :param inputs: The files the bundler read, relative to ``root``, with ``/``.
    :param read: Returns the bytes of such a file.
    :return: The map with its sources named relative to ``root``, so that it does
        not reveal that path.
    :raise BuildError: A source is no part of the build, or differs from its file.
    """
    names = [_resolved(directory, root, source) for source in given.sources]
    contents: list[str | None] = []
    for name, content in zip(names, given.contents, strict=True):
        if name not in inputs:
            if not name.startswith(PACKAGES):
                raise _foreign(inputs, read)
            contents.append(None)
        elif content == _text(name, read):
            contents.append(content)
        else:
            raise BuildError(
                f"{shown(name)} differs from what the source map says it is; a "
                "sourceMappingURL comment can do that"
            )
    return evolve(given, sources=names, contents=contents)


def _resolved(directory: str, root: str, source: str) -> str:
    path = os.path.join(directory, unquote(source))
    return os.path.relpath(path, root).replace(os.sep, "/")


def _text(name: str, read: Callable[[str], bytes]) -> str:
    try:
        return read(name).decode("utf-8")
    except UnicodeDecodeError:
        raise BuildError(f"{shown(name)} is not UTF-8") from None


def _foreign(inputs: Collection[str], read: Callable[[str], bytes]) -> BuildError:
    """Return an error without the name, which the author of the map chose."""
    what = "the source map holds a source that is no part of the bundle"
    for name in sorted(inputs):
        if name.startswith(PLUGINS) and b"sourceMappingURL" in read(name):
            return BuildError(f"{what}: {shown(name)} has a sourceMappingURL comment")
    return BuildError(what)


def map_pieces(given: SourceMap) -> Iterator[bytes]:
    """Write a map as JSON, piece by piece; the same map yields the same bytes."""
    yield b'{"version":3'
    for key, values in (
        ("sources", given.sources),
        ("sourcesContent", given.contents),
        ("names", given.names),
    ):
        yield f',"{key}":['.encode()
        for n, batch in enumerate(_batches(values, _length)):
            text = json.dumps(batch, separators=(",", ":"))[1:-1]
            yield (b"," if n else b"") + text.encode()
        yield b"]"
    yield b',"mappings":"'
    yield given.mappings
    yield b'"}\n'


def _length(value: str | None) -> int:
    return len(value or "")
