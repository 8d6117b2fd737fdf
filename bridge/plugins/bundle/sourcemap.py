"""
A bundle's source map, checked against the files it names.

The bundler follows ``sourceMappingURL`` comments without an entry in its metafile, so a
map may bring in a file from anywhere, or one that never was.  Nothing here does I/O.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection
from typing import Any
from urllib.parse import unquote

import orjson

from ...classes import frozen
from ..tree.files import shown
from .metafile import PACKAGES, PLUGINS, BuildError, read_json


@frozen
class SourceMap:
    """
    A source map that was checked.

    :ivar text: It, as a file.
    """

    text: bytes
    sources: list[str]
    mappings: str


@frozen
class Bundle:
    """
    A script that was checked, and its source map.

    :ivar warnings: What the bundler warned of, as far as it may be shown.
    """

    script: bytes
    map: SourceMap
    warnings: str = ""


def check_map(
    text: bytes, directory: str, inputs: Collection[str], read: Callable[[str], bytes]
) -> SourceMap:
    """
    Check that a map holds the sources of a bundle and nothing else.

    A package of the host may have a map of its own: its sources are not among the
    files the bundler read, so they keep their name and lose their text.

    :param text: As the bundler wrote it.
    :param directory: Where its sources are named from, relative to the data directory.
    :param inputs: The files the bundler read, relative to the data directory, with
        ``/``.
    :param read: Returns the bytes of such a file.
    :raise BuildError: A source is no part of the bundle, or differs
        from its file.
    """
    fields = read_json(text)
    contents = fields["sourcesContent"]
    changed = False
    for at, source in enumerate(fields["sources"]):
        name = posixpath.normpath(posixpath.join(directory, unquote(source)))
        if name in inputs:
            _check_content(name, contents[at], read)
        elif name.startswith(PACKAGES):
            contents[at], changed = None, True
        else:
            raise _foreign(inputs, read)
    text = orjson.dumps(fields) if changed else text
    return SourceMap(text, fields["sources"], fields["mappings"])


def _check_content(name: str, content: Any, read: Callable[[str], bytes]) -> None:
    try:
        text = read(name).decode("utf-8")
    except UnicodeDecodeError:
        raise BuildError(f"{shown(name)} is not UTF-8") from None
    if content != text:
        raise BuildError(
            f"{shown(name)} differs from what the source map says it is; a "
            "sourceMappingURL comment can do that"
        )


def _foreign(inputs: Collection[str], read: Callable[[str], bytes]) -> BuildError:
    """Return an error without the name, which the author of the map chose."""
    what = "the source map holds a source that is no part of the bundle"
    for name in sorted(inputs):
        if name.startswith(PLUGINS) and b"sourceMappingURL" in read(name):
            return BuildError(f"{what}: {shown(name)} has a sourceMappingURL comment")
    return BuildError(what)
