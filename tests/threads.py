"""
A double for threads; ``tests/test_threads.py`` compares it with real ones.

Where nothing is held up and nothing fails, Twisted's ``execute`` calls at once.
"""

from collections.abc import Callable
from typing import Any

from attrs import define, field
from twisted.internet.defer import Deferred, execute, fail


@define(eq=False)
class Threads:
    """
    An ``InThread`` that a test can hold up, or make fail, at a named function.

    :ivar failing: What calls of a function fail with, by the function's name.
    :ivar slow: The name of the function whose calls wait for ``go_on``.
    :ivar before: What to do once before a function is called, by its name.
    """

    failing: dict[str, Exception] = field(factory=dict)
    slow: str | None = None
    waiting: list[Callable[[], object]] = field(factory=list)
    before: dict[str, Callable[[], object]] = field(factory=dict)

    def __call__(self, call: Callable[..., Any], *arguments: Any) -> Deferred[Any]:
        name = call.__name__
        self.before.pop(name, lambda: None)()
        if name in self.failing:
            return fail(self.failing[name])
        if name == self.slow:
            later: Deferred[Any] = Deferred()
            self.waiting.append(lambda: execute(call, *arguments).chainDeferred(later))
            return later
        return execute(call, *arguments)

    def step(self) -> None:
        """Let the only call run that is held up; what it begins is held up, too."""
        [one] = self.waiting
        self.waiting = []
        one()

    def go_on(self) -> None:
        self.slow = None
        waiting, self.waiting = self.waiting, []
        for one in waiting:
            one()
