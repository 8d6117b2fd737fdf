"""Rolls an operation back, step by step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

from attrs import define, field
from twisted.logger import Logger

from .faults import reason


@define(eq=False)
class Undo:
    """Rolls an operation back: the last effect first."""

    _steps: list[tuple[str, Callable[[], Awaitable[Any]]]] = field(factory=list)
    _afterwards: dict[str, Callable[[], Awaitable[Any]]] = field(factory=dict)

    _log: ClassVar[Logger] = Logger()

    def add(self, what: str, how: Callable[[], Awaitable[Any]]) -> None:
        """
        Add a step that undoes what is done next, or was just done.

        :param what: For the log, when ``how`` fails.
        """
        self._steps.append((what, how))

    def afterwards(self, what: str, how: Callable[[], Awaitable[Any]]) -> None:
        """
        Add a step that runs after everything was rolled back.

        It runs before those that were added earlier, and once for each name.
        """
        self._afterwards.setdefault(what, how)

    def discard(self, what: str) -> None:
        """Drop a step that was added, also while the others run."""
        self._steps = [step for step in self._steps if step[0] != what]

    def keep(self) -> None:
        """Drop all steps: what was done stays."""
        self._steps, self._afterwards = [], {}

    async def run(self) -> None:
        """Roll everything back; a step that fails is logged, and the rest goes on."""
        while self._steps:
            await self._run_step(*self._steps.pop())
        for what, how in reversed(self._afterwards.items()):
            await self._run_step(what, how)
        self.keep()

    async def _run_step(self, what: str, how: Callable[[], Awaitable[Any]]) -> None:
        try:
            await how()
        except Exception as e:  # noqa: BLE001
            if (why := reason(e)) is None:
                self._log.failure("undoing failed: {what}", what=what)
            else:
                self._log.error("undoing failed: {what}: {why}", what=what, why=why)
