"""The bundler as a reader: one process, within limits."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from twisted.internet import reactor
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from bridge.plugins.esbuild.executable import Executable
from bridge.plugins.esbuild.pins import VERSION
from bridge.plugins.esbuild.process import limit_memory
from bridge.plugins.policy.reader import queries as queries_module
from bridge.plugins.policy.reader import service
from bridge.plugins.policy.reader.encoding import PacketError
from bridge.plugins.policy.reader.queries import SourceQueries
from bridge.plugins.policy.reader.service import TooComplexError, converse
from bridge.plugins.policy.reader.transform import Question
from bridge.protocol.limits import MIB

from ....directories import fresh_directory
from ....npm import esbuild
from ..scanning import MARK

GOOD = [("a.ts", b"x = fetch(u)"), ("b.tsx", b"/* @jsx h */ x = <b />")]
NESTED = b"x = " + (b"(" * 90 + b"\n") * 12_000


class Spy:
    """The real reactor, and the processes that it starts."""

    def __init__(self) -> None:
        self.pids: list[int] = []

    def spawnProcess(self, *arguments: Any) -> Any:
        """Start one."""
        process = reactor.spawnProcess(*arguments)
        self.pids.append(process.pid)
        return process

    def __getattr__(self, name: str) -> Any:
        return getattr(reactor, name)


class ServiceCase(TestCase):
    """A process, which must be gone in the end."""

    timeout = 60

    def setUp(self) -> None:
        """No process runs yet."""
        self.spy: Any = Spy()

    def tearDown(self) -> None:
        """No process is left, and no call of the deadline's."""
        for pid in self.spy.pids:
            self.assertRaises(ProcessLookupError, os.kill, pid, 0)

    def converse(
        self, sources: list[tuple[str, bytes]], path: Path | None = None
    ) -> tuple[SourceQueries, Deferred[None]]:
        """Begin queries with the bundler, or with another program."""
        queries = SourceQueries([Question(*one) for one in sources], MARK)
        executable = Executable(str(path or esbuild()))
        work = converse(self.spy, executable, queries)
        return queries, Deferred.fromCoroutine(work)

    def script(self, text: str) -> Path:
        """A program in place of the bundler."""
        path = fresh_directory(self) / "esbuild"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o700)
        return path

    async def stopped_at(
        self, sources: list[tuple[str, bytes]], path: Path | None = None
    ) -> int:
        """Expect that it does not get to the end; return where it stopped."""
        queries, work = self.converse(sources, path)
        with self.assertRaises(TooComplexError) as caught:
            await work
        self.assertFalse(queries.is_over)
        return int(caught.exception.index)


class ServiceTests(ServiceCase):
    """What the bundler does, or another program in its place."""

    async def test_answers(self) -> None:
        """Every source is answered, and the process ends."""
        queries, work = self.converse(GOOD * 10)
        await work
        codes = [answer.code for answer in queries.answers()]
        self.assertEqual(codes[0], f"{MARK}x = {MARK}fetch({MARK}u);\n")
        self.assertIn(f'{MARK}h("b", null)', codes[19])
        self.assertEqual(len(self.spy.pids), 1)

    async def test_large_answers(self) -> None:
        """Answers that come in pieces are put together."""
        content = b"x = '" + b"a" * 200 + b"'\n"
        queries, work = self.converse([("a.ts", content * 3_000)] * 3)
        await work
        for answer in queries.answers():
            self.assertEqual(answer.code.count("a" * 200), 3_000)

    async def test_cancelled(self) -> None:
        """Once cancelled, it ends when the process is dead."""
        _, work = self.converse(GOOD, self.script("exec sleep 600"))
        await deferLater(reactor, 0.05)
        work.cancel()
        with self.assertRaises(CancelledError):
            await work

    async def test_attack_without_end(self) -> None:
        """A process that takes its time is killed at the deadline."""
        with mock.patch.object(service, "SCAN_SECONDS", 0.2):
            index = await self.stopped_at(GOOD, self.script("exec sleep 600"))
        self.assertEqual(index, 0)

    async def test_attack_slow_source(self) -> None:
        """So is the bundler, when a source keeps it busy."""
        slow = b"a/b/c;" * 30_000
        with mock.patch.object(service, "SCAN_SECONDS", 0.3):
            self.assertEqual(await self.stopped_at([*GOOD, ("c.ts", slow)]), 2)

    async def test_attack_nesting(self) -> None:
        """Nesting that the bundler dies of is the source's fault."""
        self.assertEqual(await self.stopped_at([*GOOD, ("c.ts", NESTED)]), 2)

    async def test_attack_memory(self) -> None:
        """The bundler dies when it takes more memory than it may."""

        def limit(pid: int) -> None:
            limit_memory(pid, 24 * MIB)

        content = b"x = { a: [1, 2, 3, b, c] }\n" * 70_000
        with mock.patch.object(service, "limit_memory", limit):
            self.assertEqual(await self.stopped_at([("a.ts", content)]), 0)

    async def test_attack_output(self) -> None:
        """A source whose output is too large is too complex, and no wrong bundler."""
        with mock.patch.object(queries_module, "SCAN_OUTPUT_BYTES", 20_000):
            sources = [*GOOD, ("c.ts", b"x = 'abcdef'\n" * 3_000)]
            self.assertEqual(await self.stopped_at(sources), 2)

    async def test_attack_death(self) -> None:
        """A process that dies at once has answered nothing."""
        self.assertEqual(await self.stopped_at(GOOD, self.script("exit 1")), 0)

    async def test_attack_other_programs(self) -> None:
        """Another program is found out by its first packet."""
        for text in (
            r"printf '\003\000\000\000x.y'; exec sleep 600",
            r"printf '\000\000\000\000'; exec sleep 600",
        ):
            _, work = self.converse(GOOD, self.script(text))
            with self.assertRaises(PacketError):
                await work

    async def test_attack_no_packets(self) -> None:
        """After its greeting, too, only packets are accepted."""
        greeting = rf"\00{len(VERSION):o}\000\000\000{VERSION}"
        text = rf"printf '{greeting}\005\000\000\000\377\377\377\377\000'"
        _, work = self.converse(GOOD, self.script(f"{text}; exec sleep 600"))
        with self.assertRaises(PacketError):
            await work

    async def test_attack_flood(self) -> None:
        """A flood of messages is read and dropped."""
        flood = "head -c 3000000 /dev/zero >&2"
        path = self.script(f"{flood}\nexec '{esbuild()}' \"$@\"")
        queries, work = self.converse(GOOD, path)
        await work
        self.assertTrue(queries.is_over)

    async def test_arguments(self) -> None:
        """It is started for this alone: no environment, and no place of its own."""
        place = fresh_directory(self) / "found"
        path = self.script(f"echo \"$@\" $(pwd) $HOME >'{place}'")
        await self.stopped_at(GOOD, path)
        self.assertEqual(place.read_text().split(), [f"--service={VERSION}", "/"])

    async def test_no_program(self) -> None:
        """What cannot be started answers nothing."""
        path = fresh_directory(self) / "none"
        self.assertEqual(await self.stopped_at(GOOD, path), 0)


class EndTests(ServiceCase):
    """What comes after the end."""

    async def test_deadline_is_cancelled(self) -> None:
        """Nothing waits for the deadline once there is an answer."""
        _, work = self.converse(GOOD)
        await work
        waiting: Callable[[], Any] = reactor.getDelayedCalls
        times = [call.getTime() - reactor.seconds() for call in waiting()]
        limit = service.SCAN_SECONDS
        self.assertFalse([left for left in times if limit - 5 < left <= limit])
