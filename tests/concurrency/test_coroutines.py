"""Tests for bridge.concurrency.coroutines."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import CancelledError, Deferred, fail, succeed
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bridge.concurrency.coroutines import run

STEPS = st.lists(st.sampled_from(["done", "failed", "later", "fails later"]))


class RunTests(SynchronousTestCase):
    """Runs, and what they end with."""

    def setUp(self) -> None:
        """Note how they end."""
        self.done: list[Any] = []
        self.failed: list[Failure] = []

    def run_it(self, coroutine: Any) -> None:
        """Run a coroutine."""
        run(coroutine, self.done.append, self.failed.append)

    def test_at_once(self) -> None:
        """One that never waits is done when ``run`` returns."""

        async def answer() -> int:
            return await succeed(3) + 4

        self.run_it(answer())
        self.assertEqual((self.done, self.failed), ([7], []))

    def test_raises_at_once(self) -> None:
        """Its exception is a failure."""

        async def refuse() -> None:
            raise ValueError

        self.run_it(refuse())
        self.assertEqual(self.done, [])
        self.failed[0].trap(ValueError)

    def test_waits_twice(self) -> None:
        """It goes on where it waits, with each result."""
        one: Deferred[int] = Deferred()
        other: Deferred[int] = Deferred()

        async def add() -> int:
            return await one + await other

        self.run_it(add())
        one.callback(1)
        self.assertEqual(self.done, [])
        other.callback(2)
        self.assertEqual((self.done, self.failed), ([3], []))

    def test_catches_a_failure(self) -> None:
        """What it waits for fails where it waits."""
        waited: Deferred[int] = Deferred()

        async def careful() -> str:
            try:
                await waited
            except ValueError:
                return "caught"
            return "not"

        self.run_it(careful())
        waited.errback(ValueError())
        self.assertEqual((self.done, self.failed), (["caught"], []))

    def test_cancelled(self) -> None:
        """A cancelled wait ends it, and is not an error without a reader."""
        waited: Deferred[int] = Deferred()

        async def wait() -> int:
            return await waited

        self.run_it(wait())
        waited.cancel()
        self.failed[0].trap(CancelledError)

    @given(STEPS)
    def test_as_a_deferred_does(self, steps: list[str]) -> None:
        """Whatever it waits for, it ends as Twisted's own coroutines do."""
        ours, theirs = Waits(steps), Waits(steps)
        run(ours.add_up(), ours.seen.append, ours.failed)
        twisted = Deferred.fromCoroutine(theirs.add_up())
        twisted.addCallbacks(theirs.seen.append, theirs.failed)
        ours.end()
        theirs.end()
        self.assertEqual(ours.seen, theirs.seen)


class Waits:
    """A coroutine that waits for one thing after another, and what it meets."""

    def __init__(self, steps: list[str]) -> None:
        """Take the steps: whether each is there or later, and whether it fails."""
        self.steps = steps
        self.later: dict[int, Deferred[int]] = {}
        self.seen: list[Any] = []

    async def add_up(self) -> int:
        """Wait for each; fail at the end for some numbers of steps."""
        count = 0
        for at, step in enumerate(self.steps):
            try:
                count += await self._waited(at, step)
            except ValueError:
                self.seen.append(step)
        if len(self.steps) % 3 == 2:
            raise KeyError(count)
        return count

    def _waited(self, at: int, step: str) -> Deferred[int]:
        if step == "done":
            return succeed(1)
        if step == "failed":
            return fail(ValueError())
        return self.later.setdefault(at, Deferred())

    def failed(self, failure: Failure) -> None:
        """Note how it failed."""
        self.seen.append(repr(failure.value))

    def end(self) -> None:
        """Let come what comes later."""
        for at, step in enumerate(self.steps):
            if step == "later":
                self.later[at].callback(2)
            elif step == "fails later":
                self.later[at].errback(ValueError())
