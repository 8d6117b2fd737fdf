from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred, fail, succeed
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bridge.concurrency.coroutines import run

STEPS = st.lists(
    st.sampled_from(["done", "failed", "later", "fails later", "cancelled"])
)


class RunTests(SynchronousTestCase):
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
        self.seen.append(repr(failure.value))

    def end(self) -> None:
        """Let come what comes later, as far as it is waited for."""
        for at, step in enumerate(self.steps):
            if at not in self.later:
                continue
            if step == "later":
                self.later[at].callback(2)
            elif step == "fails later":
                self.later[at].errback(ValueError())
            elif step == "cancelled":
                self.later[at].cancel()
