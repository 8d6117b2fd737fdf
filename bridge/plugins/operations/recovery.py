"""Recovery at the start, after a daemon was killed during an operation."""

from __future__ import annotations

from attrs import define, frozen

from ...approval import Operation
from ..installed.exchange import Exchange
from ..installed.ids import Entries
from ..installed.journal import Journal, JournalError
from ..installed.trees import Trees
from .change import Change
from .underway.operations import Operations
from .underway.running import Running


@frozen
class Recovered:
    """
    An interrupted operation, and its outcome.

    :ivar finished: Whether the operation was finished; else it was rolled back.
    """

    exchange: Exchange
    finished: bool

    @property
    def notice(self) -> str:
        """The text for the operator."""
        became = "finished" if self.finished else "rolled back"
        return (
            f"the {self.exchange.op} of {self.exchange.plugin_id} was interrupted, and "
            f"was {became}; the bundle is built again"
        )


def recover(journal: Journal, store: Entries, trees: Trees) -> Recovered | None:
    """
    Restore either the old or the new set completely.  Blocks.

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
    if interrupted is None:
        trees.sweep()
        return None
    # Until the bundle is built with the new tree, the old one may be wanted back.
    trees.sweep(interrupted.old if interrupted.is_to_be_built(store) else None)
    return Recovered(interrupted, interrupted.is_recorded(store))


@define(eq=False)
class RecoveredBuild:
    """Finishes an interrupted operation, whose bundle is still to be built."""

    _operations: Operations
    _change: Change

    def begin(self, recovered: Recovered) -> None:
        """Build in the background; the outcome is pushed and logged."""
        exchange = recovered.exchange
        op = Operation(exchange.op)
        plugin_id = None if op == Operation.INSTALL else exchange.plugin_id

        async def body(running: Running) -> None:
            await running.hold(self._operations.plugin_lock(exchange.plugin_id))
            await running.hold(self._operations.commit_lock)
            running.commit()
            await self._change.resume(running, exchange)

        self._operations.run(op, plugin_id, body).addErrback(lambda _: None)
