"""Real reactors for tests of what runs one."""

import signal
from typing import Any

from twisted.internet import reactor as running
from twisted.internet.selectreactor import SelectReactor
from twisted.trial.unittest import SynchronousTestCase

reactor: Any = running
"""The global one, which provides more interfaces than its type says."""


class BriefReactor(SelectReactor):
    """
    A reactor of its own for one test, which runs in a test that does not wait.

    It leaves signals, and the thread for input and output, to the global reactor.
    """

    def __init__(self) -> None:
        super().__init__()
        self._registerAsIOThread = False

    def run(self, installSignalHandlers: bool = False) -> None:
        """See ``IReactorCore``; no signal handler is installed."""
        super().run(installSignalHandlers=False)

    def close(self) -> None:
        for call in self.getDelayedCalls():
            call.cancel()
        for reader in list(self._internalReaders):
            self._removeInternalReader(reader)
            reader.connectionLost(None)


def brief_reactor(test: SynchronousTestCase) -> Any:
    """Make a reactor that can run once, and is closed after the test."""
    made = BriefReactor()
    test.addCleanup(made.close)
    for number in (signal.SIGINT, signal.SIGTERM):
        test.addCleanup(signal.signal, number, signal.getsignal(number))
    return made
