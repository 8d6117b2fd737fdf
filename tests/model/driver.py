"""Carries steps out on a simulated daemon; compares it with the model after each."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from attrs import define, evolve, field

from bridge.protocol.errors import UserError

from ..directories import IN_MEMORY
from ..disk import Plan, going_wrong, in_a_child
from ..plugins.operations.bench import NOW
from .expected import OK, OPERATIONS, Answer, Ask, Model
from .observing import PAGES, Excuses, Observer, expect
from .published import PLUGINS, Forge
from .simulation import Simulation


@define(eq=False)
class Driver:
    """A daemon, and the model of it."""

    forge: Forge = field(factory=Forge)
    model: Model = field(factory=Model)
    excuses: Excuses = field(factory=Excuses)
    simulation: Simulation = field(init=False)
    observer: Observer = field(init=False)

    def __attrs_post_init__(self) -> None:
        for plugin_id in PLUGINS:
            self.forge.publish(plugin_id, 0, 0, NOW)
        root = Path(tempfile.mkdtemp(prefix="model-", dir=IN_MEMORY))
        self.simulation = Simulation(root, self.forge)
        self.simulation.start()
        self.observer = Observer(self.simulation)

    def close(self) -> None:
        self.simulation.close()

    # Steps.

    def ask(
        self,
        asks: Sequence[Ask],
        seed: int = 0,
        mood: str = "confirm",
        plan: Plan | None = None,
        leaving: Sequence[int] = (),
    ) -> None:
        """
        Let pages ask, and wait for the answers.

        :param seed: Decides in which order things happen.
        :param plan: Fails calls; for one that kills there is ``kill``.
        :param leaving: The pages that go once they have asked.
        """
        self._begin(mood)
        now, answers = self.simulation.now, self._asked(asks, seed, plan, leaving)
        awaited = {n for n, ask in enumerate(asks) if ask.page not in leaving}
        missing = awaited - {answer.number for answer in answers}
        expect(not missing, "not answered:", [asks[n] for n in missing])
        if plan is None or not plan.failures:
            self._check_answers(asks, answers, now, mood)
        self._follow(asks, answers, plan)

    def kill(
        self, asks: Sequence[Ask], seed: int, plan: Plan, again: Plan | None = None
    ) -> None:
        """
        Kill the daemon while it carries requests out, and start another one.

        :param again: Kills that start, or fails calls of it; then comes a third one.
        """
        self._begin("confirm")

        def work(report: Callable[[Any], None]) -> None:
            def answered(one: Answer) -> None:
                report([one.number, one.outcome, one.result])

            self._asked(asks, seed, plan, (), answered)

        answers = [Answer(*fields) for fields in in_a_child(work, plan)]
        self.simulation.forget()
        self._start(asks, answers, again)

    def restart(self, plan: Plan | None = None) -> None:
        """
        End the daemon properly, and start another one.

        :param plan: See ``kill``, where it is ``again``.
        """
        self.simulation.errors.clear()
        self.simulation.stop()
        expect(not self.simulation.errors, self.simulation.errors)
        self._start([], [], plan)

    def jump(self, seconds: float) -> None:
        self._begin("confirm")
        self.simulation.jump(seconds)
        self.simulation.run(lambda: True, lambda: None)
        self._follow([], [], None)

    def aimed(self, ask: Ask) -> Ask:
        """Turn an operation into one that makes sense."""
        if ask.what in OPERATIONS:
            if ask.target not in self.model.installed:
                return evolve(ask, what="install")
            if ask.what == "install":
                return evolve(ask, what="update")
        return ask

    # Requests and answers.

    def _begin(self, mood: str) -> None:
        self.observer.connect()
        self.simulation.user.mood = mood
        self.simulation.errors.clear()

    def _asked(
        self,
        asks: Sequence[Ask],
        seed: int,
        plan: Plan | None,
        leaving: Sequence[int],
        report: Callable[[Answer], None] = lambda answer: None,
    ) -> list[Answer]:
        """Send requests, and do all the work; return the answers in their order."""
        self.simulation.schedule.choose = Random(seed)  # noqa: S311
        answers: list[Answer] = []

        def receive() -> None:
            for answer in self.observer.received():
                answers.append(answer)
                report(answer)

        with going_wrong(plan):
            for number, ask in enumerate(asks):
                page = self.observer.pages[ask.page]
                page.send({"type": "request", "id": str(number), **ask.frame()})
            for left in leaving:
                self.observer.leave(left)
            awaited = sum(ask.page not in leaving for ask in asks)
            self.simulation.run(lambda: len(answers) >= awaited, receive)
        return answers

    def _check_answers(
        self, asks: Sequence[Ask], answers: Sequence[Answer], now: float, mood: str
    ) -> None:
        """Check each answer to a request that no other one interferes with."""
        busy = [ask.target for ask in asks if ask.what in OPERATIONS]
        forgets = any(ask.what == "forget" for ask in asks)
        for answer in answers:
            ask = asks[answer.number]
            if not ask.is_setting and (
                (forgets and (busy or len(asks) > 1)) or busy.count(ask.target) > 1
            ):
                continue
            allowed = self.model.allowed(ask, self.forge, now, mood)
            expect(answer.outcome in allowed, ask, answer, "is none of", allowed)

    # What has become of them.

    def _follow(
        self,
        asks: Sequence[Ask],
        answers: Sequence[Answer],
        plan: Plan | None,
        *,
        killed: bool = False,
    ) -> None:
        """Let the model follow what is found, if it is one of what may be found."""
        found = self.observer.found(self.model)
        failed = plan is not None and plan.failures > 0
        # What one write changes is there if the file has it, also when its durability
        # was not known and it was refused.
        known = [
            one
            for one in answers
            if one.is_ok or not (failed and asks[one.number].is_one_write)
        ]
        candidates = list(self.model.after(asks, known, self.forge, killed))
        if found not in candidates and (failed or self.observer.unsettled):
            # The file may have other marks than memory has, and no page can read them.
            fitting = [
                one for one in candidates if one == evolve(found, marks=one.marks)
            ]
            found.marks = fitting[0].marks if fitting else found.marks
        expect(
            found in candidates,
            f"found {found}\n  after {asks}\n  answered {answers}\n  instead of",
            *(f"\n    {one}" for one in candidates[:8]),
        )
        self._note_failures(asks, answers, plan)
        self.model = found
        self.observer.check(found, self.excuses)

    def _note_failures(
        self, asks: Sequence[Ask], answers: Sequence[Answer], plan: Plan | None
    ) -> None:
        if plan is not None and plan.failures:
            self.excuses.stale = self.excuses.litter = True
            return
        for answer in answers:
            ask = asks[answer.number]
            built = ask.what == "build" and answer.result["ok"]
            if answer.outcome == OK and (built or ask.what in ("install", "update")):
                self.excuses.stale = False

    # Starts.

    def _start(
        self, asks: Sequence[Ask], answers: Sequence[Answer], plan: Plan | None
    ) -> None:
        self.observer.pages = [None] * PAGES
        if plan is not None:
            self._start_badly(plan)
        self.simulation.errors.clear()
        self._run_a_start()
        expect(not self.observer.unsettled, "the journal stays after a start")
        self.excuses = Excuses()
        self._follow(asks, answers, None, killed=True)

    def _start_badly(self, plan: Plan) -> None:
        def work(report: Callable[[Any], None]) -> None:
            try:
                self._run_a_start()
            except UserError as e:
                expect(plan.failures, "the daemon does not start:", e)
            report(plan.failures)

        # Also one that only fails: what it leaves open is closed by its end.
        if any(in_a_child(work, plan)):
            self.excuses.stale = True

    def _run_a_start(self) -> None:
        self.simulation.schedule.choose = Random(0)  # noqa: S311
        self.simulation.start()
        self.simulation.run(lambda: not self.observer.unsettled, lambda: None)
