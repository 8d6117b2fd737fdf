"""Scans for tests: the real bundler's service, which stays up between them."""

import atexit
import os
import subprocess
import sys
from collections.abc import Collection, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast
from unittest import mock

from attrs import define, field, frozen
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from bridge.concurrency.threads import InThread
from bridge.plugins.esbuild.conversation import Conversation, Limits
from bridge.plugins.esbuild.executable import VERSION
from bridge.plugins.policy import scan
from bridge.plugins.policy.reading import Answer, Source, read
from bridge.plugins.policy.rules import UNKNOWN, Hit
from bridge.plugins.tree.tree import Tree, read_tree
from bridge.protocol.limits import POLICY_HITS

from ...npm import esbuild

_CHUNK = 64 * 1024
MARK = "$mark$"

T = TypeVar("T")


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
        self.conversation = Conversation(limits, lambda asked: {}, Clock(), "")
        self.conversation.transport = self
        atexit.register(self.close)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()

    def write(self, packet: bytes) -> None:
        """Send a request, as the conversation's transport."""
        self.process.stdin.write(packet)

    def run(self, work: Coroutine[Deferred[Any], Any, T]) -> T:
        outcome: list[Any] = []
        Deferred.fromCoroutine(work).addBoth(outcome.append)
        while not outcome:
            self.process.stdin.flush()
            data = os.read(self.process.stdout.fileno(), _CHUNK)
            assert data, "the bundler's service has ended"
            self.conversation.outReceived(data)
        if isinstance(outcome[0], Failure):
            outcome[0].raiseException()
        return outcome[0]


_services: list[_Service] = []


def scan_sources(files: Mapping[str, bytes]) -> list[Hit]:
    """Scan sources that are in no directory."""
    survey = scan.Survey()
    for name, content in files.items():
        survey.add(name, content)
    return _scanned(survey)


def every_hit(files: Mapping[str, bytes]) -> dict[str, list[tuple[int, str]]]:
    """
    Scan sources, however many hits there are.

    :return: By name: the lines and rules of the hits, for files that have some.
    """
    found: dict[str, list[tuple[int, str]]] = {}
    with mock.patch("bridge.protocol.limits.POLICY_HITS", sys.maxsize):
        for hit in scan_sources(files):
            found.setdefault(hit.file, []).append((hit.line, hit.rule))
    return found


def scan_tree(root: Path) -> list[Hit]:
    """Scan a tree; blocks."""
    return _scanned(scan.survey_tree(read_tree(root)))


@frozen
class BlockingScanner:
    """Scans as ``Scanner`` does, without a reactor."""

    in_thread: InThread
    modules: Collection[str]

    async def scan(self, tree: Tree) -> list[Hit]:
        survey = await self.in_thread(scan.survey_tree, tree)
        return cast(list[Hit], await self.in_thread(_scanned, survey, self.modules))


def _service() -> _Service:
    if not _services or _services[0].process.poll() is not None:
        _services[:] = [_Service()]
    return _services[0]


def _scanned(survey: scan.Survey, modules: Collection[str] = ()) -> list[Hit]:
    service = _service()
    asked = (service.conversation, survey.sources, MARK, modules)
    verdicts = service.run(scan.read_sources(*asked, maybeDeferred))
    return scan.all_hits(survey, verdicts)


def read_source(name: str, content: bytes) -> Answer:
    """What the bundler makes of one source, with a source map."""
    service, source = _service(), Source(name, content)
    reading = read(service.conversation, source, MARK, maybeDeferred, is_mapped=True)
    return service.run(reading)


def scan_whole(name: str, content: bytes) -> list[Hit]:
    """Scan one source as it is."""
    return scan_sources({name: content})


def scan_source(name: str, content: bytes) -> list[Hit]:
    """Scan a part of a source; the names are left out that only the rest declares."""
    with mock.patch("bridge.protocol.limits.POLICY_HITS", sys.maxsize):
        hits = scan_whole(name, content)
    return loose_hits(hits)[:POLICY_HITS]


def loose_hits(hits: Iterable[Hit]) -> list[Hit]:
    """Leave names out that nothing declares, as snippets have them."""
    return [hit for hit in hits if hit.rule != UNKNOWN]
