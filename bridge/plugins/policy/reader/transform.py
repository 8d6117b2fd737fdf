"""
What is asked of the bundler about one source, and what it answers.

The bundler turns the source into plain modern JavaScript: no types, no JSX, no escapes
in names, strings and members folded where they are constant.  Each name of ``GLOBALS``
that nothing in the source declares comes back with a mark in front, by the bundler's
own analysis of scopes.  The mark is random, so that no source can hold it.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

from attrs import frozen

from ...esbuild.language import LOADERS, TSCONFIG_RAW, suffix_of
from ..rules.table import GLOBALS
from .encoding import Encoded, PacketError, encoded

FACTORY: Final = "jsx"
"""What the mark of an element's factory ends with."""

_FRAGMENT: Final = "fragment"

# As in the build, but that an import whose names are not used stays to be checked.
_TSCONFIG: Final = json.dumps(
    {
        "compilerOptions": {
            **json.loads(TSCONFIG_RAW)["compilerOptions"],
            "importsNotUsedAsValues": "preserve",
        }
    }
)
_PLAIN: Final = (
    "--target=esnext",
    "--charset=ascii",
    "--legal-comments=none",
    "--log-level=silent",
    "--supported:template-literal=false",
    "--jsx=transform",
    "--minify-syntax",
    "--tree-shaking=false",
    "--ignore-annotations",
    # The build's own value, for a browser and minified.
    '--define:process.env.NODE_ENV="production"',
    f"--tsconfig-raw={_TSCONFIG}",
)
_WHOLE: Final = (
    *_PLAIN,
    "--format=esm",
    "--sources-content=false",
    "--sourcemap=external",
)
_PRAGMA: Final = b"@jsx"


@frozen
class Answer:
    """
    What the bundler made of a source.

    :ivar code: The output; empty if the source does not compile.
    :ivar source_map: Of the output; see ``Lines``.
    :ivar error_line: The line that does not compile, from 1; 0 if it compiles.
    """

    code: str
    source_map: str
    error_line: int = 0


def has_pragma(name: str, content: bytes) -> bool:
    """
    Whether comments of a source may choose what its elements become.

    What they name is marked by no first reading: the output has to be read again.
    """
    return suffix_of(name) in (".tsx", ".jsx") and _PRAGMA in content


def first_request(name: str, content: bytes, mark: str) -> dict[str, Any]:
    """
    The request for one source.

    :param name: Its path, whose suffix decides how it is read, as in the build.
    """
    loader = LOADERS[suffix_of(name)]
    if has_pragma(name, content):
        return _request(content, _plain_flags(loader))
    return _request(content, _whole_flags(loader, mark))


def second_request(first: Answer, mark: str) -> dict[str, Any]:
    """The request for a source with pragmas, after the first answer."""
    return _request(first.code.encode(), _whole_flags("js", mark))


def _request(content: bytes, flags: Encoded) -> dict[str, Any]:
    return {"command": "transform", "flags": flags, "inputFS": False, "input": content}


def _plain_flags(loader: str) -> Encoded:
    return encoded([*_PLAIN, f"--loader={loader}", "--sourcemap=inline"])


@lru_cache(maxsize=len(LOADERS))
def _whole_flags(loader: str, mark: str) -> Encoded:
    marks = [f"--define:{name}={mark}{name}" for name in sorted(GLOBALS)]
    elements = [f"--jsx-factory={mark}{FACTORY}", f"--jsx-fragment={mark}{_FRAGMENT}"]
    return encoded([*_WHOLE, f"--loader={loader}", *marks, *elements])


def answer(value: Any) -> Answer:
    """
    Read the bundler's answer.

    :raise PacketError: It is not what the pinned version answers.
    """
    if type(value) is not dict:
        raise PacketError("the bundler's answer is no map")
    errors = value.get("errors")
    if errors:
        return Answer("", "", _line_of(errors[0]))
    code, source_map = value.get("code"), value.get("map")
    if type(code) is not str or type(source_map) is not str:
        raise PacketError("the bundler's answer has no code")
    return Answer(code, source_map)


def _line_of(error: dict[str, Any]) -> int:
    place = error.get("location") or {}
    return max(1, int(place.get("line", 1)))
