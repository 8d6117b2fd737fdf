"""What a start does after a daemon that was killed in the middle of an operation."""

from __future__ import annotations

from typing import ClassVar

from attrs import define, frozen
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ..protocol.errors import BridgeError
from ..store.store import InThread
from .exchange import Exchange
from .journal import Journal, JournalError
from .operations import Operations
from .rebuild import Rebuild
from .records import Entries
from .trees import Trees


@frozen
class Recovered:
    """
    What was found.

    :ivar finished: Whether the operation was finished; else it was taken back.
    """

    exchange: Exchange
    finished: bool

    @property
    def notice(self) -> str:
        """What the operator should know."""
        became = "finished" if self.finished else "taken back"
        return (
            f"the {self.exchange.op} of {self.exchange.plugin_id} was interrupted, and "
            f"is {became}; the bundle is built anew"
        )


def recover(journal: Journal, store: Entries, trees: Trees) -> Recovered | None:
    """
    Have either the old or the new set, whole, and nothing else.  Blocks.

    Records, keys, marks and settings changed at one instant, in the state file; only
    the trees may be behind it.  The journal stays: the bundle is still to be built.
    Doing all of it again, after another crash, comes to the same.

    :return: What was under way; ``None`` when nothing was.
    :raise JournalError: It can't be understood, or the trees can't be moved.  They
        are as they were, and nothing was removed.
    """
    journal.tidy()
    interrupted = journal.read()
    if interrupted is not None:
        try:
            interrupted.settling(store)(trees.directory)
        except OSError as e:
            raise JournalError(
                f"the interrupted {interrupted.op} of {interrupted.plugin_id} cannot "
                f"be settled: {e.strerror or 'something is in the way in plugins/'}"
            ) from None
    trees.sweep()
    if interrupted is None:
        return None
    return Recovered(interrupted, interrupted.is_recorded(store))


@define(eq=False)
class RecoveredBuild:
    """Builds the bundle that an interrupted operation did not come to build."""

    _operations: Operations
    _rebuild: Rebuild
    _journal: Journal
    _in_thread: InThread

    _log: ClassVar[Logger] = Logger()

    def begin(self) -> None:
        """Build in the background; a failed build is told by its report."""
        Deferred.fromCoroutine(self._build())

    async def _build(self) -> None:
        # The journal is this one's until the lock is released.
        await self._operations.commit_lock.acquire()
        try:
            report = await self._rebuild.run()
            for line in report.errors:
                self._log.warn("building after an interruption: {line}", line=line)
            await self._in_thread(self._journal.end)
        except (BridgeError, OSError):
            self._log.failure("there was no build after an interruption")
        finally:
            self._operations.commit_lock.release()
