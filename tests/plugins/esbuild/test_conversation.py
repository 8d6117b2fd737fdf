"""One process that is asked over pipes, its packets, and its end."""

import os
import signal
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.concurrency.threads import NO_THREAD
from bridge.plugins.esbuild.conversation import (
    LimitError,
    Limits,
    PacketError,
    SignalledError,
    converse,
    packet,
    read_packet,
    together,
)
from bridge.plugins.esbuild.executable import VERSION, BundlerError, Executable
from bridge.protocol.limits import MIB

from ...directories import fresh_directory
from ...npm import esbuild
from ...reactors import reactor

LIMITS = Limits(50, 30, 10 * MIB, 512 * MIB)
OTHER = f"bin/esbuild is not the pinned esbuild {VERSION}"
GREETING = rf"\00{len(VERSION):o}\000\000\000{VERSION}"


def is_running(pid: int) -> bool:
    """Whether a process computes; a dead one may not have been waited for."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def transform(text: bytes) -> dict[str, Any]:
    """A request for a text."""
    flags: list[str] = ["--log-level=silent"]
    return {"command": "transform", "flags": flags, "inputFS": False, "input": text}


class ConversationTests(TestCase):
    """What the bundler does, or another program in its place."""

    timeout = 60

    def setUp(self) -> None:
        self.pids: list[int] = []
        spawn = reactor.spawnProcess

        def spawn_process(*arguments: Any) -> Any:
            process = spawn(*arguments)
            # One that dies at once may have been waited for already.
            if process.pid is not None:
                self.pids.append(process.pid)
            return process

        self.patch(reactor, "spawnProcess", spawn_process)

    def tearDown(self) -> None:
        """No process is left, and no call of the deadline's."""
        for pid in self.pids:
            self.assertRaises(ProcessLookupError, os.kill, pid, 0)

    def converse(self, work, path=None, **limits):
        """Do what asks a program, the bundler if there is no other one."""
        executable = Executable(str(path or esbuild()), "mend it")
        asking = converse(reactor, executable, evolve(LIMITS, **limits), work)
        return Deferred.fromCoroutine(asking)

    def ask(self, *texts, path=None, **limits):

        async def work(bundler: Any) -> list[Any]:
            answers: dict[bytes, Any] = {}

            async def ask(text: bytes) -> None:
                answers[text] = await bundler.ask(transform(text))

            await together(map(ask, texts))
            return [answers[text] for text in texts]

        return self.converse(work, path, **limits)

    def script(self, text: str) -> Path:
        path = fresh_directory(self) / "esbuild"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o700)
        return path

    async def why(self, asking: Deferred[Any], kind: type = BundlerError) -> str:
        """Expect an end of a kind; return why."""
        error = await self.assertFailure(asking, kind)
        self.assertIs(type(error), kind, error)
        return str(error)

    async def test_answers(self) -> None:
        """Every request has its answer, and the process ends."""
        answers = await self.ask(b"let a = 1", b"let b =", b"x = '" + b"a" * MIB + b"'")
        self.assertEqual(answers[0]["code"], "let a = 1;\n")
        self.assertEqual(answers[1]["errors"][0]["location"]["line"], 1)
        self.assertGreater(len(answers[2]["code"]), MIB)
        self.assertEqual(len(self.pids), 1)
        # Nor does anything wait for the deadline.
        times = [call.getTime() for call in reactor.getDelayedCalls()]
        left = [one - reactor.seconds() for one in times]
        self.assertFalse([one for one in left if 40 < one <= LIMITS.seconds])

    async def test_attack_many_problems(self) -> None:
        """Only the first are read: the reactor has no time for all."""
        errors, warnings = await self.ask(
            b"let a\n" * 1002, b"a={" + b"b:0,\n" * 1002 + b"}"
        )
        self.assertEqual((errors["code"], len(errors["errors"])), ("", 1000))
        self.assertEqual(warnings["errors"], [])
        self.assertEqual(warnings["code"].count("b: 0"), 1002)
        self.assertEqual(len(warnings["warnings"]), 1000)

    async def test_refused_request(self) -> None:
        """What the bundler can't do at all is no fault of a source."""
        asking = self.converse(lambda bundler: bundler.ask({"command": "ping"}))
        why = await self.why(asking)
        self.assertEqual(why, "esbuild crashed: Invalid command: ping")

    async def test_time_of_what_is_done_with_answers(self) -> None:
        """It is not the bundler's: others may keep the threads busy it is done in."""

        async def work(bundler: Any) -> None:
            await bundler.ask(transform(b"a"))
            await deferLater(reactor, 1.2)
            await bundler.ask(transform(b"b"))

        await self.converse(work, seconds=1)

    async def test_signals_of_a_terminal(self) -> None:
        """Ctrl-C is sent to the bundler, too; the work is done again, once."""

        async def work(bundler: Any) -> Any:
            await bundler.ask(transform(b"a"))
            if len(self.pids) <= times:
                os.kill(self.pids[-1], number)
            return await bundler.ask(transform(b"b"))

        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            for times in (1, 2):
                self.pids.clear()
                if times == 1:
                    self.assertEqual((await self.converse(work))["code"], "b;\n")
                else:
                    why = await self.why(self.converse(work), SignalledError)
                    self.assertEqual(why, f"esbuild crashed: signal {number:d}")
                self.assertEqual(len(self.pids), 2)

    async def test_cancelled(self) -> None:
        """Once cancelled, it ends when the process is dead."""
        asking = self.ask(b"a", path=self.script("exec sleep 600"))
        await deferLater(reactor, 0.05)
        asking.cancel()
        with self.assertRaises(CancelledError):
            await asking

    async def test_attack_child_that_holds_the_pipes(self) -> None:
        """What a dead process has started can't make anybody wait for it."""
        noted = fresh_directory(self) / "child"
        path = self.script(f"sleep 600 &\necho $! >'{noted}'")
        why = await self.why(self.ask(b"a", path=path, seconds=0.5), LimitError)
        self.assertEqual(why, "esbuild did not finish within 0.5s")
        os.kill(int(noted.read_text()), signal.SIGKILL)

    async def test_attack_limits(self) -> None:
        """One that takes too much memory or time, or writes too much, is killed."""
        many = b"x = { a: [1, 2, 3, b, c] }\n" * 70_000
        cases: tuple[tuple[bytes, dict[str, Any], str], ...] = (
            (b"(" * 1_000_000, {}, "more than 512 MiB of memory"),
            (many, {"memory_bytes": 48 * MIB}, "more than 48 MiB of memory"),
            (b"var a=1;" * 100_000, {"cpu_seconds": 1}, "too much processor time"),
            (many, {"output_bytes": 20_000}, "esbuild wrote more than it may"),
        )
        for text, limits, error in cases:
            asking = self.ask(text, **limits)
            self.assertIn(error, await self.why(asking, LimitError))

    async def test_attack_death(self) -> None:
        """A process that dies has crashed; that is no limit of its."""
        asking = self.ask(b"a", path=self.script("kill -ABRT $$"))
        self.assertEqual(await self.why(asking), "esbuild crashed: signal 6")

    async def test_attack_traces(self) -> None:
        """Of a trace of thousands of lines, the reason is shown; some are limits."""
        memory = "esbuild needed more than 512 MiB of memory"
        for text, kind, error in (
            ("panic: x", BundlerError, "esbuild crashed: x"),
            (
                "panic: runtime error: \x1b[1mx",
                BundlerError,
                "esbuild crashed: runtime error: [1mx",
            ),
            ("panic: é" + "x" * 500, BundlerError, "esbuild crashed: " + "x" * 100),
            (
                "runtime: 1 kB\nfatal error: stack overflow",
                LimitError,
                "esbuild crashed: stack overflow",
            ),
            (
                "warned\nfatal error: runtime: cannot allocate memory",
                LimitError,
                memory,
            ),
            ("fatal error: out of memory allocating heap", LimitError, memory),
            ("fatal error: newosproc", LimitError, memory),
            (
                "runtime: failed to create new OS thread (have 5 already; errno=11)\n"
                "fatal error: newosproc",
                BundlerError,
                f"esbuild crashed: {NO_THREAD}",
            ),
            ("SIGSEGV: segmentation violation", LimitError, memory),
            (
                'Cannot start service: Host version "1" does not match',
                BundlerError,
                f"{OTHER}; mend it",
            ),
        ):
            trace = f"echo '{text}' >&2\nyes 'goroutine 1' | head -n 9000 >&2\nexit 2"
            asking = self.ask(b"a", path=self.script(trace))
            self.assertEqual(await self.why(asking, kind), error, text)

    async def test_asked_after_its_end(self) -> None:
        """What is asked of a dead process fails as what was asked before would."""

        async def work(bundler: Any) -> None:
            await bundler.ended
            await bundler.ask(transform(b""))

        why = await self.why(self.converse(work, self.script("exit 1")))
        self.assertEqual(why, "esbuild crashed: exit status 1")

    async def test_attack_other_programs(self) -> None:
        """Another program, or another version, is found out by what it writes."""
        for text, error in (
            (r"\003\000\000\000x.y", "the service is of another version"),
            (r"\000\000\000\000", "the service is of another version"),
            (GREETING + r"\005\000\000\000\377\377\377\377\000", "what was not asked"),
            (GREETING + r"\005\000\000\000\001\000\000\000\007", "cannot be read"),
        ):
            path = self.script(f"printf '{text}'; exec sleep 600")
            why = await self.why(self.ask(b"a", path=path))
            self.assertEqual(why[: len(OTHER) + 2], f"{OTHER}: ")
            self.assertIn(f"{error}; mend it", why)

    async def test_attack_flood(self) -> None:
        """A flood of messages is read and dropped."""
        flood = "head -c 3000000 /dev/zero >&2"
        path = self.script(f"{flood}\nexec '{esbuild()}' \"$@\"")
        self.assertEqual(len(await self.ask(b"a", path=path)), 1)

    async def test_arguments(self) -> None:
        """It is started with this alone, and has no environment."""
        place = fresh_directory(self) / "found"
        path = self.script(f"echo \"$@\" $HOME >'{place}'")
        await self.why(self.ask(b"a", path=path))
        self.assertEqual(place.read_text().split(), [f"--service={VERSION}", "--ping"])

    async def test_daemon_is_killed(self) -> None:
        """A bundler that computes ends soon after the daemon."""
        command = [sys.executable, "-m", "tests.plugins.esbuild.orphan"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as daemon:
            pid = int(daemon.stdout.readline())
            await deferLater(reactor, 2.5)
            daemon.kill()
        for _ in range(100):
            if not is_running(pid):
                return
            await deferLater(reactor, 0.05)
        os.kill(pid, signal.SIGKILL)
        self.fail("it goes on")

    async def test_no_program(self) -> None:
        """What cannot be started is an error that says so."""
        asking = self.ask(b"a", path=fresh_directory(self) / "none")
        why = "esbuild could not be started: No such file or directory"
        self.assertEqual(await self.why(asking), why)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(0, 2**32 - 1)
    | st.text(st.characters(codec="utf-8"))
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=20,
)
NUMBERS = st.integers(0, 2**31 - 1)


def response(number: int, value: object) -> bytes:
    """The packet of a response."""
    return packet(number, value, is_response=True)


class PacketTests(SynchronousTestCase):
    @given(NUMBERS, st.booleans(), VALUES)
    def test_round_trip(self, number: int, is_response: bool, value: object) -> None:
        """What is written is read."""
        body = packet(number, value, is_response=is_response)[4:]
        self.assertEqual(read_packet(body), (number, is_response, value))

    def test_long_lists(self) -> None:
        """Only of problems is there a most: outputs and notes are read whole."""
        made = {
            "errors": [{"notes": [0] * 1500, "text": ""}],
            "outputFiles": [0] * 1500,
        }
        self.assertEqual(read_packet(response(1, made)[4:]), (1, True, made))

    def test_without_copies(self) -> None:
        """Bytes are views of what was received: copies of megabytes take long."""
        received = response(1, [b"abc"])
        body = memoryview(received)[4:]
        self.assertIs(read_packet(body)[2][0].obj, received)

    @given(NUMBERS, VALUES, st.data())
    def test_attack_truncated(self, number, value, data):
        """A packet that is cut, or goes on, is refused."""
        body = response(number, value)[4:]
        end = data.draw(st.integers(0, len(body) - 1))
        self.assertRaises(PacketError, read_packet, body[:end])
        self.assertRaises(PacketError, read_packet, body + b"\0")

    @given(st.binary(max_size=60))
    def test_attack_garbage(self, body: bytes) -> None:
        """Any bytes are a packet or are refused."""
        try:
            number, is_response, value = read = read_packet(body)
        except PacketError:
            return
        again = packet(number, value, is_response=is_response)
        self.assertEqual(read_packet(again[4:]), read)

    def test_attack_counts(self) -> None:
        """A count of more than there is makes nothing, and an unknown kind neither."""
        head = struct.pack("<I", 1)
        for kind in (3, 4, 5, 6):
            body = head + bytes([kind]) + b"\xff\xff\xff\xff"
            self.assertRaises(PacketError, read_packet, body)
        self.assertRaises(PacketError, read_packet, head + b"\x07" + b"\0" * 8)

    def test_attack_nesting(self) -> None:
        """Lists in lists without end are refused."""
        body = struct.pack("<I", 1) + (b"\x05" + struct.pack("<I", 1)) * 5_000 + b"\0"
        self.assertRaises(PacketError, read_packet, body)

    def test_any_text(self) -> None:
        """A message may quote a source that is no UTF-8."""
        body = struct.pack("<I", 1) + b"\x03" + struct.pack("<I", 1) + b"\xff"
        self.assertEqual(read_packet(body), (0, True, "\ufffd"))
