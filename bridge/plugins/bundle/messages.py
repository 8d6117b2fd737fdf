"""
Which of the bundler's messages may be shown, and how.

A message quotes the file it is about.  A plugin can make the bundler read a file of any
directory (as a ``package.json`` that it is led to), so that only what is about a file
of the host or of a plugin is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ...protocol.limits import BUILD_OUTPUT_CHARACTERS
from ...protocol.text import printable
from .plugintable import MADE

HIDDEN: Final = (
    "a file outside the host and the plugins was read; it is not quoted here"
)

_AREAS: Final = ("host/", "plugins/", MADE)
_QUOTED_CHARACTERS: Final = 160


def shown_messages(messages: Iterable[Mapping[str, Any]]) -> str:
    """
    Write what the bundler reports, for the author of a plugin.

    :param messages: As its service has them.
    :return: For each ``file:line:column: text``, with the line; at most
        ``BUILD_OUTPUT_CHARACTERS``.
    """
    lines = dict.fromkeys(line for message in messages for line in _lines(message))
    text = "\n".join(lines)[:BUILD_OUTPUT_CHARACTERS]
    return printable(text, "\n\t").strip()


def _lines(message: Mapping[str, Any]) -> Iterator[str]:
    place = message["location"]
    if place is None:
        yield str(message["text"])
        return
    if not _is_ours(place["file"]):
        yield HIDDEN
        return
    yield _located(message["text"], place)
    # Notes without a place give advice about the bundler's options, which nobody but
    # the daemon chooses.
    for note in message["notes"]:
        if note["location"] is not None and _is_ours(note["location"]["file"]):
            yield _located(note["text"], note["location"])


def _located(text: str, place: Mapping[str, Any]) -> str:
    where = f"{place['file']}:{place['line']}:{place['column']}: {text}"
    quoted = place["lineText"][:_QUOTED_CHARACTERS].strip()
    return f"{where}\n    {quoted}" if quoted else where


def _is_ours(file: str) -> bool:
    # The bundler names files relative to the data directory.
    path = file.removeprefix("(disabled):").replace("\\", "/")
    return path.startswith(_AREAS) and ".." not in path.split("/")
