"""
Steps of a daemon in a process of its own.

Everything is real: git over TLS, the bundler, prompts on a session bus with somebody
who answers them, ``SIGKILL``, and writes that the system refuses.  Only the daemon's
clock is not the machine's.
"""

from __future__ import annotations

import json
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any, Final

from attrs import define, evolve, field
from websocket import ABNF, WebSocketException

from ..forge import ForgeProcess, start_forge_process
from ..freedesktop.buses import DIES_WITH_US, SessionBus
from ..whole.daemon import ROOT, Daemon, Page, environment, set_up
from .expected import OPERATIONS, Answer, Ask, Model, read_answer
from .observing import BUNDLE, KEPT, PUBLISHED, expect
from .published import (
    KEYS,
    NAMESPACES,
    PLUGINS,
    Forge,
    Version,
    make_version,
    read_files,
    write_files,
)

PATIENCE_SECONDS: Final = 60.0
HOUR: Final = 3600.0
OTHERS: Final = {"logs", "sample.db", "themes"}
JUMPS: Final = (-24 * HOUR, -HOUR, HOUR, 24 * HOUR)


@define(eq=False)
class RealForge(Forge):
    """Versions that a real git server has."""

    server: ForgeProcess = field(factory=start_forge_process)
    _commits: dict[str, Version] = field(factory=dict)

    def publish(self, version: Version) -> None:
        """Make a version the latest."""
        self.latest[version.plugin_id] = version
        with tempfile.TemporaryDirectory() as directory:
            write_files(Path(directory), version.files)
            commit = self.server.publish(Path(directory), version.plugin_id)
        self._commits[commit] = version

    def version(self, commit: str) -> Version:
        """Return the version of a commit; ``KeyError`` if there was none."""
        return self._commits[commit]


@define(eq=False)
class WholeDriver:
    """
    A daemon and its surroundings, and the model of it.

    :ivar choose: Decides what is done.
    :ivar steps: What was done.
    """

    choose: Random
    home: Path = field(init=False)
    forge: RealForge = field(factory=RealForge)
    bus: SessionBus = field(factory=SessionBus)
    model: Model = field(factory=Model)
    steps: list[str] = field(factory=list)
    offset: float = 0.0
    daemon: Daemon = field(init=False)
    _user: subprocess.Popen[bytes] | None = None
    _is_stale: bool = False

    def __attrs_post_init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="bridge-model-"))
        set_up(self.home)
        self._set_clock(0.0)
        for plugin_id in PLUGINS:
            self._publish(plugin_id, 0, 0)
        self._set_mood("confirm")
        self._begin_session()
        self.start()

    def close(self) -> None:
        """End everything, and remove the files."""
        if self.daemon.process.poll() is None:
            self.daemon.stop(signal.SIGKILL)
        self._end_session()
        self.bus.remove()
        self.forge.server.stop()
        shutil.rmtree(self.home)

    # The surroundings.

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.home / "data"

    def _set_clock(self, offset: float) -> None:
        self.offset = offset
        path = self.home / "clock"
        with path.open("r+b" if path.exists() else "wb") as file:
            file.write(struct.pack("d", offset))

    def _set_mood(self, mood: str) -> None:
        (self.home / "mood").write_text(mood, "ascii")

    def _begin_session(self) -> None:
        self._user = subprocess.Popen(
            [
                *DIES_WITH_US,
                *(sys.executable, "-m", "tests.model.user"),
                *(self.bus.socket, str(self.home / "mood")),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
        )
        assert self._user.stdout is not None
        assert self._user.stdout.readline(), "nobody answers prompts"

    def _end_session(self) -> None:
        """Kill the bus, with which its user goes."""
        self.bus.kill()
        if self._user is not None:
            self._user.wait(PATIENCE_SECONDS)
            assert self._user.stdout is not None
            self._user.stdout.close()
            self._user = None

    def _publish(self, plugin_id: str, number: int, author: int) -> None:
        at = int(time.time() + self.offset)
        latest = self.forge.latest.get(plugin_id)
        # A version that was signed before the latest one would be a downgrade.
        at = at if latest is None else max(at, latest.signed_at + 1)
        self.forge.publish(make_version(plugin_id, number, author, at, is_broken=False))

    def start(self) -> None:
        """Start a daemon."""
        options = (
            "--host=reference",
            "--listen=127.0.0.1:0",
            f"--data-dir={self.data}",
            f"--ca-file={self.forge.server.ca_file}",
            *("--rate=1000", "--burst=1000"),
        )
        process = subprocess.Popen(
            [
                *(sys.executable, "-u", "-m", "tests.model.shifted"),
                *(str(self.home / "clock"), "run", *options),
            ],
            cwd=self.home,
            env=environment(self.home, self.bus.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.daemon = Daemon(process, self.data)

    # Steps.

    def step(self) -> None:
        """Do something, and compare."""
        steps = (
            (self.ask, 6),
            (self.ask_nobody, 1),
            (self.ask_a_full_disk, 2),
            (self.kill, 4),
            (self.restart, 1),
            (self.rotate, 1),
            (self.lose_the_bus, 1),
            (self.jump, 1),
        )
        names, weights = zip(*steps, strict=True)
        self.choose.choices(names, weights)[0]()

    def _asks(self, most: int = 3) -> list[Ask]:
        asks = [self._ask() for _ in range(self.choose.randint(1, most))]
        busy = {f"plugin:{ask.target}" for ask in asks if ask.what in OPERATIONS}
        return [ask for ask in asks if not (ask.is_setting and ask.target in busy)]

    def _ask(self) -> Ask:
        choose, page = self.choose, self.choose.randint(0, 1)
        kind = choose.random()
        if kind < 0.4:
            what = choose.choice(("set", "set", "delete"))
            place = (choose.choice(NAMESPACES), choose.choice("xy"))
            return Ask(what, *place, choose.randint(0, 99), page)
        if kind < 0.5:
            return Ask("build", page=page)
        if kind < 0.55:
            return Ask("forget", choose.choice(KEYS), page=page)
        plugin_id = choose.choice(PLUGINS)
        if plugin_id not in self.model.installed:
            return Ask("install", plugin_id, page=page)
        return Ask(choose.choice(("update", "uninstall")), plugin_id, page=page)

    def _news(self) -> None:
        """Publish a version, now and then."""
        if self.choose.random() < 0.3:
            plugin_id = self.choose.choice(PLUGINS)
            number = self.forge.latest[plugin_id].number + self.choose.randint(0, 1)
            self._publish(plugin_id, number, self.choose.choice((0, 0, 1)))

    def ask(self, mood: str = "confirm") -> None:
        """Ask for something, on two pages at once."""
        self._news()
        asks = self._asks()
        self._note("ask", mood, asks)
        self._set_mood(mood)
        now = time.time() + self.offset
        with self.daemon.page() as first, self.daemon.page() as second:
            answers = self._asked((first, second), asks, len(asks))
        busy = [ask.target for ask in asks if ask.what in OPERATIONS]
        forgets = any(ask.what == "forget" for ask in asks)
        for answer in answers:
            ask = asks[answer.number]
            alone = busy.count(ask.target) <= 1 and not (forgets and len(asks) > 1)
            if ask.is_setting or alone:
                allowed = self.model.allowed(ask, self.forge, now, mood)
                self._expect(answer.outcome in allowed, ask, answer, allowed)
            built = ask.what == "build" and answer.is_ok and answer.result["ok"]
            if built or (answer.is_ok and ask.what in ("install", "update")):
                self._is_stale = False
        self._follow(asks, answers)

    def ask_nobody(self) -> None:
        """Ask somebody who denies everything."""
        self.ask("deny")

    def lose_the_bus(self) -> None:
        """Ask while there is no session bus, which then comes back."""
        self._note("lose the bus")
        self._end_session()
        self.ask("away")
        self.bus.start()
        self._begin_session()

    def ask_a_full_disk(self) -> None:
        """Ask while the system lets the daemon write nothing more."""
        asks = self._asks()
        self._note("full disk", asks)
        self._set_mood("confirm")
        delay = self.choose.choice((0.0, 0.0, 0.1, 0.3))
        pid = self.daemon.process.pid
        with self.daemon.page() as first, self.daemon.page() as second:
            pages = (first, second)
            self._send(pages, asks)
            time.sleep(delay)
            soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))
            try:
                answers = list(self._answers(pages, asks, len(asks)))
            finally:
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))
        self._is_stale = True
        if (self.data / "journal").exists():
            # The next start settles it, one way or the other.
            answers = [a for a in answers if a.is_ok or asks[a.number].is_setting]
            self.daemon.stop()
            self.start()
            self._until_settled()
        self._follow(asks, answers)

    def kill(self) -> None:
        """Kill the daemon while it works, and start another one."""
        self._news()
        asks = self._asks()
        delay = self.choose.choice((0.0, 0.02, 0.1, 0.3, 0.6, 1.0))
        self._note("kill", delay, asks)
        self._set_mood("confirm")
        with self.daemon.page() as first, self.daemon.page() as second:
            self._send((first, second), asks)
            time.sleep(delay)
            self.daemon.stop(signal.SIGKILL)
            answers = list(self._answers((first, second), asks, 0))
        self.start()
        self._until_settled()
        self._follow(asks, answers, killed=True)

    def restart(self) -> None:
        """End the daemon, and start another one."""
        self._note("restart")
        status = self.daemon.stop()
        self._expect(status in (0, -signal.SIGTERM), "it ended with", status)
        self.start()
        self._follow([], [])

    def rotate(self) -> None:
        """Replace the token."""
        self._note("rotate")
        before = self.daemon.token
        with self.daemon.page() as page:
            self._run("--rotate-token")
            reason = _close_reason(page)
        self._expect(reason == "token_rotated", "closed:", reason)
        self._expect(self.daemon.token != before, "the token is as it was")
        stranger = Page(self.daemon.port)
        try:
            stranger.send({"type": "hello", "token": before, "client": "model/1"})
            reason = _close_reason(stranger)
            self._expect(reason == "unauthorized", "closed:", reason)
        finally:
            stranger.close()
        self._follow([], [])

    def _run(self, option: str) -> None:
        where = ("--host=reference", f"--data-dir={self.data}")
        subprocess.run(
            [sys.executable, "-m", "bridge", "run", *where, option],
            env=environment(self.home),
            cwd=self.home,
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=PATIENCE_SECONDS,
        )

    def jump(self) -> None:
        """Set the clock of the system."""
        seconds = self.choose.choice(JUMPS)
        self._note("jump", seconds)
        self._set_clock(self.offset + seconds)
        self._follow([], [])

    # Requests and answers.

    def _asked(
        self, pages: Sequence[Page], asks: Sequence[Ask], awaited: int
    ) -> list[Answer]:
        self._send(pages, asks)
        return list(self._answers(pages, asks, awaited))

    def _send(self, pages: Sequence[Page], asks: Sequence[Ask]) -> None:
        for number, ask in enumerate(asks):
            frame = ask.frame(self.forge.server.url)
            pages[ask.page].send({"type": "request", "id": str(number), **frame})

    def _answers(
        self, pages: Sequence[Page], asks: Sequence[Ask], awaited: int
    ) -> Iterator[Answer]:
        """
        Read the responses, in an order in which they may have been given.

        :param awaited: How many there must be; 0 when the daemon is dead.
        """
        for number, page in enumerate(pages):
            left = sum(ask.page == number for ask in asks)
            with suppress(OSError, WebSocketException):
                while left:
                    got = page.receive()
                    if got["type"] == "response":
                        left -= 1
                        awaited -= 1
                        yield read_answer(got)
        self._expect(awaited <= 0, "not answered:", awaited)

    # What has become of them.

    def _note(self, *what: object) -> None:
        self.steps.append(" ".join(map(str, what)))

    def _expect(self, holds: object, *what: object) -> None:
        expect(holds, *what, "\nsteps:\n", "\n".join(self.steps), self._log())

    def _log(self) -> str:
        return "\nlog:\n" + "".join(self.daemon.lines[-40:])

    def _until_settled(self) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while (self.data / "journal").exists():
            self._expect(time.monotonic() < end, "the journal stays after a start")
            time.sleep(0.02)

    def _follow(
        self, asks: Sequence[Ask], answers: Sequence[Answer], *, killed: bool = False
    ) -> None:
        """Let the model follow what is found, if it is one of what may be found."""
        found = self._found()
        candidates = list(self._candidates(asks, answers, killed))
        self._expect(
            found in candidates, f"found {found}\n instead of {candidates[:6]}"
        )
        self.model = found
        self._check()

    def _candidates(
        self, asks: Sequence[Ask], answers: Sequence[Answer], killed: bool
    ) -> Iterator[Model]:
        # Two pages have no common order, neither of requests nor of answers.
        for numbers in permutations(range(len(asks))):
            if not _in_page_order(numbers, asks):
                continue
            asked = [asks[n] for n in numbers]
            known = [evolve(a, number=numbers.index(a.number)) for a in answers]
            for answered in permutations(known):
                yield from self.model.after(asked, answered, self.forge, killed)

    def _found(self) -> Model:
        state = self._state()
        with self.daemon.page() as page:
            listed = page.result("plugins", "list")
            self._expect(not listed["broken"], "broken:", listed["broken"])
            settings = {
                ns: page.result("state", "list", {"ns": ns})["entries"]
                for ns in NAMESPACES
            }
            keys = {key["keyId"] for key in page.result("plugins", "keys")["keys"]}
        marks = state.get("bridge.plugin-marks", {})
        return Model(
            {e["id"]: self.forge.version(e["commit"]) for e in listed["plugins"]},
            {ns: entries for ns, entries in settings.items() if entries},
            keys,
            {(one, key): at for one, of in marks.items() for key, at in of.items()},
        )

    def _state(self) -> Any:
        path = self.data / "state.json"
        return json.loads(path.read_bytes()) if path.exists() else {}

    def _check(self) -> None:
        """Compare what no page can read with the model."""
        status, _, health = self.daemon.http("GET", "/v1/health")
        self._expect(status == 200 and health["ok"], "not healthy")
        self._expect("Traceback" not in "".join(self.daemon.lines), "a traceback")
        for plugin_id, version in self.model.installed.items():
            found = read_files(self.data / "plugins" / plugin_id)
            files = {n: c for n, c in found.items() if not n.startswith(".git/")}
            differ = {n for n in files if files[n] != version.files.get(n)}
            self._expect(files == version.files, version, "differs in", differ)
        names = {path.name for path in (self.data / "plugins").iterdir()}
        self._expect(names == set(self.model.installed), "in plugins:", names)
        left = {path.name for path in self.data.iterdir()} - KEPT - OTHERS
        self._expect(not left, "left:", left)
        theme = self.data / "themes" / "reference-host"
        if theme.exists() and not self._is_stale:
            left = {path.name for path in theme.iterdir()} - PUBLISHED
            self._expect(not left, "left of a build:", left)
        if (theme / BUNDLE).exists() and not self._is_stale:
            self._check_bundle((theme / BUNDLE).read_bytes())

    def _check_bundle(self, bundle: bytes) -> None:
        for version in self.forge._commits.values():
            code = version.files["main.ts"].decode().split("'")[1].encode()
            is_installed = self.model.installed.get(version.plugin_id) == version
            self._expect((code in bundle) == is_installed, "in the bundle:", code)


def _close_reason(page: Page) -> str:
    """Wait for the daemon to close a socket, without an answer that may be too late."""
    while (frame := page.socket.recv_frame()).opcode != ABNF.OPCODE_CLOSE:
        pass
    text: bytes = frame.data
    return text[2:].decode("utf-8")


def _in_page_order(numbers: Sequence[int], asks: Sequence[Ask]) -> bool:
    by_page = [[n for n in numbers if asks[n].page == page] for page in (0, 1)]
    return all(of_page == sorted(of_page) for of_page in by_page)


def run(seed: int, steps: int) -> WholeDriver:
    """
    Run some steps, as a seed decides.

    :return: The driver, closed.
    """
    driver = WholeDriver(Random(seed))  # noqa: S311
    try:
        for _ in range(steps):
            driver.step()
    finally:
        driver.close()
    return driver
