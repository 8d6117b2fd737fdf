"""What went into a bundle, as the bundler's metafile has it.  Nothing here does I/O."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from ...classes import frozen
from .places import Edge


@frozen
class Input:
    """
    A file that was read.

    :ivar path: Its path, relative to where the bundler ran, with ``/``.
    :ivar as_data: Whether the import asked for it as JSON, text or bytes, whatever its
        name is.
    """

    path: str
    as_data: bool


@frozen
class Metafile:
    """
    A metafile.

    :ivar edges: Every import of every input.
    :ivar outputs: The paths of the files that were written, with ``/``.
    :ivar left: What the outputs leave for the browser to import: specifiers.
    """

    inputs: list[Input]
    edges: list[Edge]
    outputs: list[str]
    left: frozenset[str]


def parse_metafile(text: bytes) -> Metafile:
    """
    Read a metafile.

    :raise ValueError: It is none.
    """
    whole = _object(_loaded(text))
    inputs: list[Input] = []
    edges: list[Edge] = []
    for key, value in _object(whole.get("inputs")).items():
        about = _object(value)
        path = _path(key, about)
        inputs.append(Input(path, bool(about.get("with"))))
        edges.extend(_edges(path, about))
    written = _object(whole.get("outputs"))
    return Metafile(inputs, edges, list(map(_slashed, written)), _left(written))


def _loaded(text: bytes) -> Any:
    # Its numbers, which are sizes, are not used; nor is what nests deeper than this.
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass  # it holds a copy of the text, so it must not be an exception's context
    raise ValueError


def _object(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if type(value) is not dict:
        raise ValueError
    return value


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if value is None:
        return
    if type(value) is not list:
        raise ValueError
    yield from map(_object, value)


def _string(value: Any) -> str:
    if type(value) is not str:
        raise ValueError
    return value


def _slashed(path: str) -> str:
    return path.replace("\\", "/")


def _path(key: str, about: dict[str, Any]) -> str:
    if "with" not in about:
        return _slashed(key)
    asked = _object(about["with"])
    # The bundler adds this where the same file was read in another way, too.
    mark = f" with {{ type: '{asked.get('type')}' }}"
    return _slashed(key.removesuffix(mark) if asked else key)


def _edges(importer: str, about: dict[str, Any]) -> Iterator[Edge]:
    for edge in _objects(about.get("imports")):
        key = _string(edge.get("path"))
        specifier = _string(edge.get("original", key))
        external = edge.get("external") is True
        yield Edge(importer, _path(key, edge), specifier, external)


def _left(written: dict[str, Any]) -> frozenset[str]:
    return frozenset(
        _slashed(_string(edge.get("path")))
        for output in written.values()
        for edge in _objects(_object(output).get("imports"))
    )
