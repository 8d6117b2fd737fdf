"""
What is loaded once the daemon listens: in the background, or by its first use.

Loading is most of a start, and the first request comes later than that, as a rule.
"""

from __future__ import annotations

import importlib
import linecache
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, Generic, TypeVar

from attrs import define, field
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from ..protocol.errors import shutting_down

T = TypeVar("T")

# Who has waited for the daemon to listen, asks for its health first.
WARM_AFTER_SECONDS: Final = 0.1


@define(eq=False, repr=False)
class Late(Generic[T]):
    """
    Something that is made once, when it is first needed or when ``warm`` is done.

    :ivar modules: What ``make`` imports, in an order in which each takes milliseconds.
    :ivar make: Makes it.
    :ivar failed: Called when it can't be made in the background; logged already.
    :ivar begin: Called with it when it is made, before anyone else gets it.
    """

    _reactor: Any
    _modules: Sequence[str]
    _make: Callable[[], T]
    _failed: Callable[[], object]
    begin: Callable[[T], object] = field(default=lambda _: None, init=False)
    made: T | None = field(default=None, init=False)
    _next: IDelayedCall | None = field(default=None, init=False)
    _closed: bool = field(default=False, init=False)

    _log: ClassVar[Logger] = Logger(namespace="bridge")

    def get(self) -> T:
        """
        Return it; make it now if nobody has.  Blocks for as long as that takes.

        :raise BridgeError: It was never made, and the daemon shuts down.
        """
        if self.made is None:
            if self._closed:
                raise shutting_down()
            self.made = self._make()
            self._cancel()
            self.begin(self.made)
        return self.made

    def warm(self) -> None:
        """Begin to load it in the background, a moment from now."""
        self._next = self._reactor.callLater(WARM_AFTER_SECONDS, self._step, 0)

    def _step(self, step: int) -> None:
        """Import one module in this turn of the reactor; after the last, make it."""
        self._next = None
        try:
            if step < len(self._modules):
                importlib.import_module(self._modules[step])
                # attrs keeps the source of what it generates there, for tracebacks.
                linecache.clearcache()
                self._next = self._reactor.callLater(0, self._step, step + 1)
            else:
                self.get()
        except Exception:  # noqa: BLE001
            self._log.failure("the daemon could not be loaded")
            self._failed()

    def close(self) -> None:
        """Make it no more."""
        self._closed = True
        self._cancel()

    def _cancel(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None
