"""Scans for tests: the real bundler's service, which stays up between them."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast
from unittest import mock

from attrs import define, field, frozen
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from bridge.concurrency.threads import InThread
from bridge.plugins.esbuild.conversation import Conversation, Limits
from bridge.plugins.esbuild.pins import VERSION
from bridge.plugins.policy.hits import Hit
from bridge.plugins.policy.reader.reading import read_sources
from bridge.plugins.policy.reader.transform import Answer, Question
from bridge.plugins.policy.rules.table import UNKNOWN
from bridge.plugins.policy.scan import (
    Reading,
    Survey,
    all_hits,
    survey_source,
    survey_tree,
)
from bridge.plugins.tree.tree import Tree, read_tree
from bridge.protocol.limits import POLICY_HITS

from ...npm import esbuild

_CHUNK = 64 * 1024
MARK = "$mark$"


@define(eq=False)
class _Service:
    """One process, which blocks while it is asked; see ``Conversation``."""

    pid: int | None = None
    process: subprocess.Popen[bytes] = field(init=False)
    conversation: Conversation = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.process = subprocess.Popen(
            [esbuild(), f"--service={VERSION}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Memory is cheaper here than the time to collect it.
            env={"GOGC": "800"},
            cwd="/",
        )
        limits = Limits(sys.maxsize, sys.maxsize, sys.maxsize, sys.maxsize)
        self.conversation = Conversation(limits, lambda asked: {})
        self.conversation.transport = self
        atexit.register(self.close)

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()

    def write(self, packet: bytes) -> None:
        """Send a request, as the conversation's transport."""
        assert self.process.stdin is not None
        self.process.stdin.write(packet)

    def read(self, questions: Sequence[Question]) -> list[Answer]:
        """Have sources read."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        work = read_sources(self.conversation, questions, MARK)
        reading = Deferred.fromCoroutine(work)
        outcome: list[Any] = []
        reading.addBoth(outcome.append)
        while not outcome:
            self.process.stdin.flush()
            data = os.read(self.process.stdout.fileno(), _CHUNK)
            assert data, "the bundler's service has ended"
            self.conversation.outReceived(data)
        if isinstance(outcome[0], Failure):
            outcome[0].raiseException()
        answers: list[Answer] = outcome[0]
        return answers


_services: list[_Service] = []


def scan_sources(
    files: Mapping[str, bytes], modules: Collection[str] = ()
) -> list[Hit]:
    """Scan sources that are in no directory."""
    survey = Survey([], [survey_source(*one) for one in files.items()])
    return _scanned(survey, modules)


def scan_tree(root: Path, modules: Collection[str] = ()) -> list[Hit]:
    """Scan a tree; blocks."""
    return _scanned(survey_tree(read_tree(root)), modules)


@frozen
class BlockingScanner:
    """
    Scans as ``Scanner`` does, without a reactor.

    :ivar in_thread: What the work of threads is called by.
    """

    in_thread: InThread

    async def scan(self, tree: Tree, modules: Collection[str] = ()) -> list[Hit]:
        """See ``Scanner.scan``."""
        survey = await self.in_thread(survey_tree, tree)
        return cast(list[Hit], await self.in_thread(_scanned, survey, modules))


def _service() -> _Service:
    if not _services or _services[0].process.poll() is not None:
        _services[:] = [_Service()]
    return _services[0]


def read_all(questions: Sequence[Question]) -> list[Answer]:
    """What the bundler makes of sources."""
    return _service().read(questions) if questions else []


def _scanned(survey: Survey, modules: Collection[str]) -> list[Hit]:
    reading = Reading(survey.questions(), modules, MARK)
    for asked in (reading.all, reading.broken):
        questions = asked()
        reading.check(questions, read_all(questions))
    return all_hits(survey, reading)


def read_source(name: str, content: bytes) -> Answer:
    """What the bundler makes of one source, with a source map."""
    return read_all([Question(name, content, is_mapped=True)])[0]


def scan_whole(name: str, content: bytes, modules: Collection[str] = ()) -> list[Hit]:
    """Scan one source as it is."""
    return scan_sources({name: content}, modules)


def scan_source(name: str, content: bytes, modules: Collection[str] = ()) -> list[Hit]:
    """Scan a part of a source; the names are left out that only the rest declares."""
    with mock.patch("bridge.plugins.policy.scan.POLICY_HITS", sys.maxsize):
        hits = scan_whole(name, content, modules)
    return loose_hits(hits)[:POLICY_HITS]


def loose_hits(hits: Iterable[Hit]) -> list[Hit]:
    """Leave names out that nothing declares, as snippets have them."""
    return [hit for hit in hits if hit.rule != UNKNOWN]
