"""
Scan a plugin's tree against the source policy.

Rules on the shape of a source, that people can read it, look at its text.  Then the
pinned bundler reads the sources; what it makes of them is what would run, and that is
checked.  Files are read, and answers checked, in threads.  A source that breaks a rule
is read once more, with a source map, for the lines; no other needs one.
"""

from __future__ import annotations

import math
import os
import posixpath
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Final

from attrs import Factory

from ...classes import define, frozen
from ...concurrency.threads import InThread, stoppable
from ...protocol import limits
from ...protocol.errors import BridgeError, Code, Prefix, plugin_error
from ...protocol.text import printable
from ..esbuild.conversation import (
    BundlerReactor,
    Conversation,
    LimitError,
    Limits,
    converse,
    together,
)
from ..esbuild.executable import BundlerError, Executable
from ..tree.tree import EXEMPT, Tree, is_test_name
from .javascript.constructs import output_hits
from .reading import Answer, Source, is_source_name, read
from .rules import TOO_COMPLEX, TOOLING, Hit, document_lines

MINIFIED: Final = "minified"
PACKED: Final = "packed source"

# Lines are taken so many characters at a time: a list of two million of them would
# take long to make at once.
_CHUNK: Final = 64 * limits.KIB

_ESCAPES: Final = re.compile(
    r"(?:\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]+\})"
    f"{{{limits.SOURCE_ESCAPES + 1},}}"
)
# These hide, turn text around, or end a line for some readers of JavaScript only.
_INVISIBLE: Final = re.compile(
    "[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u2028\u2029\0]"
)
_SOURCE_MAP: Final = re.compile(r"[#@]\s*sourceMappingURL\s*=")
_MANGLED: Final = re.compile("_0x[0-9A-Fa-f]{4}")
_BLOB: Final = re.compile(f"[A-Za-z0-9+/=_-]{{{limits.SOURCE_BLOB_CHARACTERS},}}")


@frozen
class Survey:
    """
    What can be found in a tree without the bundler.

    :ivar found: What breaks a rule, by path, in the order of report: JSON files,
        sources by their shape, and the tree as a whole, whose path is empty.
    :ivar sources: Those that are worth reading: what people can't read is refused as
        it is.
    """

    found: dict[str, list[Hit]] = Factory(dict)
    sources: list[Source] = Factory(list)

    def add(self, path: str, content: bytes) -> None:
        """Look at the text of a source."""
        text = content.decode("utf-8", "replace").lstrip("\ufeff")
        found = islice(shape_hits(text.replace("\r\n", "\n")), limits.POLICY_HITS)
        shapes = [Hit(printable(path), line, rule) for line, rule in found]
        self.found[path] = shapes
        rules = {hit.rule for hit in shapes}
        if len(shapes) < limits.POLICY_HITS and not rules & {MINIFIED, PACKED}:
            self.sources.append(Source(path, content))


@frozen(eq=False)
class Scanner:
    """
    Scans trees.

    :ivar in_thread: Calls a function in a thread.
    :ivar executable: Gives a verified copy of the bundler; blocks.  It raises
        ``BundlerError`` when there is none.
    :ivar modules: Names of modules the host provides, which may be imported.
    """

    _reactor: BundlerReactor
    _in_thread: InThread
    _executable: Callable[[], Executable]
    _modules: Collection[str]

    async def scan(self, tree: Tree) -> list[Hit]:
        """
        Scan every source file of a tree.

        When this is cancelled, nothing of it is left running.

        :return: In order of report, at most ``POLICY_HITS``.
        :raise BundlerError: There is no bundler, or it is not the pinned one.
        """
        survey: Survey = await self._in_thread(survey_tree, tree)
        if not survey.sources:
            return all_hits(survey, {})
        mark = f"${os.urandom(8).hex()}$"
        asked = survey.sources, mark, self._modules, self._in_thread
        verdicts = await converse(
            self._reactor,
            await self._in_thread(self._executable),
            scan_limits(),
            lambda bundler: read_sources(bundler, *asked),
        )
        return all_hits(survey, verdicts)


def scan_limits() -> Limits:
    """Return what one scan may use."""
    return Limits(
        limits.SCAN_SECONDS,
        limits.SCAN_CPU_SECONDS,
        limits.SCAN_OUTPUT_BYTES,
        limits.SCAN_MEMORY_BYTES,
    )


async def read_sources(
    bundler: Conversation,
    sources: Iterable[Source],
    mark: str,
    modules: Collection[str],
    in_thread: InThread,
) -> dict[str, list[Hit]]:
    """
    Have sources read, and check what the bundler makes of them.

    They are checked when all have been read: meanwhile no time of the bundler's passes.

    :param mark: See ``reading``.
    :param modules: See ``Scanner``.
    :return: What each breaks, by its path; when the bundler reached a limit, only the
        first one that it has not read.
    """
    answers: dict[str, Answer] = {}
    verdicts: dict[str, list[Hit]] = {}
    unread: list[str] = []

    async def ask(source: Source, is_mapped: bool) -> None:
        try:
            answer = await read(bundler, source, mark, in_thread, is_mapped=is_mapped)
        except LimitError:
            unread.append(source.name)
            raise
        answers[source.name] = answer

    left = list(sources)
    for is_mapped in (False, True):
        answers.clear()
        try:
            await together(ask(source, is_mapped) for source in left)
        except LimitError:
            name = unread[0]
            return {name: [Hit(printable(name), 1, TOO_COMPLEX)]}
        for source in left:
            asked = source, answers[source.name], modules, mark
            found = await stoppable(in_thread, partial(output_hits, *asked))
            # What broke a rule once is not acquitted by a second reading.
            if found or source.name not in verdicts:
                verdicts[source.name] = found
        left = [one for one in left if verdicts[one.name]]
    return verdicts


def survey_tree(tree: Tree) -> Survey:
    """Look at the texts of a tree; takes a while."""
    # Depth first, by name.
    paths = sorted(tree.files, key=lambda path: path.split("/"))
    documents = [path for path in paths if path.lower().endswith(".json")]
    survey = Survey({path: _mentions(path, tree.files[path]) for path in documents})
    sources = [path for path in paths if is_scanned(path)]
    if len(sources) > limits.SOURCE_FILES:
        survey.found[""] = [Hit("", 0, f"more than {limits.SOURCE_FILES} source files")]
        return survey
    total = 0
    for path in sources:
        content = tree.files[path]
        total += len(content)
        if total > limits.SOURCE_BYTES:
            most = f"more than {limits.SOURCE_BYTES} bytes of source"
            survey.found[""] = [Hit("", 0, most)]
            break
        survey.add(path, content)
    return survey


def is_scanned(path: str) -> bool:
    """Whether a file is a source that the bundler would read for an import."""
    name = posixpath.basename(path)
    return is_source_name(name) and path not in EXEMPT and not is_test_name(name)


def all_hits(survey: Survey, verdicts: Mapping[str, list[Hit]]) -> list[Hit]:
    """
    Put everything together that was found.

    :param verdicts: See ``read_sources``.
    """
    hits: list[Hit] = []
    for name, found in survey.found.items():
        both = [*found, *verdicts.get(name, ())]
        hits += sorted(both, key=lambda hit: hit.rule != TOOLING)
    return hits[: limits.POLICY_HITS]


@define(auto_exc=True)
class SourcesRefusedError(BridgeError):
    """
    The source policy refuses a tree; the message names the first violation.

    :ivar hits: All of them.
    """

    hits: list[Hit] = Factory(list)


async def refuse(scanning: Awaitable[list[Hit]]) -> None:
    """
    Refuse a tree for what is found in it.

    :param scanning: See ``Scanner.scan``.
    :raise SourcesRefusedError: Something is.
    :raise BridgeError: ``build_failed``: there is no bundler, so there will be no
        bundle either.
    """
    try:
        hits = await scanning
    except BundlerError as e:
        raise plugin_error(Prefix.BUILD_FAILED, str(e)) from None
    if hits:
        message = f"{Prefix.POLICY}: {hits[0].report}"
        raise SourcesRefusedError(Code.BAD_REQUEST, message, hits=hits)


def _mentions(path: str, content: bytes) -> list[Hit]:
    """Check a JSON file, which is no source and yet names files to the bundler."""
    lines = document_lines(posixpath.basename(path), content)
    return [Hit(printable(path), line, TOOLING) for line in lines]


def shape_hits(text: str) -> Iterator[tuple[int, str]]:
    """
    Check a file's lines.

    :param text: With its lines ended by LF alone, and without a byte order mark.
    :return: Line numbers, from 1, and names of rules.
    """
    count = total = 0
    number = 1
    for lines in _chunks(text):
        written = list(filter(str.strip, lines))
        count += len(written)
        total += sum(map(len, written))
        # Almost every chunk is plain, and needs no look at each of its lines.
        if written and (
            max(map(len, written)) >= limits.SOURCE_BLOB_CHARACTERS
            or next(_text_rules("\n".join(written)), None)
        ):
            for place, line in enumerate(lines, number):
                for rule in _line_rules(line):
                    yield place, rule
        number += len(lines)
    if (
        count >= limits.SOURCE_PACKED_LINES
        and total > count * limits.SOURCE_PACKED_CHARACTERS
    ):
        yield 1, PACKED


def _chunks(text: str) -> Iterator[list[str]]:
    start = 0
    while start < len(text):
        end = text.find("\n", start + _CHUNK)
        end = len(text) if end < 0 else end
        yield text[start:end].split("\n")
        start = end + 1


def _line_rules(line: str) -> Iterator[str]:
    # What is left of a line this long is not worth the time it takes to read.
    if len(line) > limits.SOURCE_LINE_CHARACTERS:
        yield MINIFIED
        return
    yield from _text_rules(line)
    if any(_is_opaque(run) for run in _BLOB.findall(line)):
        yield "opaque blob"


def _text_rules(text: str) -> Iterator[str]:
    if (not text.isascii() or "\0" in text) and _INVISIBLE.search(text):
        yield "invisible characters"
    if "\\" in text and _ESCAPES.search(text):
        yield "escape sequences"
    if "sourceMappingURL" in text and _SOURCE_MAP.search(text):
        yield "source map reference"
    if "_0x" in text and _MANGLED.search(text):
        yield "mangled identifiers"


def _is_opaque(run: str) -> bool:
    shares = [count / len(run) for count in Counter(run).values()]
    bits = -sum(share * math.log2(share) for share in shares)
    return bits >= limits.SOURCE_BLOB_BITS_PER_CHARACTER
