"""
Replaces one plugin's tree by another one, or by none.

::

                    do                          undo
    plugins/<id>    the new tree, or nothing    the old tree, or nothing
    plugins/<new>   -                           the new tree
    plugins/<old>   the old tree                -

Both are a few renames, and both continue wherever a crash ended either of them: the
names in place show what is still to be done.

The journal says for the next start which exchange is under way.  It is there from
before the first rename until the bundle is built; while it is, an install or an update
has not happened.  See docs/decisions/0085.  Everything here blocks.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final

from attrs import field

from ...classes import frozen
from ...datadir.ownership import NotOwnError, check
from ...datadir.paths import write_atomically
from ...protocol.errors import BridgeError, UserError
from ...protocol.limits import JOURNAL_BYTES
from ...protocol.steps import Operation
from ...protocol.strictjson import dumps, loads_unique
from ...protocol.text import PLUGIN_ID
from ...protocol.wire import one_of, string, structure, unstructure
from ...store.state import Edit
from ...store.store import Store
from ...system.files import read_bounded, sync_directory, sync_files
from .records import KEYS, RECORDS, Entries, Former
from .trees import Trees

_OPERATIONS: Final = (Operation.INSTALL, Operation.UPDATE, Operation.UNINSTALL)
_TEMPORARY: Final = string(64, like=r"\.tmp-[0-9a-f]+")


@frozen
class Exchange:
    """
    What an operation does to the tree of one plugin.

    :ivar op: An ``Operation``.
    :ivar new: The name of the clone that takes the place; ``None`` when none does.
    :ivar old: The name the tree in place is given; ``None`` when there is none.
    :ivar record: What the state holds of the plugin afterwards; ``None`` when that
        is nothing.
    :ivar before: What the operation changes of the state, as it was.
    """

    op: Annotated[str, one_of(_OPERATIONS)]
    plugin_id: Annotated[str, string(40, like=PLUGIN_ID)]
    new: Annotated[str, _TEMPORARY] | None
    old: Annotated[str, _TEMPORARY] | None
    record: dict[str, Any] | None
    before: list[Former] = field(factory=list)

    def is_recorded(self, store: Entries) -> bool:
        """Whether the state is the one afterwards."""
        records = store.entries(RECORDS)
        if self.record is None:
            return self.plugin_id not in records
        return records.get(self.plugin_id) == self.record

    def is_done(self, store: Entries) -> bool:
        """
        Whether it has happened although its journal is still there.

        An uninstall has when the state has no record; what puts a tree in place has
        happened when the journal is gone, after the build.
        """
        return self.new is None and self.is_recorded(store)

    def rollback_edits(self, store: Entries) -> list[Edit]:
        """
        Return the edits that restore the state; a forgotten key stays forgotten.

        :return: None when the state is not the one afterwards.
        """
        if not self.is_recorded(store):
            return []
        keys = store.entries(KEYS)
        return [
            former.edit()
            for former in self.before
            if former.ns != KEYS or former.key in keys
        ]

    def take_back(self, store: Store) -> None:
        """Let nothing of it be read from now on; see ``Store.insist``."""
        store.insist(self.rollback_edits(store)).addErrback(lambda _: None)

    def do(self, directory: Path) -> None:
        """
        Put the new tree in place; durable when this returns.

        :raise FileExistsError: Something else is in the way.
        :raise OSError: It could not be done; ``undo`` reverts what was.
        """
        self._replace(directory, self.old, self.new)

    def undo(self, directory: Path) -> None:
        """
        Put the old tree back; durable when this returns.

        :raise FileExistsError: Something else is in the way.
        :raise OSError: It could not be done.
        """
        self._replace(directory, self.new, self.old)

    def _replace(self, directory: Path, out: str | None, back: str | None) -> None:
        """Give the tree in place the name ``out``, and put ``back`` there."""
        place = directory / self.plugin_id
        if back is None or os.path.lexists(directory / back):
            if out is not None and not os.path.lexists(directory / out):
                _move(place, directory / out)
            if back is not None:
                _move(directory / back, place)
        sync_directory(directory)


def _move(source: Path, target: Path) -> None:
    """Rename ``source`` if it exists."""
    if not os.path.lexists(source):
        return
    if os.path.lexists(target):  # renaming would replace an empty directory
        raise FileExistsError
    os.rename(source, target)


def make_durable(root: Path) -> None:
    """
    Make every file and name in a tree survive a power loss.

    :param root: A clone: nothing in it but directories and regular files.
    """
    folders = []
    files: list[str] = []
    for folder, _, names in os.walk(root):
        folders.append(folder)
        files += [os.path.join(folder, name) for name in names]
    sync_files(files, folders)


class JournalError(UserError):
    """The journal can't be used; the message names the reason and the fix."""


@frozen
class Journal:
    """The file that records the one operation under way."""

    _path: Path

    def begin(self, exchange: Exchange) -> None:
        """
        Record what is done next; durable when this returns.

        :raise OSError: It could not be written.
        """
        write_atomically(self._path, dumps(unstructure(exchange)))

    def end(self) -> None:
        """
        Remove the record; durable when this returns.

        :raise OSError: It could not be removed.
        """
        with suppress(FileNotFoundError):
            os.unlink(self._path)
            sync_directory(self._path.parent)

    def exists(self) -> bool:
        """
        Whether an operation is under way, or was interrupted.

        :raise OSError: That can't be seen, which ``Path.exists`` may take for no.
        """
        try:
            os.lstat(self._path)
        except FileNotFoundError:
            return False
        return True

    def read(self) -> Exchange | None:
        """
        Return the operation that was under way; ``None`` when none was.

        :raise JournalError: It can't be read, or not by this version, or another user
            may have written it.
        """
        try:
            check(self._path)
            content = read_bounded(self._path, JOURNAL_BYTES)
            return structure(loads_unique(content), Exchange)
        except FileNotFoundError:
            return None
        except NotOwnError as e:
            raise JournalError(str(e)) from None
        except PermissionError as e:
            raise JournalError(f"{self._path} cannot be read: {e.strerror}") from None
        except (OSError, BridgeError):
            raise JournalError(
                f"{self._path} is not a journal of this version; look what is in "
                "plugins/, then remove it"
            ) from None

    def tidy(self) -> None:
        """
        Remove what a crash left while the journal was being written.

        :raise JournalError: It can't be removed.
        """
        left = self._path.with_name(self._path.name + ".tmp")
        try:
            left.unlink(missing_ok=True)
        except OSError as e:
            raise JournalError(f"{left} cannot be removed: {e.strerror}") from None


def recover(journal: Journal, store: Store, trees: Trees) -> Exchange | None:
    """
    Restore either the old or the new set completely.  Blocks.

    What can be read is that set when this returns.  The journal stays: the bundle is
    still to be built.  Doing all of it again, after another crash, comes to the same.

    :return: What was under way; ``None`` when nothing was, or only a state that is lost
        knew whether it has happened: then the tree is left in place.
    :raise JournalError: It can't be understood, or the trees can't be moved.  They
        are as they were, and nothing was removed.
    """
    journal.tidy()
    exchange = journal.read()
    if exchange is not None:
        done = exchange.is_done(store)
        is_lost = store.is_new and done
        try:
            move = exchange.do if done and not is_lost else exchange.undo
            move(trees.directory)
            if is_lost:
                journal.end()
        except OSError as e:
            raise JournalError(
                f"the interrupted {exchange.op} of {exchange.plugin_id} cannot be "
                f"settled: {e.strerror or 'something is in the way in plugins/'}"
            ) from None
        if is_lost:
            exchange = None
        elif not done:
            # Also when the state was restored, as its previous generation may not be.
            exchange.take_back(store)
    trees.sweep()
    return exchange


def notice_of(exchange: Exchange, store: Store) -> str:
    """Return the text for the operator about an operation that was recovered."""
    became = "finished" if exchange.is_done(store) else "rolled back"
    return (
        f"the {exchange.op} of {exchange.plugin_id} was interrupted, and was {became}; "
        "the bundle is built again"
    )
