"""
Which of the bundler's messages may be shown.

A message quotes the file it is about.  A plugin can make the bundler read any file
(by a ``package.json`` that names it), and a file that is no JavaScript, such as the
pairing token, is then quoted before the metafile can be checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .plugintable import TABLE_FILE

HIDDEN: Final = (
    "✘ [ERROR] A file outside the host and the plugins was read; it is not quoted here"
)

_BEGINS: Final = re.compile(r"^(?=[✘▲] \[)", re.MULTILINE)
_PLACE: Final = re.compile(r"^ +(\S.*?):\d+:\d+:", re.MULTILINE)
_QUOTE: Final = "│"
_ROOMS: Final = ("host/", "plugins/")

# Notes about options of the bundler, which nobody but the daemon chooses.  The strict
# mode is one: it comes with a place in the option, and the error speaks of it already.
_ADVICE: Final = (
    re.compile(
        r"\n\n  TypeScript's \"alwaysStrict\" setting was enabled here:"
        r"\n\n    <tsconfig\.json>:\d+:\d+:(?:\n ++\d*+ *+[│╵].*)+"
    ),
    re.compile(r"\n\n  You (?:can mark the path|need to set the output format) .*"),
    re.compile(r" Are you trying to bundle for node\? .*"),
)


def showable(text: str, *, cut: bool) -> str:
    """
    Leave out what quotes a file that is neither the host's nor a plugin's, and advice
    that the author of a plugin can't follow.

    :param text: The bundler's output.
    :param cut: Whether its end is missing; the missing part may hold the
        origin of the last message, so that message is left out.
    """
    blocks = [block for block in _BEGINS.split(text) if block.strip()]
    if cut and blocks and _BEGINS.match(blocks[-1]):
        del blocks[-1]
    return "\n\n".join(dict.fromkeys(_shown(blocks)))


def _shown(blocks: list[str]) -> Iterator[str]:
    for block in map(_without_advice, blocks):
        places = _PLACE.findall(block)
        if all(_is_ours(place) for place in places) and (places or _QUOTE not in block):
            yield block.strip("\n")
        else:
            yield HIDDEN


def _without_advice(block: str) -> str:
    for advice in _ADVICE:
        block = advice.sub("", block)
    return block


def _is_ours(place: str) -> bool:
    # The bundler names files relative to the data directory.
    path = place.removeprefix("(disabled):").replace("\\", "/")
    if ".." in path.split("/"):
        return False
    return path == TABLE_FILE or path.startswith(_ROOMS)
