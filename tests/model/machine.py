"""The steps, for hypothesis to choose."""

import errno
from typing import Final

from attrs import frozen
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from ..disk import Plan
from .driver import Driver
from .expected import OPERATIONS, Ask
from .observing import PAGES
from .published import KEYS, NAMESPACES, PLUGINS

HOUR: Final = 3600.0
COSTS: Final = {"install": 47, "update": 47, "uninstall": 34, "build": 20}
"""How many file-system calls each makes; what is not here makes 6."""
START_COST: Final = 12


@frozen
class Trouble:
    """
    A plan for whatever comes.

    :ivar percent: How much of it is done before calls go wrong.
    """

    percent: int
    count: int = 1
    number: int | None = None

    def plan(self, cost: int) -> Plan:
        """Make a plan for something that makes so many calls."""
        return Plan(self.percent * cost // 100, self.count, self.number)


@frozen
class News:
    """
    A version to publish.

    :ivar step: How much higher than the latest one it is.
    :ivar later: Seconds from the time at which it is published.
    """

    plugin_id: str
    step: int
    author: int
    later: int
    is_broken: bool


moods = st.sampled_from(("confirm",) * 6 + ("deny", "away"))
seeds = st.integers(0, 2**16)
pages = st.integers(0, PAGES - 1)
percents = st.integers(0, 100)
plugins = st.sampled_from(PLUGINS)
jumps = st.sampled_from((-24 * HOUR, -HOUR, -30.0, 30.0, HOUR, 24 * HOUR, 8760 * HOUR))

news = st.builds(
    News,
    plugins,
    st.sampled_from((1, 1, 1, 0, -1)),
    st.sampled_from((0, 0, 1)),
    st.sampled_from((0, 0, 0, 1, 300, -2000, 2000)),
    st.sampled_from((False, False, False, True)),
)
settings = st.builds(
    Ask,
    what=st.sampled_from(("set", "set", "delete")),
    target=st.sampled_from(NAMESPACES),
    key=st.sampled_from("xy"),
    value=st.one_of(st.none(), st.integers(0, 9), st.text("ab", max_size=3)),
    page=pages,
)
operations = st.builds(
    Ask, what=st.sampled_from(OPERATIONS), target=plugins, page=pages
)
others = st.one_of(
    st.builds(Ask, what=st.just("build"), page=pages),
    st.builds(Ask, what=st.just("forget"), target=st.sampled_from(KEYS), page=pages),
)
requests = st.lists(
    st.one_of(operations, operations, operations, settings, settings, others),
    min_size=1,
    max_size=4,
)
failures = st.builds(
    Trouble,
    percents,
    st.sampled_from((1, 1, 2, 3, 10, 10_000)),
    st.sampled_from((errno.ENOSPC, errno.EIO)),
)
kills = st.builds(Trouble, percents)


class BridgeMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.driver = Driver()

    def teardown(self) -> None:
        self.driver.close()

    def _prepared(self, asks: list[Ask], aim: bool, found: News | None) -> list[Ask]:
        """Publish what is new, and leave out requests that nobody could predict."""
        if found is not None:
            self._publish(found)
        if aim:
            asks = [self.driver.aimed(ask) for ask in asks]
        # Whether such a setting survives depends on which of the two is faster.
        busy = {f"plugin:{ask.target}" for ask in asks if ask.what in OPERATIONS}
        return [ask for ask in asks if not (ask.is_setting and ask.target in busy)]

    def _publish(self, found: News) -> None:
        latest = self.driver.forge.latest[found.plugin_id]
        self.driver.forge.publish(
            found.plugin_id,
            max(0, latest.number + found.step),
            found.author,
            int(self.driver.simulation.now) + found.later,
            is_broken=found.is_broken,
        )

    @rule(
        asks=requests,
        seed=seeds,
        mood=moods,
        leaving=st.sampled_from(((), (), (), (0,), (0, 1))),
        aim=st.booleans(),
        found=st.one_of(st.none(), news),
    )
    def ask(self, asks, seed, mood, leaving, aim, found):
        """Ask for something, on several pages at once."""
        asks = self._prepared(asks, aim, found)
        self.driver.ask(asks, seed, mood, None, leaving)

    @rule(asks=requests, seed=seeds, trouble=failures, found=st.one_of(st.none(), news))
    def ask_a_failing_disk(self, asks, seed, trouble, found):
        """Ask while the disk is full, or broken."""
        asks = self._prepared(asks, True, found)
        self.driver.ask(asks, seed, "confirm", trouble.plan(_cost(asks)))

    @rule(
        asks=requests,
        seed=seeds,
        trouble=kills,
        again=st.one_of(st.none(), st.none(), kills, failures),
        found=st.one_of(st.none(), news),
    )
    def kill(self, asks, seed, trouble, again, found):
        """Kill the daemon while it works, and perhaps the next one as it starts."""
        asks = self._prepared(asks, True, found)
        next_plan = None if again is None else again.plan(START_COST + COSTS["build"])
        plan = trouble.plan(_cost(asks))
        self.driver.kill(asks, seed, plan, next_plan)

    @rule(trouble=st.one_of(st.none(), st.none(), kills, failures))
    def restart(self, trouble: Trouble | None) -> None:
        """End the daemon, and start another one."""
        self.driver.restart(None if trouble is None else trouble.plan(START_COST))

    @rule(seconds=jumps)
    def jump(self, seconds: float) -> None:
        self.driver.jump(seconds)


def _cost(asks: list[Ask]) -> int:
    return sum(COSTS.get(ask.what, 6) for ask in asks)
