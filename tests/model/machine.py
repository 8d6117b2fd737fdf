"""The steps, for hypothesis to choose."""

from __future__ import annotations

import errno
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from .disk import Plan
from .driver import PAGES, Driver
from .expected import OPERATIONS, Ask
from .published import KEYS, NAMESPACES, PLUGINS

HOUR: Final = 3600.0
CALLS: Final = 60
"""More file-system calls than most operations make."""

plugins = st.sampled_from(PLUGINS)
moods = st.sampled_from(("confirm", "confirm", "confirm", "deny", "away"))
seeds = st.integers(0, 2**16)
pages = st.integers(0, PAGES - 1)
calls = st.integers(0, CALLS)
values = st.one_of(st.none(), st.integers(0, 9), st.text("ab", max_size=3))
jumps = st.sampled_from((-24 * HOUR, -HOUR, -30.0, 30.0, HOUR, 24 * HOUR, 8760 * HOUR))

settings = st.builds(
    Ask,
    what=st.sampled_from(("set", "set", "delete")),
    target=st.sampled_from(NAMESPACES),
    key=st.sampled_from("xy"),
    value=values,
    page=pages,
)
operations = st.builds(
    Ask, what=st.sampled_from(OPERATIONS), target=plugins, page=pages
)
others = st.one_of(
    st.builds(Ask, what=st.just("build"), page=pages),
    st.builds(Ask, what=st.just("forget"), target=st.sampled_from(KEYS), page=pages),
)


def _apart(asks: list[Ask]) -> list[Ask]:
    """Leave out what changes the settings of a plugin that is operated on."""
    busy = {f"plugin:{ask.target}" for ask in asks if ask.what in OPERATIONS}
    return [ask for ask in asks if not (ask.is_setting and ask.target in busy)]


requests = st.lists(
    st.one_of(operations, operations, settings, others), min_size=1, max_size=4
).map(_apart)
failures = st.builds(
    Plan,
    calls,
    st.sampled_from((1, 1, 2, 3, 10, 10_000)),
    st.sampled_from((errno.ENOSPC, errno.EIO)),
)
kills = st.builds(Plan, calls)


class BridgeMachine(RuleBasedStateMachine):
    """Drives one daemon."""

    def __init__(self) -> None:
        super().__init__()
        self.driver = Driver()

    def teardown(self) -> None:
        """End it."""
        self.driver.close()

    @rule(
        plugin_id=plugins,
        number=st.integers(0, 3),
        author=st.integers(0, 1),
        later=st.sampled_from((-2000, 0, 0, 1, 50, 2000)),
        is_broken=st.sampled_from((False, False, False, True)),
    )
    def publish(
        self, plugin_id: str, number: int, author: int, later: int, is_broken: bool
    ) -> None:
        """Publish a version."""
        at = int(self.driver.simulation.now) + later
        self.driver.publish(plugin_id, number, author, at, is_broken=is_broken)

    @rule(
        asks=requests,
        seed=seeds,
        mood=moods,
        leaving=st.sampled_from(((), (), (), (0,), (0, 1))),
    )
    def ask(self, asks: list[Ask], seed: int, mood: str, leaving: Any) -> None:
        """Ask for something, on several pages at once."""
        self.driver.ask(asks, seed, mood, None, leaving)

    @rule(asks=requests, seed=seeds, mood=moods, plan=failures)
    def ask_a_failing_disk(
        self, asks: list[Ask], seed: int, mood: str, plan: Plan
    ) -> None:
        """Ask while the disk is full or broken."""
        self.driver.ask(asks, seed, mood, plan)

    @rule(
        asks=requests,
        seed=seeds,
        mood=moods,
        plan=kills,
        again=st.one_of(st.none(), st.none(), kills, failures),
    )
    def kill(
        self, asks: list[Ask], seed: int, mood: str, plan: Plan, again: Plan | None
    ) -> None:
        """Kill the daemon while it works, and perhaps the next one as it starts."""
        self.driver.kill(asks, seed, mood, plan, again)

    @rule(plan=st.one_of(st.none(), st.none(), kills, failures))
    def restart(self, plan: Plan | None) -> None:
        """Start another daemon after this one has ended."""
        self.driver.restart(plan)

    @rule(plan=st.one_of(st.none(), kills, failures))
    def rotate(self, plan: Plan | None) -> None:
        """Replace the token."""
        self.driver.rotate(plan)

    @rule(seconds=jumps)
    def jump(self, seconds: float) -> None:
        """Set the clock of the system."""
        self.driver.jump(seconds)
