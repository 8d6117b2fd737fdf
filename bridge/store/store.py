"""The state store: commits share writes, and are answered when they are durable."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from attrs import field
from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import Logger

from ..classes import define
from ..concurrency.threads import InThread
from ..protocol.errors import BridgeError, Code, shutting_down
from .state import Edit, Generations, NotDurableError, Tables


@define(eq=False, repr=False)
class Store:
    """
    JSON values by namespace and key, kept in one file.

    A value can be read as soon as it is committed, before it is durable.  So a
    later commit may rest on an earlier one that is still being written, and when
    a write fails, every commit that is not durable yet is refused, and memory is
    then what the file holds: without them, or, when only their durability is not
    known, with those of that write.

    :ivar notice: What the operator should know of how the file was found, or
        ``None``.
    :ivar is_new: Whether nothing was loaded: there was no file, or both are damaged.
    :ivar _kept: What a write that fails goes back to: what is in the file, and what was
        insisted on.
    :ivar _insisted: What was insisted on since the last write began.
    :ivar _queue: The commits that no write has begun for; each fires when durable.
    """

    notice: str | None
    is_new: bool
    _file: Generations
    _in_thread: InThread
    _tables: Tables
    _kept: Tables = field(init=False)
    _insisted: list[Edit] = field(factory=list, init=False)
    _queue: list[Deferred[None]] = field(factory=list, init=False)
    _owed: int = field(default=0, init=False)
    """How many writes there have to be, even if nothing more is committed."""
    _closed: bool = field(default=False, init=False)
    _is_writing: bool = field(default=False, init=False)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        self._kept = self._tables

    @classmethod
    def open(cls, path: Path, in_thread: InThread) -> Store:
        """
        Read the file, and keep writing to it.  Blocks.

        A damaged file is set aside and the generation before it is used; see
        ``notice``.

        :param in_thread: Where writes happen, one at a time.
        :raise StoreError: See ``Generations.load``.
        """
        file = Generations(path)
        tables, notice = file.load()
        is_new = not (os.path.exists(path) or os.path.exists(file.previous))
        return cls(notice, is_new, file, in_thread, tables)

    def get(self, ns: str, key: str) -> Any | None:
        """Return one value, which must not be modified; ``None`` when there is none."""
        return self._tables.get(ns, key)

    def entries(self, ns: str) -> dict[str, Any]:
        """Return the values of a namespace by key; they must not be modified."""
        return self._tables.entries(ns)

    def commit(self, edits: Sequence[Edit]) -> Deferred[None]:
        """
        Make all the edits together, or none.

        :return: Fires when they are durable, and all that was made before them.
            Fails with ``BridgeError``: ``bad_request`` for a value that is not JSON
            or does not fit, ``internal`` for one of the daemon's own that does not,
            ``unavailable`` after ``close``; nothing of the edits is left then.
            ``internal`` when the file cannot be written: all that it does not hold
            was undone.
        """
        if self._closed:
            return fail(shutting_down())
        try:
            edited = self._tables.edited(edits)
        except BridgeError as refused:
            return fail(refused)
        is_new = edited is not self._tables
        self._tables = edited
        return self._enqueue(is_new=is_new)

    def insist(self, edits: Sequence[Edit]) -> Deferred[None]:
        """
        Make all the edits, whether or not they can be written now.

        They can be read from now on, and are in the file with whatever is written
        next.  No limit holds for them.

        :return: Fires when they are durable, and what was there instead is not in the
            previous generation either; fails as ``commit`` does.
        """
        self._tables = self._tables.edited(edits, limited=False)
        self._kept = self._kept.edited(edits, limited=False)
        if self._closed:
            return fail(shutting_down())
        self._insisted += edits
        self._owed = 2
        return self._enqueue()

    def close(self) -> Deferred[None]:
        """
        Accept no more commits.

        :return: Fires when all accepted commits are durable or refused.
        """
        self._closed = True
        return self._enqueue().addErrback(lambda _: None)

    def _enqueue(self, *, is_new: bool = False) -> Deferred[None]:
        # What changed nothing may still repeat what is not durable yet.
        if not (is_new or self._is_writing or self._owed):
            return succeed(None)
        durable: Deferred[None] = Deferred()
        self._queue.append(durable)
        if not self._is_writing:
            Deferred.fromCoroutine(self._write_all())
        return durable

    async def _write_all(self) -> None:
        """Write until every commit is answered, also those of who was answered."""
        self._is_writing = True
        try:
            while self._queue:
                await self._write_queue()
        finally:
            self._is_writing = False  # or nothing would ever be written again

    async def _write_queue(self) -> None:
        batch, self._queue = self._queue, []
        is_new = self._tables is not self._kept
        try:
            while is_new or self._owed:
                await self._write(batch)
                is_new = False
        except Exception as e:  # noqa: BLE001
            self._refuse([*batch, *self._queue], e)
        else:
            for durable in batch:
                durable.callback(None)

    async def _write(self, batch: list[Deferred[None]]) -> None:
        # This write has also what was committed during the one before.
        batch += self._queue
        self._queue = []
        tables, self._insisted = self._tables, []
        try:
            await self._in_thread(self._file.replace, tables.pieces())
        except NotDurableError:
            self._owed = max(self._owed, 1)
            self._keep(tables)
            raise
        if not self._insisted:  # or both writes that are owed are still to come
            self._owed = max(self._owed - 1, 0)
        self._keep(tables)

    def _keep(self, tables: Tables) -> None:
        """Note what a start would find in the file."""
        self._kept = tables.edited(self._insisted, limited=False)

    def _refuse(self, commits: list[Deferred[None]], error: Exception) -> None:
        self._queue = []
        why = error.message if isinstance(error, BridgeError) else type(error).__name__
        reason = getattr(error, "strerror", None) or why
        message = f"{self._file.path.name} could not be written: {reason}"
        self._log.error("{reason}", reason=message)
        self._tables = self._kept
        for durable in commits:
            durable.errback(BridgeError(Code.INTERNAL, message))
