"""
The daemon that ``bridge.tap`` assembles, in memory, on real files.

Doubles stand for the network, the git server, the bundler, the user and the threads.
Time passes only when a test lets it.
"""

import hashlib
import json
import re
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from unittest import mock

from attrs import define, field, frozen
from twisted.internet.defer import Deferred, succeed
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import LogLevel, eventAsText, globalLogPublisher
from twisted.python.failure import Failure

import bridge.plugins.bundle.build
import bridge.wiring.services
from bridge import tap
from bridge.approval.prompts import denied, unavailable
from bridge.datadir.paths import API_ENTRY, HOST_ENTRY, TABLE_FILE
from bridge.settings.host import shipped_profile

from ..directories import write_files
from ..plugins.operations.bench import NOW
from ..web.stack import PAGE, Page, Stack
from .published import BROKEN, Forge
from .schedule import Pool, Schedule

IDLE_ROUNDS: Final = 200
"""How often time passes a little, before what is waited for must have happened."""

_TABLE: Final = re.compile(r"plugins/([a-z0-9-]+)/main")


class Reactor(MemoryReactorClock):
    """A reactor in memory, whose threads are a schedule's."""

    def __init__(self, schedule: Schedule, now: float) -> None:
        super().__init__()
        self._schedule = schedule
        self.rightNow = now

    def callFromThread(self, call: Callable[..., object], *args: Any) -> None:
        self._schedule.add("arrived", lambda: call(*args))

    def read(self) -> None:
        """Let whatever has a descriptor with something to read, read it."""
        ready, _, _ = select.select(list(self.readers), [], [], 0)
        for reader in ready:
            reader.doRead()


@define(eq=False)
class User:
    """
    Answers prompts.

    :ivar mood: ``confirm``, ``deny``, or ``away`` when there is no desktop.
    """

    schedule: Schedule
    mood: str = "confirm"
    description: str = "a double"

    def approve(self, prompt: Any) -> Deferred[None]:
        question: Deferred[None] = Deferred()

        def answer() -> None:
            if question.called:
                return
            if self.mood == "confirm":
                question.callback(None)
            elif self.mood == "deny":
                question.errback(denied("the user declined"))
            else:
                question.errback(unavailable("no desktop"))

        self.schedule.add("user", answer)
        return question


class Clean:
    """A scanner that finds nothing."""

    async def scan(self, tree: Any) -> list[Any]:
        return []


def set_up(data: Path) -> None:
    """Put in place what ``setup`` puts there; the bundler is never run."""
    write_files(data, dict.fromkeys((HOST_ENTRY, API_ENTRY), "export {};\n"))
    digest = hashlib.sha256(b"a double").hexdigest()
    write_files(data / "bin", {"esbuild": "a double", "esbuild.sha256": digest})


@frozen
class Bundler:
    """
    Answers as the bundler does, of the plugins in the table.

    :ivar reply: Answers what it asks; see ``converse``.
    """

    reply: Callable[[dict[str, Any]], dict[str, Any]]

    def ask(self, request: dict[str, Any]) -> Deferred[Any]:
        root = Path(request["absWorkingDir"])

        def load(path: str) -> str:
            asked = {"command": "on-load", "ids": [0], "with": {}}
            loaded = self.reply({**asked, "path": str(root / path)})
            return str(loaded["contents"].decode())

        plugins = sorted(set(_TABLE.findall(load(TABLE_FILE))))
        code = {p: load(f"plugins/{p}/main.ts") for p in plugins}
        if any(BROKEN in text for text in code.values()):
            message = {"text": "no such module", "location": None}
            return succeed({"errors": [message], "warnings": []})
        names = [f"plugins/{p}/{file}" for p in plugins for file in FILES_OF_A_TABLE]
        inputs: dict[str, Any] = {
            HOST_ENTRY: {"imports": [{"path": TABLE_FILE, "original": TABLE_FILE}]},
            TABLE_FILE: {"imports": [{"path": n, "original": n} for n in names]},
            **{name: {"imports": [], "format": "esm"} for name in names},
        }
        bundle = request["flags"][-1].removeprefix("--outfile=")
        empty = {"version": 3, "sources": [], "names": []}
        metafile = {"inputs": inputs, "outputs": {bundle: {"imports": []}}}
        texts = {bundle: code, f"{bundle}.map": {**empty, "mappings": ""}}
        written = [
            {"path": path, "contents": json.dumps(value).encode()}
            for path, value in texts.items()
        ]
        answer = {"errors": [], "warnings": [], "outputFiles": written}
        return succeed({**answer, "metafile": json.dumps(metafile).encode()})


FILES_OF_A_TABLE: Final = ("main.ts", "plugin.json")


class Web(Stack):
    def __init__(self, clock: Any, site: Any, host: str) -> None:
        self.clock, self.site, self.host = clock, site, host
        self.pages = []


@define(eq=False)
class Simulation:
    """
    A daemon on one data directory, from its start to its end or its death.

    :ivar errors: What was logged as an error since this was last emptied.
    """

    root: Path
    forge: Forge
    schedule: Schedule = field(factory=Schedule)
    now: float = float(NOW)
    user: User = field(init=False)
    errors: list[str] = field(factory=list, init=False)
    reactor: Reactor = field(init=False)
    _set_by: float = field(init=False)
    daemon: Any = field(default=None, init=False)
    web: Web = field(init=False)
    _observer: Any = field(init=False)
    _patches: ExitStack = field(factory=ExitStack, init=False)

    def __attrs_post_init__(self) -> None:
        self.user = User(self.schedule)
        self._observer = self._logged
        self._patch()
        globalLogPublisher.addObserver(self._observer)
        if not self.data.exists():
            self.data.mkdir(mode=0o700)
            set_up(self.data)

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def theme(self) -> Path:
        return self.root / "themes" / "reference-host"

    @property
    def token(self) -> str:
        """The pairing token, as the file has it."""
        return (self.data / "token").read_text("ascii").strip()

    def _patch(self) -> None:
        schedule = self.schedule

        async def converse(_, executable, limits, work, reply):
            turn: Deferred[None] = Deferred()
            schedule.add(
                "bundler", lambda: None if turn.called else turn.callback(None)
            )
            await turn
            return await work(Bundler(reply))

        for module, name, double in (
            (time, "time", self._time_of_day),
            (bridge.wiring.services, "Pool", lambda _, *more: Pool(schedule, *more)),
            (bridge.wiring.services, "Repositories", self._cloner),
            (bridge.wiring.services, "native_approver", lambda *_: self.user),
            (bridge.wiring.services, "Scanner", lambda *_: Clean()),
            (bridge.plugins.bundle.build, "converse", converse),
        ):
            self._patches.enter_context(mock.patch.object(module, name, double))

    def _cloner(self, client: Any, clock: Any, in_thread: Any, policy: Any) -> Forge:
        self.forge.in_thread = in_thread
        return self.forge

    def _logged(self, event: Any) -> None:
        if event.get("log_level") in (LogLevel.error, LogLevel.critical):
            self.errors.append(eventAsText(event, includeTimestamp=False))

    def start(self) -> None:
        """
        Start a daemon.

        :raise SystemExit: It cannot start; so do the errors of ``tap.assemble``.
        """
        self.reactor, self._set_by = Reactor(self.schedule, self.now), 0.0
        options = tap.Options()
        profile = self.root / "profile.toml"
        if not profile.exists():
            # Its table imports plugins, which the double of the bundler reads there.
            shipped = shipped_profile("reference")
            text = shipped.replace('plugins = "texts"', 'plugins = "modules"')
            profile.write_text(text, "utf-8")
        options.parseOptions(
            [
                f"--host={profile}",
                "--listen=127.0.0.1:0",
                f"--data-dir={self.data}",
                f"--theme-dir={self.theme.parent}",
                "--no-log-capture",
                "--rate=1000",
                "--burst=1000",
                # The others need a network.
                "--sink=freedesktop",
            ]
        )
        self.daemon = tap.assemble(self.reactor, options)
        self.daemon.startService()
        host = str(self.daemon._listening.address)
        self.web = Web(self.reactor, self.daemon._site, host)

    def jump(self, seconds: float) -> None:
        self._set_by += seconds
        self.now = self._time_of_day()

    def _time_of_day(self) -> float:
        return self.reactor.rightNow + self._set_by

    def run(self, until: Callable[[], bool], each: Callable[[], object]) -> bool:
        """
        Do all the work there is, and more as time passes.

        :param each: Called after every piece of work.
        :return: Whether it has happened.
        """
        idle = 0
        while True:
            self.web.flush()
            self.reactor.read()
            each()
            if self.schedule.step():
                continue
            idle += 1
            # What happens with no delay may begin more work.
            if idle > IDLE_ROUNDS or (until() and idle > 2):
                break
            self.reactor.advance(0.05)
        self.now = self._time_of_day()
        return until()

    def stop(self) -> None:
        ended: list[Any] = []
        self.daemon.stopService().addBoth(ended.append)
        assert self.run(lambda: bool(ended), lambda: None), "it does not end"
        if isinstance(ended[0], Failure):
            ended[0].raiseException()
        self.forget()

    def forget(self) -> None:
        """Leave the daemon as a kill does: with its files as they are."""
        if self.daemon is None:
            return
        for reader in list(self.reactor.readers):
            reader.connectionLost(Failure(ConnectionError()))
        globalLogPublisher.removeObserver(self.daemon._observer)
        self.daemon._release()
        # Replacing a handler formats the one before it, the whole daemon.
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        self.daemon.running = 0
        self.daemon = None
        self.schedule._lanes.clear()

    def close(self) -> None:
        """End everything, and remove the files."""
        self.forget()
        globalLogPublisher.removeObserver(self._observer)
        self._patches.close()
        shutil.rmtree(self.root)

    def open_page(self, token: str) -> Page:
        """Open a page's socket, and send hello; it may be refused."""
        port = int(self.web.host.rpartition(":")[2])
        page = self.web.open(PAGE, port=port)
        page.send({"type": "hello", "token": token, "client": "model/1.0.0"})
        return page

    def health(self) -> Any:
        return self.web.ask("GET", "/v1/health", host=self.web.host).json


def be_quiet() -> None:
    """Print no log lines, and leave the interpreter's switching as it is."""
    from twisted.logger import globalLogBeginner

    silent: Any = [lambda event: None]
    globalLogBeginner.beginLoggingTo(silent, redirectStandardIO=False)
    sys.unraisablehook = sys.__unraisablehook__
