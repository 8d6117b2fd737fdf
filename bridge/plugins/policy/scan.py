"""
Scan a plugin's tree against the source policy.

The pinned bundler reads the sources; what it makes of them is what would run, and that
is checked.  Files are read, and answers checked, in threads.  A source that breaks a
rule is read once more, with a source map, for the lines; no other needs one.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice

from attrs import Factory

from ...classes import define, frozen
from ...concurrency.threads import InThread
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
from ..esbuild.language import is_source_name
from ..tree.tree import EXEMPT, Tree, is_test_name
from .javascript.constructs import output_hits
from .reading import Answer, Source, read
from .rules.imports import TOOLING, document_lines
from .rules.shape import MINIFIED, PACKED, shape_hits
from .rules.table import TOO_COMPLEX, Hit


@frozen
class Survey:
    """
    What can be found in a tree without the bundler.

    :ivar before: Hits that are reported before those of the sources.
    :ivar shapes: Lines from 1 and rules that each source breaks by its shape alone, by
        its path.
    :ivar sources: Those that are worth reading: what people can't read is refused as
        it is.
    :ivar after: Hits that are reported after them.
    """

    before: list[Hit] = Factory(list)
    shapes: dict[str, list[tuple[int, str]]] = Factory(dict)
    sources: list[Source] = Factory(list)
    after: list[Hit] = Factory(list)

    def add(self, path: str, content: bytes) -> None:
        """Look at the text of a source."""
        text = content.decode("utf-8", "replace").lstrip("\ufeff")
        shapes = list(
            islice(shape_hits(text.replace("\r\n", "\n")), limits.POLICY_HITS)
        )
        self.shapes[path] = shapes
        rules = {rule for _, rule in shapes}
        if len(shapes) < limits.POLICY_HITS and not rules & {MINIFIED, PACKED}:
            self.sources.append(Source.of(path, content))


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
        verdicts: dict[str, list[Hit]] = {}
        if not survey.sources:
            return all_hits(survey, verdicts)
        mark = f"${os.urandom(8).hex()}$"
        executable: Executable = await self._in_thread(self._executable)
        stopped = await converse(
            self._reactor,
            executable,
            scan_limits(),
            lambda bundler: read_sources(
                bundler, survey.sources, mark, self._modules, self._in_thread, verdicts
            ),
        )
        return all_hits(survey, verdicts, stopped)


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
    verdicts: dict[str, list[Hit]],
) -> list[Hit]:
    """
    Have sources read, and check what the bundler makes of them.

    They are checked when all have been read: meanwhile no time of the bundler's passes.

    :param mark: See ``reading``.
    :param modules: See ``Scanner``.
    :param verdicts: Receives what each breaks, by its path.
    :return: What to report in place of all that, when it reached a limit.
    """
    answers: dict[str, Answer] = {}

    async def ask(source: Source, is_mapped: bool) -> None:
        answer = await read(bundler, source, mark, in_thread, is_mapped=is_mapped)
        answers[source.name] = answer

    left = list(sources)
    for is_mapped in (False, True):
        answers.clear()
        try:
            await together(ask(source, is_mapped) for source in left)
        except LimitError:
            verdicts.clear()
            unread = next(one.name for one in left if one.name not in answers)
            return [Hit(printable(unread), 1, TOO_COMPLEX)]
        for source in left:
            asked = source, answers[source.name], modules, mark
            found = await in_thread(output_hits, *asked)
            # What broke a rule once is not acquitted by a second reading.
            if found or source.name not in verdicts:
                verdicts[source.name] = found
        left = [one for one in left if verdicts[one.name]]
    return []


def survey_tree(tree: Tree) -> Survey:
    """Look at the texts of a tree; takes a while."""
    # Depth first, by name.
    paths = sorted(tree.files, key=lambda path: path.split("/"))
    survey = Survey([hit for path in paths for hit in _document_hits(path, tree)])
    sources = [path for path in paths if is_scanned(path)]
    if len(sources) > limits.SOURCE_FILES:
        survey.after.append(Hit("", 0, f"more than {limits.SOURCE_FILES} source files"))
        return survey
    total = 0
    for path in sources:
        content = tree.files[path]
        total += len(content)
        if total > limits.SOURCE_BYTES:
            survey.after.append(
                Hit("", 0, f"more than {limits.SOURCE_BYTES} bytes of source")
            )
            break
        survey.add(path, content)
    return survey


def is_scanned(path: str) -> bool:
    """Whether a file is a source that the bundler would read for an import."""
    name = posixpath.basename(path)
    return is_source_name(name) and path not in EXEMPT and not is_test_name(name)


def all_hits(
    survey: Survey, verdicts: Mapping[str, list[Hit]], stopped: Iterable[Hit] = ()
) -> list[Hit]:
    """
    Put everything together that was found.

    :param verdicts: On the sources, by path.
    :param stopped: What to report in place of what the bundler did not answer.
    """
    hits = list(survey.before)
    for name, shapes in survey.shapes.items():
        found = verdicts.get(name, [])
        hits += (hit for hit in found if hit.rule == TOOLING)
        hits += (Hit(printable(name), line, rule) for line, rule in shapes)
        hits += (hit for hit in found if hit.rule != TOOLING)
    return [*hits, *stopped, *survey.after][: limits.POLICY_HITS]


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


def _document_hits(path: str, tree: Tree) -> Iterator[Hit]:
    """Check a JSON file, which is no source and yet names files to the bundler."""
    if path.lower().endswith(".json"):
        for line in document_lines(posixpath.basename(path), tree.files[path]):
            yield Hit(printable(path), line, TOOLING)
