"""The state store: commits share writes, and are answered when they are durable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from attrs import field
from twisted.internet.defer import Deferred, fail, maybeDeferred, succeed
from twisted.logger import Logger

from ..classes import define
from ..concurrency.singleflight import SingleFlight
from ..concurrency.threads import InThread
from ..datadir.ownership import NotOwnError
from ..protocol.errors import BridgeError, Code, shutting_down
from ..protocol.strictjson import dumps, loads_unique
from .generations import DamagedError, Generations, NotDurableError
from .tables import Edit, Snapshot, Tables, Undo, roll_back


class StoreError(Exception):
    """The state file cannot be used, and must not be overwritten."""


@define(eq=False, repr=False)
class _Commit:
    """
    Edits that are in memory, and in the file once ``done`` fires.

    :ivar undo: Empty when the edits changed nothing.
    :ivar lasting: The edits, when they stay even if they can't be written now.
    """

    undo: list[Undo] = field(factory=list)
    lasting: Sequence[Edit] = ()
    done: Deferred[None] = field(factory=Deferred)


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
    """

    notice: str | None
    _file: Generations
    _in_thread: InThread
    _tables: Tables
    _queue: list[_Commit] = field(factory=list)
    _owed: int = 0
    """How many writes there have to be, even if nothing more is committed."""
    _closed: bool = field(default=False, kw_only=True)
    _flight: SingleFlight = field(init=False)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        self._flight = SingleFlight("writing the state file", self._write_queue)

    @classmethod
    def open(cls, path: Path, in_thread: InThread) -> Store:
        """
        Read the file, and keep writing to it.  Blocks.

        A damaged file is set aside and the generation before it is used; see
        ``notice``.

        :param in_thread: Where writes happen, one at a time.
        :raise StoreError: The file has a shape this version does not know, another
            user may have written it, or nothing can be set aside or removed in its
            directory.
        """
        file = Generations(path)
        with _explained(path):
            tables, notice = file.load(partial(_tables, path))
        return cls(notice, file, in_thread, tables or Tables())

    @classmethod
    def view(cls, path: Path) -> Store:
        """
        Read the file as another process has left it, which may be running.  Blocks.

        :return: It can only be read.
        :raise StoreError: The file can't be read, or another user may have written
            it; starting the daemon repairs what it can.
        """
        file = Generations(path)
        with _explained(path):
            tables = file.peek(partial(_tables, path))
        return cls(None, file, maybeDeferred, tables or Tables(), closed=True)

    def get(self, ns: str, key: str) -> Any | None:
        """Return one value, which must not be modified; ``None`` when there is none."""
        return self._tables.get(ns, key)

    def entries(self, ns: str) -> dict[str, Any]:
        """Return the values of a namespace by key; they must not be modified."""
        return self._tables.entries(ns)

    def namespaces(self) -> list[str]:
        """Name every namespace that has a value, sorted."""
        return self._tables.names()

    def commit(self, edits: Sequence[Edit]) -> Deferred[None]:
        """
        Make all the edits together, or none.

        :return: Fires when they are durable, and all that was made before them.
            Fails with ``BridgeError``: ``bad_request`` for a value that is not JSON
            or does not fit, ``unavailable`` after ``close``; nothing of the edits is
            left then.  ``internal`` when the file cannot be written: all that it
            does not hold was undone.
        """
        if self._closed:
            return fail(shutting_down())
        try:
            commit = _Commit(self._tables.apply(edits))
        except BridgeError as refused:
            return fail(refused)
        return self._enqueue(commit)

    def insist(self, edits: Sequence[Edit]) -> Deferred[None]:
        """
        Make all the edits, whether or not they can be written now.

        They can be read from now on, and are in the file with whatever is written
        next.  No limit holds for them.

        :return: Fires when they are durable, and what was there instead is not in the
            previous generation either; fails as ``commit`` does.
        """
        commit = _Commit(self._tables.apply(edits, limited=False), edits)
        if self._closed:
            return fail(shutting_down())
        self._owed = 2
        return self._enqueue(commit)

    def close(self) -> Deferred[None]:
        """
        Accept no more commits.

        :return: Fires when all accepted commits are durable or refused.
        """
        self._closed = True
        return self._enqueue(_Commit()).addErrback(lambda _: None)

    def _enqueue(self, commit: _Commit) -> Deferred[None]:
        # What changed nothing may still repeat what is not durable yet.
        if not (commit.undo or self._flight.is_running or self._owed):
            return succeed(None)
        self._queue.append(commit)
        self._flight.ask()
        return commit.done

    async def _write_queue(self) -> None:
        batch, self._queue = self._queue, []
        if not batch:
            return  # they were answered with those before them
        try:
            while self._owed or any(commit.undo for commit in batch):
                await self._write(batch)
        except Exception as e:  # noqa: BLE001
            self._refuse([*batch, *self._queue], e)
        else:
            for commit in batch:
                commit.done.callback(None)

    async def _write(self, batch: list[_Commit]) -> None:
        # This write has also what was committed during the one before.
        batch += self._queue
        self._queue = []
        owed, self._owed = self._owed, max(self._owed - 1, 0)
        try:
            await self._in_thread(self._file.replace, _pieces(self._tables.snapshot()))
        except NotDurableError:
            self._owed = max(self._owed, owed, 1)
            _keep(batch)
            raise
        except Exception:
            self._owed = max(self._owed, owed)
            raise
        _keep(batch)

    def _refuse(self, commits: list[_Commit], error: Exception) -> None:
        self._queue = []
        reason = getattr(error, "strerror", None) or type(error).__name__
        message = f"{self._file.path.name} could not be written: {reason}"
        self._log.error("{reason}", reason=message)
        try:
            for commit in reversed(commits):
                roll_back(commit.undo)
            for commit in commits:
                self._tables.apply(commit.lasting, limited=False)
        finally:
            for commit in commits:
                commit.done.errback(BridgeError(Code.INTERNAL, message))


def _keep(commits: list[_Commit]) -> None:
    """Undo none of them, nor make one again: the file has them as a start finds it."""
    for commit in commits:
        commit.undo, commit.lasting = [], ()


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say why a state file can't be used, as ``StoreError``."""
    try:
        yield
    except NotOwnError as e:
        raise StoreError(str(e)) from None
    except OSError as e:
        raise StoreError(f"{path} cannot be read: {e.strerror}") from None
    except DamagedError:
        raise StoreError(f"{path} is damaged; starting the daemon repairs it") from None


def _pieces(snapshot: list[tuple[str, Snapshot]]) -> Iterator[bytes]:
    """Return the whole file; runs in the thread that writes it."""
    yield b"{"
    for index, (ns, values) in enumerate(snapshot):
        yield (b"," if index else b"") + dumps(ns) + b":"
        yield from values.pieces()
    yield b"}"


def _tables(path: Path, content: bytes) -> Tables:
    try:
        parsed = loads_unique(content)
    except BridgeError:
        raise DamagedError from None
    if type(parsed) is not dict or any(type(v) is not dict for v in parsed.values()):
        raise StoreError(
            f"{path}: not an object of objects; start the version that wrote it, if a "
            "newer one did, or move it away, and its .bak too if this is reported again"
        )
    return Tables.load(parsed)
