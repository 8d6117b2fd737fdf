"""
The bundle's source map: checked against the files it speaks of, and made portable.

The bundler follows ``sourceMappingURL`` comments without a word in its metafile, so a
map may bring in a file from anywhere, or one that never was.  Nothing here does I/O.

A map can be tens of megabytes: it is read and written one string at a time, since
the decoder and the encoder let no other thread run while they work on a value.
"""

from __future__ import annotations

import json
import os.path
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final
from urllib.parse import unquote

from attrs import evolve, frozen

from .files import shown
from .metafile import PACKAGES, PLUGINS, BuildError

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_decode_at: Final = json.JSONDecoder().raw_decode


@frozen
class SourceMap:
    """
    A source map, version 3.

    :ivar contents: The text of each of ``sources``, or ``None`` for one left out.
    """

    sources: list[str]
    contents: list[str | None]
    mappings: str
    names: list[str]


def parse_map(text: str) -> SourceMap:
    """
    Read a source map.

    :raise BuildError: It is none, or has fields the bundler does not write.
    """
    try:
        return _parsed(dict(_members(text)))
    except (ValueError, LookupError):
        raise BuildError("the bundler's source map cannot be read") from None


def _parsed(fields: dict[str, Any]) -> SourceMap:
    if fields.pop("version", None) != 3:
        raise ValueError
    sources, names = fields.pop("sources"), fields.pop("names", [])
    contents, mappings = fields.pop("sourcesContent"), fields.pop("mappings")
    lists = (sources, names, contents)
    if fields or type(mappings) is not str or any(type(x) is not list for x in lists):
        raise ValueError
    if len(sources) != len(contents) or not _strings([*sources, *names]):
        raise ValueError
    if not _strings([c for c in contents if c is not None]):
        raise ValueError
    return SourceMap(sources, contents, mappings, names)


def _strings(values: list[Any]) -> bool:
    return all(type(value) is str for value in values)


def _members(text: str) -> Iterator[tuple[str, Any]]:
    """The members of an object whose values are atoms or lists of atoms."""
    at = _past("{", text, _space(text, 0))
    while True:
        name, at = _atom(text, at)
        at = _past(":", text, _space(text, at))
        value, at = _elements(text, at) if text[at] == "[" else _atom(text, at)
        yield name, value
        at = _space(text, at)
        if text[at] == "}":
            break
        at = _past(",", text, at)
    if _space(text, at + 1) != len(text):
        raise ValueError


def _elements(text: str, at: int) -> tuple[list[Any], int]:
    values: list[Any] = []
    at = _past("[", text, at)
    if text[at] == "]":
        return values, at + 1
    while True:
        value, at = _atom(text, at)
        values.append(value)
        at = _space(text, at)
        if text[at] == "]":
            return values, at + 1
        at = _past(",", text, at)


def _atom(text: str, at: int) -> tuple[Any, int]:
    if text[at] in "[{":
        raise ValueError
    return _decode_at(text, at)


def _past(mark: str, text: str, at: int) -> int:
    if text[at] != mark:
        raise ValueError
    return _space(text, at + 1)


def _space(text: str, at: int) -> int:
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
    :param read: Gives such a file's bytes.
    :return: The map with its sources named relative to ``root``, so that it does
        not tell where that is.
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
    """Word it without the name, which is whatever the author of the map wrote."""
    what = "the source map holds a source that is no part of the bundle"
    for name in sorted(inputs):
        if name.startswith(PLUGINS) and b"sourceMappingURL" in read(name):
            return BuildError(f"{what}: {shown(name)} has a sourceMappingURL comment")
    return BuildError(what)


def map_pieces(given: SourceMap) -> Iterator[bytes]:
    """Write a map as JSON, piece by piece; the same map gives the same bytes."""
    yield b'{"version":3'
    for key, values in (
        ("sources", given.sources),
        ("sourcesContent", given.contents),
        ("names", given.names),
    ):
        yield f',"{key}":['.encode()
        for n, value in enumerate(values):
            yield (b"," if n else b"") + json.dumps(value).encode()
        yield b"]"
    yield b',"mappings":' + json.dumps(given.mappings).encode() + b"}\n"
