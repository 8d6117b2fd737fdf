"""The whole, in one process."""

import contextlib
import gc
import io
import os
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time
from functools import partial
from typing import Any
from unittest import mock

import treq
from twisted.application.service import Application
from twisted.internet import reactor
from twisted.internet.defer import Deferred, ensureDeferred, execute, maybeDeferred
from twisted.internet.task import deferLater
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import ILogObserver, Logger, LogPublisher, capturedLogs
from twisted.python import usage
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge import daemonlog, tap
from bridge.freedesktop.bus import RUNTIME, VARIABLE
from bridge.freedesktop.notifications import SERVICE
from bridge.plugins.bundle.build import Builder
from bridge.plugins.installed.exchange import Exchange, Journal
from bridge.provision.hostsources import install_sources
from bridge.provision.setup import Setup
from bridge.system.files import write_all
from bridge.system.locks import acquire
from bridge.system.reactor import run_once
from bridge.wiring import assembly, oneshot

from .directories import fresh_directory
from .freedesktop.buses import SessionBus
from .npm import esbuild, library
from .programs import python
from .reactors import brief_reactor
from .waiting import until

_REACTOR: Any = reactor
_HANGING = """
import os, signal
from twisted.internet.defer import Deferred
from bridge.system.reactor import run_once, steady_reactor
reactor = steady_reactor()
reactor.addSystemEventTrigger("before", "shutdown", Deferred)
signal.alarm(20)
for seconds in (0, 0.1, 1.5):
    reactor.callLater(seconds, os.kill, os.getpid(), signal.SIGINT)
try:
    run_once(reactor, Deferred)
finally:
    print("ended")
"""
_SET_BACK = """
import os, sys, threading, time
shift, now = 0, time.time
time.time = lambda: now() + shift
from twisted.internet import reactor
from bridge import tap
options = tap.Options()
options.parseOptions(sys.argv[1:])
tap.makeService(options)
reactor.callLater(0.1, reactor.stop)
shift = -3600
late = threading.Timer(10, os._exit, [3])
late.start()
reactor.run()
late.cancel()
"""


class DaemonTests(TestCase):
    def setUp(self):
        self.data = fresh_directory(self) / "data"
        for name in list(os.environ):
            if name.startswith("BRIDGE_"):
                self.patch(os, "environ", {**os.environ, name: ""})

    def options(self, *arguments):
        options = tap.Options()
        where = "--listen=127.0.0.1:0", f"--data-dir={self.data}"
        options.parseOptions(["--host=reference", *where, *arguments])
        return options

    def start(self, *arguments):
        """Start a daemon that is stopped after the test; what it logs is kept."""
        self.events = self.enterContext(capturedLogs())
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        daemon = tap.assemble(reactor, self.options(*arguments))
        daemon.startService()
        self.addCleanup(lambda: daemon.running and maybeDeferred(daemon.stopService))
        return daemon

    async def begun(self, *arguments):
        """Start a daemon, in a reactor that runs: else it waits for that."""
        daemon = self.start(*arguments)
        await deferLater(reactor, 0)
        return daemon

    def printed(self):
        return "\n".join(event.get("line", "") for event in self.events)

    async def get(self, daemon, path, headers=None):
        """Make a request without a connection that outlives it."""
        port = daemon._port.getHost().port
        answer = await treq.get(
            f"http://127.0.0.1:{port}{path}", headers=headers, persistent=False
        )
        return answer.code, await answer.json()

    async def test_runs(self):
        """It listens, prints its banner, answers, and stops."""
        self.addCleanup(gc.unfreeze)
        gc.unfreeze()
        daemon = await self.begun("--dev", "--no-log-capture")
        self.assertLess(sys.getswitchinterval(), 0.005)
        # A full collection looks only at what was made since the start.
        self.assertGreater(gc.get_freeze_count(), 10_000)
        for number in signal.valid_signals():
            # Twisted makes it in each child that it forks.
            self.assertLess(len(repr(signal.getsignal(number))), 200)
        self.assertIn("developer mode  ON", self.printed())
        self.assertIn("page's log      disabled", self.printed())
        status, health = await self.get(daemon, "/v1/health")
        self.assertEqual((status, health["ok"]), (200, True))
        token = (self.data / "token").read_text("ascii").strip()
        bearer = {"Authorization": f"Bearer {token}"}
        status, described = await self.get(daemon, "/v1/describe", bearer)
        self.assertEqual(status, 200)
        self.assertEqual(list(described["services"]), health["services"])
        port = daemon._port.getHost().port
        found = (self.data / "address").read_text("ascii")
        self.assertEqual(found, f"127.0.0.1:{port}\n")
        await daemon.stopService()
        self.assertFalse((self.data / "address").exists())
        acquire(self.data / "lock").release()

    async def timers(self, environ):
        """Name the timers that the idle daemon has set, with these variables."""
        self.patch(os, "environ", {**os.environ, VARIABLE: "", RUNTIME: "", **environ})
        before = set(reactor.getDelayedCalls())
        daemon = await self.begun("--sink=freedesktop")
        await daemon._settling
        await self.get(daemon, "/v1/health")

        def set_since() -> list[str]:
            return [
                call.func.__qualname__
                for call in set(reactor.getDelayedCalls()) - before
                if call.func.__module__.startswith("bridge.")
            ]

        # The end of the connection may come later than the answer.
        await until(lambda: "GuardedChannel._expired" not in set_since())
        return set_since()

    async def test_idle_daemon_has_no_timers(self):
        self.assertEqual(await self.timers({}), [])

    async def test_idle_daemon_that_looks_for_a_session_bus(self):
        """One that the environment leads to is looked for, and nothing else is done."""
        self.data.mkdir(mode=0o700)
        found = await self.timers({RUNTIME: str(self.data)})
        self.assertEqual(found, ["Bus.start"])

    async def test_start_starts_no_notification_server(self):
        """Its display may be missing yet; the sink is a target all the same."""
        bus = SessionBus()
        self.addCleanup(bus.remove)
        bus.kill()
        bus.activatable(SERVICE, f"/usr/bin/touch {bus.directory}/started")
        bus.start()
        self.assertEqual(await self.timers(bus.environment), [])
        self.assertIn("freedesktop [down]", self.printed())
        self.assertIn("server is looked for at each prompt", self.printed())
        self.assertFalse((bus.directory / "started").exists())

    async def test_what_keeps_no_daemon_from_running(self):
        """An address that can't be published; a log that others could write to."""
        self.data.mkdir()
        (self.data / "address").mkdir()
        unsafe = self.data.with_name("unsafe")
        unsafe.mkdir()
        unsafe.chmod(0o777)
        await self.begun(f"--log-file={unsafe}/page.log")
        found = [e for e in self.events if "commands cannot find" in str(e)]
        self.assertEqual(len(found), 1)
        self.assertIn("log lines are discarded", self.printed())

    async def test_a_part_that_fails_to_end_stops_nothing(self):
        """What a part raises at the end is logged, and the rest is ended."""
        daemon = self.start()

        daemon._finish = [lambda: 1 / 0, *daemon._finish]
        await daemon.stopService()
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        acquire(self.data / "lock").release()

    def test_prints_its_log_unless_twistd_does(self):
        """The daemon is the application's log observer, unless twistd was given one."""
        for parent, ours in (
            (None, True),
            ({"nodaemon": True}, True),
            ({"nodaemon": True, "logfile": "x"}, False),
            ({"nodaemon": False}, False),
        ):
            options = self.options()
            options.parent = parent
            daemon = tap.assemble(reactor, options)
            self.assertEqual(daemon._output is not None, ours, parent)
            daemon._listening.close()
            daemon._release()

    def test_joins_an_application(self):
        """Joining an application makes its lines the log's."""
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        daemon = tap.assemble(reactor, self.options())
        self.addCleanup(daemon._release)
        self.addCleanup(daemon._listening.close)
        application = Application("bridge")
        daemon.setServiceParent(application)
        self.assertIs(application.getComponent(ILogObserver), daemon._output)

    def refused(self, make):
        """Run what ends the process: its status, and the line it prints."""
        printed = io.StringIO()
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
            ended = self.assertRaises(SystemExit, make)
        return ended.code, printed.getvalue()

    def test_time_of_day_that_is_set_back(self):
        """What was delayed then happens in time all the same."""
        where = "--listen=127.0.0.1:0", f"--data-dir={self.data}"
        done = python("-c", _SET_BACK, "--host=reference", *where)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_last_lines(self):
        """The ends of the reactor and of the process wait for log lines; then each."""
        stream = self.enterContext(tempfile.TemporaryFile("w+"))
        self.patch(sys, "stderr", stream)

        def write_slowly(fd, content):
            time.sleep(0.05)
            write_all(fd, content)

        self.patch(daemonlog, "write_all", write_slowly)
        ending, config = MemoryReactorClock(), self.options().config
        with mock.patch("atexit.register") as register:
            output = assembly.make_log_output(ending, config, None, tuple)
            log = Logger("x", observer=LogPublisher(output))
            log.info("1")
        ((end, *_),) = ending.triggers["after"]["shutdown"]
        register.assert_called_once_with(end)
        for count, log_or_end in (1, end), (2, partial(log.info, "2")):
            log_or_end()
            stream.seek(0)
            self.assertEqual(len(stream.readlines()), count)

    def test_taken_port(self):
        """The reason is one line; the exit status is 1."""
        taken = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for is_unit, who in (
            (False, "another program does; end it, or set BRIDGE_LISTEN"),
            (True, "plugin-bridge.socket does; run: systemctl --user stop plugin-bri"),
        ):
            self.patch(assembly, "is_socket_on", lambda _: is_unit)  # noqa: B023
            self.data = fresh_directory(self)
            left = self.data / "address"
            left.write_text("127.0.0.1:5555\n")
            options = self.options(f"--listen={address}")
            status, line = self.refused(partial(tap.makeService, options))
            self.assertEqual(status, 1)
            start = f"plugin-bridge: cannot listen on {address}: {who}"
            self.assertEqual(line[: len(start)], start)
            # No command believes an address of a daemon that was killed.
            self.assertFalse(left.exists())

    def test_locked_directory(self):
        """A directory in use, and one that can't be made, are reported in one line."""
        options = self.options()
        options.paths.data.create()
        lock = acquire(self.data / "lock")
        status, line = self.refused(lambda: tap.makeService(options))
        self.assertEqual(status, 1)
        self.assertIn(f"another daemon (process {os.getpid()})", line)
        self.assertIn(f"--data-dir, or stop it: kill {os.getpid()}\n", f"{line}\n")
        lock.release()
        (self.data / "lock").unlink()
        (self.data / "lock").symlink_to("elsewhere")
        status, line = self.refused(lambda: tap.makeService(options))
        self.assertIn("cannot lock", line)
        self.data = self.data.with_name("file") / "data"
        self.data.parent.write_text("in the way")
        status, line = self.refused(lambda: tap.makeService(self.options()))
        self.assertEqual(status, 1)
        self.assertIn(f"{self.data.parent} is not a directory", line)

    def test_user_of_twistd(self):
        """A daemon that could save nothing as another user does not start."""
        options = tap.Options()
        options.parent = parent = usage.Options()
        parent["uid"] = os.getuid() + 1
        words = ["--host=reference", f"--data-dir={self.data}"]
        status, line = self.refused(lambda: options.parseOptions(words))
        self.assertEqual((status, self.data.exists()), (2, False))
        self.assertIn("--uid: must be yours", line)
        parent["uid"] = os.getuid()
        options.parseOptions(words)

    def test_one_shot_modes(self):
        """``--print-token`` and ``--rotate-token`` print a token and end with 0."""
        _, first = self.refused(lambda: self.options("--print-token"))
        status, again = self.refused(lambda: self.options("--print-token"))
        self.assertEqual((status, again), (0, first))
        token = self.data / "token"
        self.assertEqual(first, token.read_text("ascii"))
        status, other = self.refused(lambda: self.options("--rotate-token"))
        self.assertEqual((status, other), (0, token.read_text("ascii")))
        self.assertNotEqual(other, first)

    def test_token_of_another_host(self):
        """``--print-token`` creates nothing when another program listens."""
        self.patch(tap, "KNOCK_SECONDS", 0.05)
        other = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        listen = f"--listen=127.0.0.1:{other.getsockname()[1]}"

        def vrcnext():
            words = ["--print-token", f"--data-dir={self.data}", listen]
            tap.Options().parseOptions(words)

        status, line = self.refused(vrcnext)
        self.assertEqual(status, 1)
        self.assertIn("nothing was created: no daemon of the host vrcnext", line)
        self.assertFalse(self.data.exists())
        # Who names the host as well has chosen; what is there is printed to anybody.
        for ask in (lambda: self.options("--print-token", listen), vrcnext):
            status, printed = self.refused(ask)
            warning, token = printed.splitlines(True)
            self.assertEqual((status, token), (0, (self.data / "token").read_text()))
            self.assertIn("warning: no daemon of the host", warning)
        self.addCleanup(acquire(self.data / "lock").release)
        self.assertEqual(self.refused(vrcnext), (0, token))

    def test_build_mode(self):
        """``--build-plugins`` prints its report; its status shows errors."""
        report = oneshot.Report(ok=False, duration_ms=1, plugins=[], errors=["e"])
        self.patch(tap, "run_once", lambda *_: report)
        status, text = self.refused(lambda: self.options("--build-plugins"))
        self.assertEqual(status, 1)
        self.assertIn('"durationMs":1', text)

    async def test_operation_that_ended_during_another_build(self):
        """What a build is made of is read when it is its turn, and not before."""
        paths = self.options().paths
        Setup(paths, lambda _: None, esbuild(), None, library()).install()
        lock = acquire(paths.data.build / "lock")
        building = ensureDeferred(oneshot.build(reactor, paths))
        paths.data.state.write_text('{"bridge.plugins":{"good":{"url":"x"}}}')
        paths.data.state.chmod(0o600)
        lock.release()
        report = await building
        self.assertIn("good is left out", report.errors[-1])

    async def test_directories_removed(self):
        """A build makes its directories again, for the user alone."""
        place = self.options().paths
        place.data.create()
        builder = Builder(place, _REACTOR, execute)
        shutil.rmtree(place.data.build)
        shutil.rmtree(place.data.plugins)
        report = await builder.build(lambda: ({}, {}))
        self.assertIn("bundler missing", report.errors[0])
        for path in (place.data.build, place.data.plugins):
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o700)

    def interrupt(self):
        """Leave a journal, as an uninstall that was interrupted does."""
        paths = self.options().paths
        paths.data.create()
        (paths.data.plugins / ".tmp-0b").mkdir()
        paths.data.state.write_text("{}")
        interrupted = Exchange("uninstall", "good", None, ".tmp-0b", None)
        Journal(paths.data.journal).begin(interrupted)
        return paths

    async def test_interrupted_operation(self):
        """It is settled before the daemon listens, and built; the banner reports it."""
        paths = self.interrupt()
        daemon = await self.begun()
        self.assertIn(
            "the uninstall of good was interrupted, and was fin", self.printed()
        )
        self.assertEqual(list(paths.data.plugins.iterdir()), [])
        await daemon.stopService()
        self.assertFalse(paths.data.journal.exists())

    def test_not_of_this_daemon(self):
        """Another version's journal and another host's sources end it in one line."""
        paths = self.interrupt()
        paths.data.journal.write_text("{}")
        self.patch(assembly, "_lock", lambda data: mock.Mock())

        def build():
            building = ensureDeferred(oneshot.build(reactor, paths))
            self.failureResultOf(building).raiseException()

        for why in ("is not a journal of this version", "is of the host vrcnext, not"):
            for begin in (build, lambda: tap.assemble(reactor, self.options())):
                status, text = self.refused(tap._exiting()(begin))
                self.assertEqual(status, 1)
                self.assertIn(why, text)
            install_sources({}, paths.data, "0.1", "vrcnext", force=True)
        self.assertIn(why, self.refused(lambda: self.options("--print-token"))[1])
        self.assertTrue((paths.data.plugins / ".tmp-0b").exists())

    async def test_build_during_an_operation(self):
        """A build waits while a daemon is in the middle of an operation."""
        paths = self.interrupt()
        self.addCleanup(acquire(paths.data.lock).release)
        building = ensureDeferred(oneshot.build(reactor, paths))
        await deferLater(reactor, 0.2)
        self.assertFalse(building.called)
        Journal(paths.data.journal).end()
        report = await building
        self.assertIn("bundler missing", report.errors[0])

    async def test_build_after_an_interruption(self):
        """A build without a daemon settles what a killed one has left."""
        paths = self.interrupt()
        report = await oneshot.build(reactor, paths)
        self.assertIn("bundler missing", report.errors[0])
        self.assertEqual(list(paths.data.plugins.iterdir()), [])


class RunTests(SynchronousTestCase):
    def test_failure(self):
        """What it raises is raised, at once or later."""
        for pauses in (0, 1):
            running = brief_reactor(self)

            async def work(running=running, pauses=pauses):
                for _ in range(pauses):
                    await deferLater(running, 0)
                raise ZeroDivisionError

            self.assertRaises(ZeroDivisionError, run_once, running, work)

    def test_interrupted(self):
        """One that was stopped first was interrupted, also by two signals at once."""
        running = brief_reactor(self)
        signal.signal(signal.SIGINT, running.sigInt)
        for _ in range(2):
            running.callLater(0, signal.raise_signal, signal.SIGINT)
        self.assertRaises(KeyboardInterrupt, run_once, running, Deferred)

    def test_shutdown_that_hangs(self):
        """It is ended by a signal that comes later, at once."""
        done = python("-c", _HANGING)
        self.assertEqual((done.returncode, done.stdout), (-signal.SIGINT, ""))
