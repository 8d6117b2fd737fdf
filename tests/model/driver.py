"""Carries steps out on a simulated daemon, and compares it with the model."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from attrs import define, field

from bridge.daemon.listening import StartError
from bridge.datadir.paths import DataDir, DataDirError
from bridge.datadir.token import TokenError
from bridge.plugins.installed.journal import JournalError
from bridge.store import StoreError
from bridge.wiring import oneshot

from ..web.stack import Page
from .disk import Plan, going_wrong
from .expected import OPERATIONS, Answer, Ask, Model, read_answer
from .published import NAMESPACES, PLUGINS, Forge, Version, make_version, read_files
from .simulation import NOW, Simulation

PAGES: Final = 2
START_ERRORS: Final = (DataDirError, JournalError, StartError, StoreError, TokenError)
KEPT: Final = {
    "address",
    "bin",
    "build",
    "host",
    "icons",
    "lock",
    "plugins",
    "state.json",
    "state.json.bak",
    "token",
}
PUBLISHED: Final = {"info.json", "reference-host.js", "reference-host.js.map"}
DEFECTS: Final = (
    "Unhandled",
    "AssertionError",
    "AttributeError",
    "InvalidStateError",
    "AlreadyCalled",
    "KeyError",
    "TypeError",
    "ValueError",
)
"""In what is logged when something fails in a way that nobody had in mind."""


class Mismatch(AssertionError):
    """The daemon is not what the model says."""


def expect(holds: object, *what: object) -> None:
    """
    Compare with the model.

    :raise Mismatch: It does not hold.
    """
    if not holds:
        raise Mismatch(" ".join(str(one) for one in what))


@define(eq=False)
class Driver:
    """
    A daemon, and the model of it.

    :ivar before_failure: What the state file may hold instead, since a write failed.
    :ivar unsettled: The plugin of an operation that could not be undone, and what may
        be installed of it.
    :ivar is_stale: Whether a build may have failed since the last good one.
    :ivar has_litter: Whether files may be left that only a start removes.
    """

    forge: Forge = field(factory=Forge)
    simulation: Simulation = field(init=False)
    model: Model = field(factory=Model)
    pages: list[Page | None] = field(factory=lambda: [None] * PAGES)
    before_failure: list[dict[str, dict[str, Any]]] = field(factory=list)
    unsettled: tuple[str, list[Version | None]] | None = None
    is_stale: bool = False
    has_litter: bool = False
    _answers: list[Answer] = field(factory=list)
    _number: int = 0

    def __attrs_post_init__(self) -> None:
        where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108
        for plugin_id in PLUGINS:
            self.publish(plugin_id, 0, 0, NOW, is_broken=False)
        root = Path(tempfile.mkdtemp(prefix="model-", dir=where))
        self.simulation = Simulation(root, self.forge)
        self.simulation.start()

    def close(self) -> None:
        """End everything."""
        self.simulation.close()

    def publish(
        self, plugin_id: str, number: int, author: int, at: int, *, is_broken: bool
    ) -> None:
        """Publish a version."""
        self.forge.publish(
            make_version(plugin_id, number, author, at, is_broken=is_broken)
        )

    # Requests.

    def ask(
        self,
        asks: Sequence[Ask],
        seed: int = 0,
        mood: str = "confirm",
        plan: Plan | None = None,
        leaving: Sequence[int] = (),
    ) -> None:
        """
        Let pages ask, wait for the answers, and compare.

        :param seed: Decides in which order things happen.
        :param plan: Fails calls; a plan that kills is for ``kill``.
        :param leaving: The pages that go once they have asked.
        """
        self._connect()
        self.simulation.user.mood = mood
        self.simulation.errors.clear()
        now = self.simulation.now
        answers = self._asked(asks, seed, plan, leaving)
        failures = 0 if plan is None else plan.failures
        awaited = {n for n, ask in enumerate(asks) if ask.page not in leaving}
        expect(
            awaited <= {a.number for a in answers},
            "not answered:",
            [asks[n] for n in awaited - {a.number for a in answers}],
        )
        if not failures:
            self._check_answers(asks, answers, now, mood)
        self._follow(asks, answers, failures=failures)
        self.check()

    def _asked(
        self,
        asks: Sequence[Ask],
        seed: int,
        plan: Plan | None,
        leaving: Sequence[int],
        report: Callable[[Answer], None] = lambda answer: None,
    ) -> list[Answer]:
        """Send requests, and do all the work; the answers, in their order."""
        self.simulation.schedule.choose = Random(seed)
        answers: list[Answer] = []

        def receive() -> None:
            for answer in self._received():
                answers.append(answer)
                report(answer)

        with going_wrong(plan):
            for number, ask in enumerate(asks):
                page = self.pages[ask.page]
                assert page is not None
                page.send({"type": "request", "id": str(number), **ask.frame})
            for left in leaving:
                self._leave(left)
            awaited = sum(ask.page not in leaving for ask in asks)
            self.simulation.run(lambda: len(answers) >= awaited, receive)
        return answers

    def _received(self) -> Iterator[Answer]:
        for page in self.pages:
            for frame in [] if page is None else page.take():
                if frame["type"] == "response":
                    yield read_answer(frame)

    def _connect(self) -> None:
        for number, page in enumerate(self.pages):
            if page is None or page.closed is not None:
                self.pages[number] = self._new_page()
        for page in self.pages:
            assert page is not None
            page.take()

    def _new_page(self) -> Page:
        page = self.simulation.open_page(self.simulation.token)
        kinds = [frame["type"] for frame in page.take()]
        expect("welcome" in kinds, "a page was not welcomed:", page.closed)
        return page

    def _leave(self, number: int) -> None:
        page = self.pages[number]
        if page is not None:
            page.client.transport.abortConnection()
            self.pages[number] = None

    def _check_answers(
        self, asks: Sequence[Ask], answers: Sequence[Answer], now: float, mood: str
    ) -> None:
        """See that each request was answered as it must be, if nothing interfered."""
        targets = [ask.target for ask in asks if ask.what in OPERATIONS]
        forgets = any(ask.what == "forget" for ask in asks)
        for answer in answers:
            ask = asks[answer.number]
            alone = targets.count(ask.target) == 1 or ask.what not in OPERATIONS
            if not alone or (forgets and not ask.is_setting) or self.unsettled:
                continue
            if ask.what == "forget" and targets:
                continue
            allowed = self.model.allowed(ask, self.forge, now, mood)
            expect(answer.outcome in allowed, ask, answer, "is none of", allowed)

    # What has become of them.

    def _follow(
        self,
        asks: Sequence[Ask],
        answers: Sequence[Answer],
        *,
        failures: int = 0,
        killed: bool = False,
    ) -> None:
        """Let the model follow what is there, if it is one of what may be there."""
        if failures:
            self.is_stale = self.has_litter = True
        known = [a for a in answers if a.is_ok or not self._may_be_unsettled(asks, a)]
        candidates = list(self._candidates(asks, known, killed))
        found = self.observed()
        fitting = [model for model in candidates if model == found]
        expect(
            fitting,
            f"found {found}\n  after {asks}\n  answered {answers}\n  instead of",
            *(f"\n    {one}" for one in candidates[:8]),
        )
        self._settle(asks, found)
        self._remember(asks, answers, failures)
        self.model = fitting[0]
        if any(asks[a.number].what in OPERATIONS and a.is_ok for a in answers):
            self.is_stale = self.is_stale and bool(failures)
        if any(asks[a.number].what == "build" and _is_good(a) for a in answers):
            self.is_stale = self.is_stale and bool(failures)

    def _may_be_unsettled(self, asks: Sequence[Ask], answer: Answer) -> bool:
        """Whether a refused operation may have left something to the next one."""
        return asks[answer.number].what in OPERATIONS and self.is_unsettled

    @property
    def is_unsettled(self) -> bool:
        """Whether the journal is there, so that an operation is not over."""
        return (self.simulation.data / "journal").exists()

    def _candidates(
        self, asks: Sequence[Ask], answers: Sequence[Answer], killed: bool
    ) -> Iterator[Model]:
        bases = [self.model]
        if killed and not any(answer.is_ok for answer in answers):
            for settings in self.before_failure:
                base = self.model.copy()
                base.settings = settings
                bases.append(base)
        for base in bases:
            for model in base.after(asks, answers, self.forge, killed):
                yield model
                yield from self._unsettled_forms(model)

    def _unsettled_forms(self, model: Model) -> Iterator[Model]:
        """Yield what the end of an operation that was not over may make of it."""
        if self.unsettled is None:
            return
        found = self.observed()
        plugin_id, versions = self.unsettled
        for version in versions:
            form = model.copy()
            form.installed.pop(plugin_id, None)
            if version is not None:
                form.installed[plugin_id] = version
            form.keys = set(found.keys)
            for settings in (True, False):
                if not settings:
                    form = form.copy()
                    form.settings.pop(f"plugin:{plugin_id}", None)
                yield form

    def _settle(self, asks: Sequence[Ask], found: Model) -> None:
        if not self.is_unsettled:
            if self.unsettled is not None:
                self.model.marks = self.observed_marks()
            self.unsettled = None
            return
        for ask in asks:
            if ask.what in OPERATIONS:
                journal = json.loads((self.simulation.data / "journal").read_bytes())
                if journal["pluginId"] != ask.target:
                    continue
                versions = [
                    self.model.installed.get(ask.target),
                    found.installed.get(ask.target),
                    self.forge.latest[ask.target],
                    None,
                ]
                self.unsettled = (ask.target, versions)

    def _remember(
        self, asks: Sequence[Ask], answers: Sequence[Answer], failures: int
    ) -> None:
        """Remember what a failed write may have left in the file."""
        if not failures:
            if any(answer.is_ok and asks[answer.number].what != "build" for answer in answers):
                self.before_failure.clear()
            return
        settings = [ask for ask in asks if ask.is_setting]
        for count in range(len(settings) + 1):
            model = self.model.copy()
            for ask in settings[:count]:
                model.apply(ask, self.forge)
            self.before_failure.append(model.settings)

    # What is there.

    def observed(self) -> Model:
        """Return what the daemon answers when it is asked what there is."""
        listed = self.call("plugins", "list")
        expect(not listed["broken"], "broken:", listed["broken"])
        installed = {
            entry["id"]: self.forge.version(entry["commit"])
            for entry in listed["plugins"]
        }
        settings = {}
        for ns in NAMESPACES:
            entries = self.call("state", "list", {"ns": ns})["entries"]
            if entries:
                settings[ns] = entries
        keys = {key["keyId"] for key in self.call("plugins", "keys")["keys"]}
        return Model(installed, settings, keys)

    def observed_marks(self) -> dict[tuple[str, str], int]:
        """Return the marks that the daemon keeps; no page can read them."""
        state = json.loads((self.simulation.data / "state.json").read_bytes())
        return {
            (plugin_id, key): at
            for plugin_id, marks in state.get("bridge.plugin-marks", {}).items()
            for key, at in marks.items()
        }

    def call(self, service: str, method: str, params: Any = None) -> Any:
        """Call a method that only reads."""
        self._connect()
        page = self.pages[0]
        assert page is not None
        self._number += 1
        frame = {"type": "request", "id": f"9{self._number}", "service": service}
        page.send({**frame, "method": method, "params": params or {}})
        answers: list[Answer] = []
        self.simulation.run(
            lambda: bool(answers), lambda: answers.extend(self._received())
        )
        (answer,) = answers
        expect(answer.is_ok, service, method, answer)
        return answer.result

    def check(self) -> None:
        """Compare everything that no page is told with the model."""
        expect(self.simulation.health()["ok"], "not healthy")
        self._check_log()
        self._check_trees()
        self._check_file()
        self._check_bundle()
        self._check_left()

    def _check_log(self) -> None:
        for line in self.simulation.errors:
            expect(self.has_litter and not any(d in line for d in DEFECTS), line)

    def _check_trees(self) -> None:
        for plugin_id, version in self.model.installed.items():
            root = self.simulation.data / "plugins" / plugin_id
            expect(read_files(root) == version.files, plugin_id, "is not", version)

    def _check_file(self) -> None:
        path = self.simulation.data / "state.json"
        if self.before_failure or not path.exists():
            return
        state = json.loads(path.read_bytes())
        found = {ns: v for ns, v in state.items() if not ns.startswith("bridge.")}
        expect(found == self.model.settings, found, "is not", self.model.settings)

    def _check_bundle(self) -> None:
        path = self.simulation.theme / "reference-host.js"
        if self.is_stale or self.unsettled or not path.exists():
            expect(
                self.is_stale or self.unsettled or not self.model.installed,
                "there is no bundle",
            )
            return
        code = {
            plugin_id: version.files["main.ts"].decode()
            for plugin_id, version in self.model.installed.items()
        }
        found = json.loads(path.read_text())
        expect(found == code, "the bundle has", found, "instead of", code)

    def _check_left(self) -> None:
        if self.has_litter or self.unsettled:
            return
        data = self.simulation.data
        expect(_names(data) <= KEPT, "left:", _names(data) - KEPT)
        ids = set(self.model.installed)
        expect(_names(data / "plugins") == ids, "left:", _names(data / "plugins"))
        if self.simulation.theme.exists():
            names = _names(self.simulation.theme)
            expect(names <= PUBLISHED, "left:", names - PUBLISHED)

    # Starts and ends.

    def restart(self, plan: Plan | None = None) -> None:
        """
        End the daemon properly, and start it again.

        :param plan: Fails calls of the start, or kills it; it is started again then.
        """
        self.pages = [None] * PAGES
        self.simulation.stop()
        if plan is not None:
            self._start_badly(plan)
        self._start([], [])

    def _start(self, asks: Sequence[Ask], answers: Sequence[Answer]) -> None:
        self.simulation.schedule.choose = Random(0)
        self.simulation.errors.clear()
        self.simulation.start()
        self.simulation.run(lambda: not self.is_unsettled, lambda: None)
        expect(not self.is_unsettled, "the journal stays after a start")
        self._follow(asks, answers, killed=True)
        self.model.marks = self.observed_marks_or(self.model.marks)
        self.before_failure.clear()
        self.has_litter = False
        self.check()

    def observed_marks_or(
        self, marks: dict[tuple[str, str], int]
    ) -> dict[tuple[str, str], int]:
        """Return the marks of the file, which must not be lower than those given."""
        path = self.simulation.data / "state.json"
        return self.observed_marks() if path.exists() else marks

    def _start_badly(self, plan: Plan) -> None:
        def work() -> None:
            self.simulation.start()
            self.simulation.run(lambda: not self.is_unsettled, lambda: None)

        if plan.number is None:
            self._in_a_child(lambda _: work(), plan)
            return
        self.is_stale = True
        try:
            with going_wrong(plan):
                work()
        except START_ERRORS:
            self.simulation.daemon = None
        self.simulation.forget()

    def kill(
        self,
        asks: Sequence[Ask],
        seed: int,
        mood: str,
        plan: Plan,
        again: Plan | None = None,
    ) -> None:
        """
        Kill the daemon while it carries requests out, and start it again.

        :param again: Kills or fails the start after it, too.
        """
        self._connect()
        self.simulation.user.mood = mood

        def work(report: Callable[[Answer], None]) -> None:
            self._asked(asks, seed, plan, (), report)

        answers = self._in_a_child(work, plan)
        self.pages = [None] * PAGES
        self.simulation.forget()
        if again is not None:
            self._start_badly(again)
        self._start(asks, answers)

    def _in_a_child(
        self, work: Callable[[Callable[[Answer], None]], None], plan: Plan
    ) -> list[Answer]:
        """Do something in a child that is killed; what pages were answered."""
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            status = 1
            try:
                os.close(reading)

                def report(answer: Answer) -> None:
                    os.write(writing, json.dumps([answer.number, answer.outcome, answer.result]).encode() + b"\n")

                with going_wrong(plan):
                    work(report)
                status = 0
            finally:
                os._exit(status)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            answers = [Answer(*json.loads(line)) for line in pipe]
        _, status = os.waitpid(child, 0)
        assert status == 0 or os.WIFSIGNALED(status), "the child failed"
        return answers

    # The token, and time.

    def rotate(self, plan: Plan | None = None) -> None:
        """
        Replace the token, as ``--rotate-token`` does.

        :param plan: Fails calls of that, or kills it.
        """
        self._connect()
        before, pages = self.simulation.token, list(self.pages)
        data = DataDir(self.simulation.data)
        if plan is not None and plan.number is None:
            self._in_a_child(lambda _: oneshot.token(data, rotate=True) and None, plan)
            self.has_litter = True
        else:
            try:
                with going_wrong(plan):
                    oneshot.token(data, rotate=True)
            except (TokenError, DataDirError):
                self.has_litter = True
        self.simulation.run(lambda: True, lambda: None)
        changed = self.simulation.token != before
        expect(changed or plan is not None, "the token is as it was")
        for page in pages:
            assert page is not None
            expect((page.closed is not None) == changed, "closed:", page.closed)
        stranger = self.simulation.open_page(before)
        welcomed = "welcome" in [frame["type"] for frame in stranger.take()]
        expect(welcomed != changed, "the old token is accepted:", welcomed)
        self._leave_all([stranger])
        self.check()

    def _leave_all(self, pages: Sequence[Page]) -> None:
        for page in pages:
            if page.closed is None:
                page.client.transport.abortConnection()

    def jump(self, seconds: float) -> None:
        """Set the system's clock, and compare."""
        self.simulation.errors.clear()
        self.simulation.jump(seconds)
        self.simulation.run(lambda: True, lambda: None)
        self._follow([], [])
        self.check()


def _names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def _is_good(answer: Answer) -> bool:
    return answer.is_ok and answer.result["ok"] and not answer.result["errors"]
