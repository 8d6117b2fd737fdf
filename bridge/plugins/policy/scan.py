"""
Scan a plugin's tree against the source policy.

The pinned bundler reads the sources; what it makes of them is what would run, and that
is checked.  Files are read, and answers checked, in threads.  A source that breaks a
rule is read once more, with a source map, for the lines; no other needs one.
"""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from itertools import islice

from attrs import Factory, evolve

from ...classes import frozen
from ...concurrency.threads import InThread
from ...protocol.errors import Prefix, plugin_error
from ...protocol.limits import POLICY_HITS, SOURCE_BYTES, SOURCE_FILES
from ...protocol.text import printable
from ..esbuild.conversation import BundlerReactor, Conversation, converse
from ..esbuild.executable import Executable
from ..esbuild.language import is_source_name
from ..tree.exempt import EXEMPT, is_test_name
from ..tree.tree import Tree
from .hits import Hit
from .javascript.constructs import output_hits
from .reader.reading import TooComplexError, read_sources, scan_limits
from .reader.transform import Answer, Question, has_pragma
from .rules.imports import TOOLING, document_lines
from .rules.shape import MINIFIED, PACKED, shape_hits
from .rules.table import TOO_COMPLEX

_UNREAD = frozenset({MINIFIED, PACKED})


@frozen
class Source:
    """
    A source file, before the bundler has read it.

    :ivar name: Its path in the tree, with ``/``.
    :ivar shapes: What its text breaks by its shape alone.
    """

    name: str
    content: bytes
    shapes: list[tuple[int, str]]

    @property
    def is_readable(self) -> bool:
        """Whether it is worth reading; what nobody can read is refused as it is."""
        return len(self.shapes) < POLICY_HITS and not _UNREAD.intersection(
            rule for _, rule in self.shapes
        )


@frozen
class Survey:
    """
    What can be found in a tree without the bundler.

    :ivar before: Hits that are reported before those of the sources.
    :ivar after: Hits that are reported after them.
    """

    before: list[Hit] = Factory(list)
    sources: list[Source] = Factory(list)
    after: list[Hit] = Factory(list)

    def questions(self) -> list[Question]:
        """Return what the bundler has to read."""
        return [
            Question(one.name, one.content) for one in self.sources if one.is_readable
        ]


@frozen
class Reading:
    """
    What the bundler reads of a tree, and what is found in it.

    :ivar modules: Names of modules the host provides, which may be imported.
    :ivar mark: See ``transform``.
    """

    questions: list[Question]
    modules: Collection[str]
    mark: str
    _found: dict[str, list[tuple[int, str]]] = Factory(dict)

    def all(self) -> list[Question]:
        """Return what to read first: every source, without a map."""
        return self.questions

    def check(self, questions: Sequence[Question], answers: Sequence[Answer]) -> None:
        """
        Check what the bundler made of sources; blocks.

        :raise BundlerError: It is not what the pinned version makes.
        """
        for question, answer in zip(questions, answers, strict=True):
            pragma = has_pragma(question.name, question.content)
            hits = output_hits(question.name, answer, self.modules, self.mark, pragma)
            # What broke a rule once is not acquitted by a second reading.
            if hits or not question.is_mapped:
                self._found[question.name] = hits

    def broken(self) -> list[Question]:
        """Return what to read again: the sources that break a rule, for their lines."""
        broken = [one for one in self.questions if self._found[one.name]]
        return [evolve(one, is_mapped=True) for one in broken[:POLICY_HITS]]

    def hits(self, name: str) -> list[tuple[int, str]]:
        """Return what was found in a source; nothing in one that was not read."""
        return self._found.get(name, [])


@frozen(eq=False)
class Scanner:
    """
    Scans trees.

    :ivar in_thread: Calls a function in a thread.
    :ivar executable: Gives a verified copy of the bundler; blocks.  It raises
        ``BundlerError`` when there is none.
    :ivar random: Gives random bytes; see ``os.urandom``.
    """

    _reactor: BundlerReactor
    _in_thread: InThread
    _executable: Callable[[], Executable]
    _random: Callable[[int], bytes]

    async def scan(self, tree: Tree, modules: Collection[str] = ()) -> list[Hit]:
        """
        Scan every source file of a tree.

        When this is cancelled, nothing of it is left running.

        :param modules: Names of modules the host provides, which may be imported.
        :return: In order of report, at most ``POLICY_HITS``.
        :raise BundlerError: There is no bundler, or it is not the pinned one.
        """
        mark = f"${self._random(8).hex()}$"
        survey: Survey = await self._in_thread(survey_tree, tree)
        questions: list[Question] = await self._in_thread(survey.questions)
        reading = Reading(questions, modules, mark)
        stopped = None
        if questions:
            stopped = await self._read(reading)
        return all_hits(survey, reading, stopped)

    async def _read(self, reading: Reading) -> Hit | None:
        """
        Have everything read, and checked.

        :return: What to report in place of what the bundler did not answer.
        """
        executable: Executable = await self._in_thread(self._executable)
        try:
            for asked in (reading.all, reading.broken):
                questions: list[Question] = await self._in_thread(asked)
                if not questions:
                    break

                def work(bundler: Conversation) -> Awaitable[list[Answer]]:
                    return read_sources(bundler, questions, reading.mark)  # noqa: B023

                try:
                    answers = await converse(
                        self._reactor, executable, scan_limits(), work
                    )
                except TooComplexError as e:
                    return _too_complex(questions[e.index])
                await self._in_thread(reading.check, questions, answers)
        finally:
            executable.close()
        return None


def survey_tree(tree: Tree) -> Survey:
    """Look at the texts of a tree; takes a while."""
    # Depth first, by name.
    paths = sorted(tree.files, key=lambda path: path.split("/"))
    survey = Survey([hit for path in paths for hit in _document_hits(path, tree)])
    sources = [path for path in paths if is_scanned(path)]
    if len(sources) > SOURCE_FILES:
        survey.after.append(Hit("", 0, f"more than {SOURCE_FILES} source files"))
        return survey
    total = 0
    for path in sources:
        content = tree.files[path]
        total += len(content)
        if total > SOURCE_BYTES:
            survey.after.append(Hit("", 0, f"more than {SOURCE_BYTES} bytes of source"))
            break
        survey.sources.append(survey_source(path, content))
    return survey


def is_scanned(path: str) -> bool:
    """Whether a file is a source that the bundler would read for an import."""
    name = posixpath.basename(path)
    return is_source_name(name) and path not in EXEMPT and not is_test_name(name)


def survey_source(name: str, content: bytes) -> Source:
    """Look at the text of one source."""
    text = content.decode("utf-8", "replace").lstrip("\ufeff").replace("\r\n", "\n")
    return Source(name, content, list(islice(shape_hits(text), POLICY_HITS)))


def all_hits(survey: Survey, reading: Reading, stopped: Hit | None = None) -> list[Hit]:
    """
    Put everything together that was found.

    :param reading: At its end, unless ``stopped``.
    :param stopped: What to report in place of what the bundler did not answer.
    """
    return list(islice(_ordered(survey, reading, stopped), POLICY_HITS))


def refuse(hits: Sequence[Hit]) -> None:
    """
    Refuse the operation if there are hits.

    :raise BridgeError: Names the first one.
    """
    if hits:
        raise plugin_error(Prefix.POLICY, hits[0].report)


def _too_complex(question: Question) -> Hit:
    return Hit(printable(question.name), 1, TOO_COMPLEX)


def _ordered(survey: Survey, reading: Reading, stopped: Hit | None) -> Iterator[Hit]:
    yield from survey.before
    for source in survey.sources:
        constructs = reading.hits(source.name)
        yield from _source_hits(source, constructs)
    if stopped is not None:
        yield stopped
    yield from survey.after


def _source_hits(source: Source, constructs: list[tuple[int, str]]) -> Iterator[Hit]:
    where = printable(source.name)
    tooling = [hit for hit in constructs if hit[1] == TOOLING]
    others = [hit for hit in constructs if hit[1] != TOOLING]
    for line, rule in [*tooling, *source.shapes, *others]:
        yield Hit(where, line, rule)


def _document_hits(path: str, tree: Tree) -> Iterator[Hit]:
    """Check a JSON file, which is no source and yet names files to the bundler."""
    if path.lower().endswith(".json"):
        for line in document_lines(posixpath.basename(path), tree.files[path]):
            yield Hit(printable(path), line, TOOLING)
