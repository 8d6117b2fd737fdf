"""
The bundler as the reader of sources: how it reads them, what it is asked about one, and
what it answers.

How it reads them has one home, for the scan and for the build.  What one of them read
in another way than the other, or not at all, would be code that runs without having
been scanned.

The bundler turns the source into plain modern JavaScript: no types, no JSX, no escapes
in names, strings and members folded where they are constant.  Each name that nothing in
the source declares comes back with a mark in front, by the bundler's own analysis of
scopes, unless every page has it and it matters to no rule.  The mark is random, so that
no source can hold it.

Which words may be names is found without a lexer: a word in a comment or a string is
found too, and so is a member: they cost nothing but time.
"""

from __future__ import annotations

import json
import os.path
import re
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterator
from functools import cached_property
from typing import Any, Final

from ...classes import frozen
from ...protocol.limits import SCAN_NAMES
from ...protocol.text import printable
from ..esbuild.conversation import Conversation, LimitError
from ..tree.tree import is_declaration_name
from .rules import GLOBALS, RESERVED, STANDARD_NAMES, WRAPPED

TARGET: Final = "es2022"
"""What the bundler compiles to."""

TSCONFIG_RAW: Final = json.dumps(
    {
        "compilerOptions": {
            "target": TARGET,
            "useDefineForClassFields": True,
            # In sloppy code the `this` of a plain function is the window.
            "alwaysStrict": True,
        }
    },
    separators=(",", ":"),
)
"""The compiler options of every source, which no ``tsconfig.json`` changes."""

# The bundler's own defaults, except that it reads `.mts` and `.cts` in a stricter
# variant of `ts` that has no name: there `<T>x` is an error.
LOADERS: Final = {
    ".ts": "ts",
    ".mts": "ts",
    ".cts": "ts",
    ".tsx": "tsx",
    ".js": "js",
    ".mjs": "js",
    ".cjs": "js",
    ".jsx": "jsx",
}
"""How each kind of source is read, by the suffix of its name."""

DATA_LOADERS: Final = {".json": "json", ".txt": "text"}
"""The same for files that hold no code, and that only the build reads."""

# What the bundler would read as code and as style sheets without being asked.  What has
# no dot in its name is an error, which it calls `default`; style sheets are read as
# nothing, so that the check of what was read can refuse them in better words.
_OTHERS: Final = {"": "default", ".css": "empty", ".module.css": "empty"}


def suffix_of(name: str) -> str:
    """
    Return what decides how a file is read.

    Exact in its letters' case, as the bundler is; dots at the start begin no suffix,
    so that a file called ``.ts`` or ``..js`` has none, although the bundler finds one.

    :param name: A base name, or a path with ``/``.
    :return: The suffix with its dot; an empty string when there is none.
    """
    return os.path.splitext(name.rpartition("/")[2])[1]


def is_source_name(name: str) -> bool:
    """Whether a file is code by its name; see ``suffix_of``."""
    return suffix_of(name) in LOADERS


def is_data_name(name: str) -> bool:
    """Whether a file is data that a plugin may import; see ``suffix_of``."""
    return suffix_of(name) in DATA_LOADERS


def loader_arguments() -> list[str]:
    """Return the bundler's arguments for all of this, so that no default decides."""
    kinds = {**LOADERS, **DATA_LOADERS, **_OTHERS}
    return [f"--loader:{suffix}={loader}" for suffix, loader in kinds.items()]


FACTORY: Final = "jsx"
"""What the mark of an element's factory ends with; it is a member, as no name is."""

_FRAGMENT: Final = "fragment"
_LIBRARY: Final = "React"
"""What makes elements, by the bundler's own default and so in the build."""

# As in the build, but that an import whose names are not used stays to be checked.
# With `alwaysStrict` the bundler would let errors of strict code pass, also in modules.
_TSCONFIG: Final = json.dumps(
    {
        "compilerOptions": {
            **json.loads(TSCONFIG_RAW)["compilerOptions"],
            "alwaysStrict": False,
            "importsNotUsedAsValues": "preserve",
        }
    }
)
_STRICT: Final = b'"use strict";'
_LINE_END: Final = re.compile(rb"[\r\n]|\xe2\x80[\xa8\xa9]")
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
_ERROR_CHARACTERS: Final = 200
_PRAGMA: Final = b"@jsx"
_ELEMENTS: Final = (".tsx", ".jsx")
_MAP: Final = "//# sourceMappingURL="

# Whatever is not ASCII and no blank is looked at later: in code it belongs to a name.
_RUN: Final = re.compile(r"(?:[\w$]|[^\x00-\x7f\s\ufeff])+")
_ESCAPE: Final = re.compile(r"\\u(?:\{0*([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{4}))")

_UNMARKED: Final = (STANDARD_NAMES | RESERVED | WRAPPED) - GLOBALS

_STARTING: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nl"})
_CONTINUING: Final = frozenset({"Mn", "Mc", "Nd", "Pc"})
_MORE: Final = "$\u200c\u200d"


def marked_names(text: str) -> frozenset[str]:
    """Return the names to mark in a source with a text."""
    return frozenset(words_in(text) - _UNMARKED)


def words_in(text: str) -> set[str]:
    """
    Return every word that may stand for a free name, reserved words among them.

    :param text: Of a source, or of what the bundler made of one.
    """
    if "\\u" in text:
        text = f"{text}\n{_ESCAPE.sub(_unescaped, text)}"
    found: set[str] = set()
    # By lines: a search of a whole source would let no other thread run meanwhile.
    for line in text.split("\n"):
        found.update(_RUN.findall(line))
    plain = {word for word in found if word.isascii() and not word[0].isdecimal()}
    return plain | {word for word in found if not word.isascii() and _is_name(word)}


def _is_name(word: str) -> bool:
    # A letter by its category, which is in no name: the bundler refuses to mark one.
    if "\u2e2f" in word:
        return False
    return _starts(word[0]) and all(map(_continues, word))


def _unescaped(escape: re.Match[str]) -> str:
    code = int(escape[1] or escape[2], 16)
    return chr(code) if code <= sys.maxunicode else " "


def _starts(char: str) -> bool:
    """Whether a name may start with a character."""
    return (
        char in "$_" or char.isidentifier() or unicodedata.category(char) in _STARTING
    )


def _continues(char: str) -> bool:
    """Whether a name may have a character in it."""
    return (
        f"a{char}".isidentifier()
        or char in _MORE
        or unicodedata.category(char) in _STARTING | _CONTINUING
    )


@frozen
class Source:
    """
    A source that the bundler has to read.

    :ivar name: Its path, whose suffix decides how it is read, as in the build.
    :ivar choose: Finds in a text what is marked where the source does not declare it;
        by default what matters to the policy.
    """

    name: str
    content: bytes
    choose: Callable[[str], frozenset[str]] = marked_names

    @cached_property
    def has_pragma(self) -> bool:
        """Whether its comments may choose what its elements become."""
        return _has_elements(self.name) and _PRAGMA in self.content


@frozen
class Answer:
    """
    What the bundler made of a source.

    :ivar code: The output; empty if the source does not compile.
    :ivar source_map: Of the output, if it was asked for; see ``Lines``.
    :ivar error_line: The line that does not compile, from 1; 0 if it compiles.
    :ivar error: Why it does not, in the bundler's words.
    """

    code: str
    source_map: str
    error_line: int = 0
    error: str = ""


async def read(
    bundler: Conversation,
    source: Source,
    mark: str,
    in_thread: Callable[..., Awaitable[Any]],
    *,
    is_mapped: bool,
) -> Answer:
    """
    Have a source read.

    :param in_thread: Calls what takes a while.
    :param is_mapped: Whether the answer is to have a source map, which takes a quarter
        more time.
    :raise LimitError: It has too many names, each of which is a flag; see also
        ``Conversation.ask``.
    """
    loader, content = LOADERS[suffix_of(source.name)], _strict(source.content)
    if _has_elements(source.name):
        # The names of what makes elements come from options and comments, so they are
        # marked by no first reading: its output has to be read again.
        first = await transform(bundler, content, _plain(loader, mark, is_mapped))
        # What does not compile is not read again.
        if first.error_line:
            return first
        # The map comes last: one line, as long as all others, and without a name.
        text = first.code.rpartition(_MAP)[0] if is_mapped else first.code
        loader, content = "js", first.code.encode()
    else:
        text = source.content.decode("utf-8", "replace")

    def marking(text: str) -> list[str]:
        names = source.choose(text)
        if len(names) > SCAN_NAMES:
            raise LimitError("a source has more names than it may")
        return _marking(loader, mark, names, is_mapped)

    flags = await in_thread(marking, text)
    answer = await transform(bundler, content, flags)
    # Types may be no syntax for the bundler, and no bundle can have them.
    is_passed_over = answer.error_line and is_declaration_name(source.name)
    return Answer("", "") if is_passed_over else answer


def _has_elements(name: str) -> bool:
    """Whether a source may have elements, and so is read twice."""
    return suffix_of(name) in _ELEMENTS


def _strict(content: bytes) -> bytes:
    """Return a source as strict code, as all is in a module, with its lines."""
    # A first line that names a program is left out up to its end, which CR can be.
    if content.startswith(b"#!"):
        end = _LINE_END.search(content)
        content = content[end.start() :] if end else b""
    return _STRICT + content


def _plain(loader: str, mark: str, is_mapped: bool) -> list[str]:
    factory = f"--jsx-factory={_LIBRARY}.{mark}{FACTORY}"
    fragment = f"--jsx-fragment={_LIBRARY}.{mark}{_FRAGMENT}"
    maps = ["--sourcemap=inline"] if is_mapped else []
    return [*_PLAIN, f"--loader={loader}", *maps, factory, fragment]


def _marking(
    loader: str, mark: str, names: frozenset[str], is_mapped: bool
) -> list[str]:
    maps = ["--sources-content=false", "--sourcemap=external"] if is_mapped else []
    marks = [f"--define:{name}={mark}{name}" for name in sorted(names)]
    return [*_PLAIN, "--format=esm", f"--loader={loader}", *maps, *marks]


async def transform(bundler: Conversation, content: bytes, flags: list[str]) -> Answer:
    """
    Have a text made into another.

    :raise BundlerError: See ``Conversation.ask``.
    """
    request = {"command": "transform", "flags": flags, "inputFS": False}
    made = await bundler.ask(request | {"input": content})
    if not made.get("errors"):
        return Answer(made["code"], made["map"])
    first = made["errors"][0]
    line = (first["location"] or {}).get("line", 1)
    error = printable(first["text"])[:_ERROR_CHARACTERS]
    return Answer("", "", max(1, line), error)


_DIGITS: Final = {
    character: value
    for value, character in enumerate(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    )
}
_CONTINUED: Final = 32
_BITS: Final = 5


class Lines:
    """
    The lines of one source, by place in the output.

    :param output: The bundler's output, which is ASCII.
    :param source_map: Its source map, version 3, of this one source; without one (an
        empty string) every place comes from line 1.
    """

    def __init__(self, output: str, source_map: str) -> None:
        self._starts = [0]
        at = output.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = output.find("\n", at + 1)
        self._places: list[int] = []
        self._lines: list[int] = []
        mappings = json.loads(source_map)["mappings"] if source_map else ""
        for row, column, line in _segments(mappings):
            if row < len(self._starts):
                self._places.append(self._starts[row] + column)
                self._lines.append(line)

    def line(self, place: int) -> int:
        """
        The line a place comes from, counted from 1.

        What the bundler added comes from the nearest line before it.
        """
        found = bisect_right(self._places, place) - 1
        return self._lines[max(found, 0)] + 1 if self._lines else 1


def _segments(mappings: str) -> Iterator[tuple[int, int, int]]:
    """Rows and columns of the output, and the lines they come from, from 0."""
    line = 0
    for row, group in enumerate(mappings.split(";")):
        column = 0
        for segment in filter(None, group.split(",")):
            fields = list(_numbers(segment))
            column += fields[0]
            if len(fields) > 2:
                line += fields[2]
                yield row, column, line


def _numbers(segment: str) -> Iterator[int]:
    value = shift = 0
    for character in segment:
        digit = _DIGITS[character]
        value += (digit & (_CONTINUED - 1)) << shift
        if digit & _CONTINUED:
            shift += _BITS
        else:
            yield -(value >> 1) if value & 1 else value >> 1
            value = shift = 0
