"""
The bundle's source map: checked against the files it names, and made portable.

The bundler follows ``sourceMappingURL`` comments without an entry in its metafile, so a
map may bring in a file from anywhere, or one that never was.  Nothing here does I/O.

A map can be tens of megabytes: such a one is read and written one string at a time,
since the decoder and the encoder let no other thread run while they work on a value.
"""

from __future__ import annotations

import hashlib
import json
import os.path
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from attrs import evolve, frozen

from ....protocol.limits import KIB, MIB
from ....protocol.strictjson import unique
from ...tree.files import shown
from .metafile import PACKAGES, PLUGINS, BuildError

_VERSION: Final = 3
_LISTS: Final = ("sources", "sourcesContent", "names")
_FIELDS: Final = {"version", "mappings", *_LISTS}

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_AFTER: Final = re.compile(rb"[ \t\r\n]*+(?:(\])|,[ \t\r\n]*+)")
_PLAIN: Final = re.compile(rb"null|[0-9]{1,9}")
# A path without detours.
_STRAIGHT: Final = re.compile(r"(?:[A-Za-z0-9@_-][A-Za-z0-9@_.-]*+(?:/(?!\Z))?)++")
_MAPPING_CHARACTERS: Final = (
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/,;"
)
_BATCH_BYTES: Final = 16 * KIB
_AT_ONCE_BYTES: Final = 256 * KIB
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
        if len(text) > _AT_ONCE_BYTES:
            return _made(unique(list(_members(text))), text)
        fields = json.loads(text.decode(), object_pairs_hook=unique)
        return _made(fields, text)
    except (ValueError, LookupError, RecursionError):
        raise BuildError("the bundler's source map cannot be read") from None


def _made(fields: Any, text: bytes) -> SourceMap:
    if type(fields) is not dict or fields.keys() != _FIELDS:
        raise ValueError
    version, mappings = fields["version"], fields["mappings"]
    lists = sources, contents, names = [fields[key] for key in _LISTS]
    if (
        type(version) is not int
        or version != _VERSION
        or {list} != set(map(type, lists))
    ):
        raise ValueError
    if len(sources) != len(contents) or not _strings([*sources, *names]):
        raise ValueError
    if not _strings([content for content in contents if content is not None]):
        raise ValueError
    return SourceMap(sources, contents, _mappings(mappings, text), names)


def _decoded(pieces: list[bytes]) -> list[Any]:
    values: list[Any] = []
    for batch in _batches(pieces, len):
        values += json.loads((b"[%s]" % b",".join(batch)).decode())
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


def _mappings(value: Any, text: bytes) -> bytes:
    if type(value) is str:
        value = value.encode()
        if b'"%s"' % value not in text:
            raise ValueError  # it was written with escapes
    if type(value) is not bytes:
        raise ValueError
    for at in range(0, len(value), MIB):
        if value[at : at + MIB].translate(None, _MAPPING_CHARACTERS):
            raise ValueError
    return value


def _members(text: bytes) -> Iterator[tuple[str, Any]]:
    """The members of an object; of strings, what is between the quotes."""
    at = _past(b"{", text, _space(text, 0))
    while True:
        name, at = _atom(text, at)
        at = _past(b":", text, _space(text, at))
        if text[at : at + 1] == b"[":
            pieces, at = _list(text, at)
            yield json.loads(name), _decoded(pieces)
        else:
            value, at = _atom(text, at)
            plain = value[0] != _QUOTE
            yield json.loads(name), json.loads(value) if plain else value[1:-1]
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
    known: Mapping[str, bytes],
) -> SourceMap:
    """
    Check that a map holds the sources of the bundle and nothing else.

    A package of the host may have a map of its own: its sources are not among the
    files the bundler read, so they keep their name and lose their text.

    :param directory: Where the bundler wrote the map; a real path.
    :param root: The data directory; a real path.
    :param inputs: The files the bundler read, relative to ``root``, with ``/``.
    :param read: Returns the bytes of such a file.
    :param known: The SHA-256 of those that need not be read, by path.
    :return: The map with its sources named relative to ``root``, so that it does
        not reveal that path.
    :raise BuildError: A source is no part of the build, or differs from its file.
    """
    way = os.path.relpath(root, directory).replace(os.sep, "/") + "/"
    names = [
        rest
        if source.startswith(way) and _STRAIGHT.fullmatch(rest := source[len(way) :])
        else _resolved(directory, root, source)
        for source in given.sources
    ]
    contents: list[str | None] = []
    for name, content in zip(names, given.contents, strict=True):
        if name not in inputs:
            if not name.startswith(PACKAGES):
                raise _foreign(inputs, read)
            contents.append(None)
        elif _is_of(content, name, read, known.get(name)):
            contents.append(content)
        else:
            raise BuildError(
                f"{shown(name)} differs from what the source map says it is; a "
                "sourceMappingURL comment can do that"
            )
    return evolve(given, sources=names, contents=contents)


def _is_of(
    content: str | None, name: str, read: Callable[[str], bytes], digest: bytes | None
) -> bool:
    """Whether this is the content of a file, whose digest may be known."""
    if digest is None or content is None:
        return content == _text(name, read)
    # A map may hold half a character, which no file does.
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest() == digest


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
