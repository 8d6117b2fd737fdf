"""Scans for tests: the real bundler's service, which stays up between them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import cast
from unittest import mock

from attrs import define, field, frozen

from bridge.concurrency.threads import InThread
from bridge.plugins.esbuild.pins import VERSION
from bridge.plugins.policy.hits import Hit
from bridge.plugins.policy.reader.queries import SourceQueries
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


@define
class _Service:
    """One process, asked by one queries after the other."""

    process: subprocess.Popen[bytes] = field(init=False)

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
        length = int.from_bytes(os.read(self._out(), 4), "little")
        self.greeting = length.to_bytes(4, "little") + os.read(self._out(), length)

    greeting: bytes = field(init=False)

    def _out(self) -> int:
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def converse(self, queries: SourceQueries) -> None:
        """Carry a queries on to its end."""
        assert self.process.stdin is not None
        sent = [*queries.begin(), *queries.receive(self.greeting)]
        while True:
            for packet in sent:
                self.process.stdin.write(packet)
            self.process.stdin.flush()
            if queries.is_over:
                return
            data = os.read(self._out(), _CHUNK)
            assert data, "the bundler's service has ended"
            sent = queries.receive(data)


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


def converse(queries: SourceQueries) -> None:
    """Ask the service everything."""
    if queries.sources:
        _service().converse(queries)


def _scanned(survey: Survey, modules: Collection[str]) -> list[Hit]:
    reading = Reading(survey.questions(), modules, MARK)
    for asked in (reading.queries, reading.broken):
        queries = asked()
        converse(queries)
        reading.check(queries)
    return all_hits(survey, reading)


def read_source(name: str, content: bytes) -> Answer:
    """What the bundler makes of one source, with a source map."""
    queries = SourceQueries([Question(name, content, is_mapped=True)], MARK)
    converse(queries)
    return queries.answers()[0]


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
