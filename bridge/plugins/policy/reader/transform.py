"""
What is asked of the bundler about one source, and what it answers.

The bundler turns the source into plain modern JavaScript: no types, no JSX, no escapes
in names, strings and members folded where they are constant.  Each name that nothing in
the source declares comes back with a mark in front, by the bundler's own analysis of
scopes, unless every page has it and it matters to no rule.  The mark is random, so that
no source can hold it.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

from attrs import field

from ....classes import frozen
from ...esbuild.executable import BundlerError
from ...esbuild.language import LOADERS, TSCONFIG_RAW, suffix_of
from ...esbuild.packets import Encoded, encoded
from ..rules.standard import RESERVED, WRAPPED, standard_names
from ..rules.table import GLOBALS
from .words import words_in

FACTORY: Final = "jsx"
"""What the mark of an element's factory ends with; it is a member, as no name is."""

_FRAGMENT: Final = "fragment"
_LIBRARY: Final = "React"
"""What makes elements, by the bundler's own default and so in the build."""

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
_WHOLE: Final = (*_PLAIN, "--format=esm")
_MAPPED: Final = ("--sources-content=false", "--sourcemap=external")
_REMEMBERED: Final = 1024
_PRAGMA: Final = b"@jsx"
_ELEMENTS: Final = (".tsx", ".jsx")


@frozen
class Question:
    """
    A source that the bundler has to read.

    :ivar name: Its path, whose suffix decides how it is read, as in the build.
    :ivar is_mapped: Whether the answer is to have a source map, which takes a quarter
        more time.
    :ivar names: What is marked where the source does not declare it.
    """

    name: str
    content: bytes
    is_mapped: bool = False
    names: frozenset[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        text = "" if self.is_read_twice else self.content.decode("utf-8", "replace")
        object.__setattr__(self, "names", marked_names(text))

    @property
    def is_read_twice(self) -> bool:
        """
        Whether it may have elements.

        The names of what makes them come from options and comments, so they are marked
        by no first reading: its output has to be read again.
        """
        return suffix_of(self.name) in _ELEMENTS


def marked_names(text: str) -> frozenset[str]:
    """Return the names to mark in a source with a text."""
    return frozenset(words_in(text) - _unmarked())


@lru_cache(maxsize=1)
def _unmarked() -> frozenset[str]:
    return (standard_names() | RESERVED | WRAPPED) - GLOBALS


@frozen
class Answer:
    """
    What the bundler made of a source.

    :ivar code: The output; empty if the source does not compile.
    :ivar source_map: Of the output, if it was asked for; see ``Lines``.
    :ivar error_line: The line that does not compile, from 1; 0 if it compiles.
    """

    code: str
    source_map: str
    error_line: int = 0


def has_pragma(name: str, content: bytes) -> bool:
    """Whether comments of a source may choose what its elements become."""
    return suffix_of(name) in _ELEMENTS and _PRAGMA in content


def first_request(question: Question, mark: str) -> dict[str, Any]:
    """Return the first request for a source."""
    loader = LOADERS[suffix_of(question.name)]
    if question.is_read_twice:
        flags = _plain_flags(loader, mark, question.is_mapped)
    else:
        flags = _whole_flags(loader, mark, question.names, question.is_mapped)
    return _request(question.content, flags)


def second_request(first: Answer, mark: str, is_mapped: bool) -> dict[str, Any]:
    """Return the request for a source that is read twice, after the first answer."""
    names = marked_names(first.code)
    return _request(first.code.encode(), _whole_flags("js", mark, names, is_mapped))


def _request(content: bytes, flags: Encoded) -> dict[str, Any]:
    return {"command": "transform", "flags": flags, "inputFS": False, "input": content}


def _plain_flags(loader: str, mark: str, is_mapped: bool) -> Encoded:
    factory = f"--jsx-factory={_LIBRARY}.{mark}{FACTORY}"
    fragment = f"--jsx-fragment={_LIBRARY}.{mark}{_FRAGMENT}"
    maps = ["--sourcemap=inline"] if is_mapped else []
    return encoded([*_PLAIN, f"--loader={loader}", *maps, factory, fragment])


def _whole_flags(
    loader: str, mark: str, names: frozenset[str], is_mapped: bool
) -> Encoded:
    marks = [_mark_flag(mark, name) for name in sorted(names)]
    return encoded([*_shared_flags(loader, is_mapped), *marks])


@lru_cache(maxsize=len(LOADERS) * 2)
def _shared_flags(loader: str, is_mapped: bool) -> list[Encoded]:
    flags = [*_WHOLE, *(_MAPPED if is_mapped else ()), f"--loader={loader}"]
    return [encoded(flag) for flag in flags]


@lru_cache(maxsize=_REMEMBERED)
def _mark_flag(mark: str, name: str) -> Encoded:
    # Many names are in many files.
    return encoded(f"--define:{name}={mark}{name}")


def answer(value: Any) -> Answer:
    """
    Read the bundler's answer.

    :raise BundlerError: It is not what the pinned version answers.
    """
    if type(value) is not dict:
        raise BundlerError("the bundler is not the pinned one: its answer is no map")
    errors = value.get("errors")
    if errors:
        return Answer("", "", _line_of(errors[0]))
    code, source_map = value.get("code"), value.get("map")
    if type(code) is not str or type(source_map) is not str:
        raise BundlerError("the bundler is not the pinned one: its answer has no code")
    return Answer(code, source_map)


def _line_of(error: dict[str, Any]) -> int:
    place = error.get("location") or {}
    return max(1, int(place.get("line", 1)))
