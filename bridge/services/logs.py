"""The ``logs`` service: the page's log lines, in a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final

from attrs import field
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..classes import define, frozen
from ..concurrency.threads import InThread
from ..concurrency.timers import ThrottledCounter
from ..pagelog.logrecords import LogRecord, Record, read_records, write_records
from ..pagelog.pagefile import PageFile
from ..protocol import limits
from ..protocol.budgets import TokenBucket
from ..protocol.errors import BridgeError, Code, unavailable
from ..protocol.text import Secrets
from ..protocol.wire import entries, lenient
from ..rpc import NoParams, method

_DISABLED: Final = "disabled"


@frozen(eq=False, repr=False)
class WriteParams:
    """
    Log records.

    :ivar records: What is not a record is left out; the others are written.
    """

    records: Annotated[
        list[Annotated[Any, lenient(LogRecord)]], entries(limits.LOG_RECORDS)
    ]


@frozen(eq=False, repr=False)
class WriteResult:
    """
    What became of a batch.

    :ivar ok: Always true.
    :ivar written: How many records are in the file.
    """

    ok: bool
    written: int


@frozen(eq=False, repr=False)
class InfoResult:
    """
    Where the file is.

    :ivar ok: Always true.
    :ivar location: Its path, or ``disabled``.
    :ivar bytes: How large it is.
    """

    ok: bool
    location: str
    bytes: int


@define(eq=False, repr=False)
class Logs:
    """
    Appends the page's log lines to a log file.

    :ivar file: ``None`` when they are dropped.
    :ivar in_thread: Calls functions in a thread, the same for all: in their order.
    :ivar now: The time of day, in seconds since the epoch.
    :ivar _problem: What was logged of the file.
    """

    _file: PageFile | None
    _in_thread: InThread
    _clock: IReactorTime
    _now: Callable[[], float]
    _secrets: Secrets = tuple
    _budgets: dict[str, TokenBucket] = field(factory=dict)
    _dropped: ThrottledCounter = field(init=False)
    _unwritten: int = field(default=0, init=False)
    _problem: str = field(default="", init=False)
    _closed: bool = field(default=False, init=False)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        self._dropped = ThrottledCounter(self._clock, self._report_dropped)

    def describe(self) -> dict[str, Any]:
        """Return the location of the file."""
        return {"location": self.location}

    @method(WriteParams, WriteResult)
    async def write(self, params: WriteParams) -> WriteResult:
        """
        Append a batch of records; answered when they are in the file.

        :raise BridgeError: ``bad_request`` for more than 200 records; ``unavailable``
            when lines come faster than they can be written; ``internal`` when they
            can't be written. A record that breaks a rule is dropped alone, and so are
            those of a scope that writes over 50 a second for long.
        """
        records = self._read(params.records)
        if self._file is None or not records:
            return WriteResult(ok=True, written=0)
        await self._append(self._file, records)
        return WriteResult(ok=True, written=len(records))

    @method(NoParams, InfoResult)
    async def info(self, params: NoParams) -> InfoResult:
        """Return the location and the size of the log file."""
        size = 0 if self._file is None else self._file.size
        return InfoResult(ok=True, location=self.location, bytes=size)

    @property
    def overloaded(self) -> bool:
        """Whether so much waits to be written that more is refused."""
        return self._unwritten > limits.LOG_UNWRITTEN_BYTES

    def frame(self, records: Any) -> None:
        """
        Write the records of a ``logs`` frame: never answers, never raises.

        Entries that are not records, or cannot be written, are counted, and reported in
        the daemon's own log at most once a second.

        :param records: Plain JSON of any shape.
        """
        good = self._read(records)
        if self._file is not None and good:
            writing = Deferred.fromCoroutine(self._append(self._file, good))
            writing.addErrback(self._lost, len(good))

    def drop(self, records: int, why: str) -> None:
        """Count records that are not written; reported as for ``frame``."""
        if records:
            self._dropped.add(why, records)

    def reopen(self) -> None:
        """Continue, with the next write, in the file that has the name now."""
        if self._file is not None and not self._closed:
            Deferred.fromCoroutine(self._reopen(self._file))

    def close(self) -> Deferred[None] | None:
        """
        Accept no more lines, and report dropped records that were not reported yet.

        :return: Fires when all accepted lines are written, and the file is closed;
            ``None`` when it is.
        """
        self._dropped.close()
        if self._file is None or self._closed:
            return None
        self._closed = True
        return self._in_thread(self._file.close)

    async def _append(self, file: PageFile, records: list[Record]) -> None:
        if self._closed:
            raise unavailable("the log file is closed")
        if self.overloaded:
            raise unavailable("log lines come faster than they can be written")
        lines = write_records(records, self._now()).encode("utf-8")
        self._unwritten += len(lines)
        try:
            await self._in_thread(file.append, lines)
        except BridgeError:
            raise  # one of ours: there is no thread for it
        except Exception as e:  # noqa: BLE001
            reason = getattr(e, "strerror", None) or type(e).__name__
            message = f"the log file could not be written: {reason}"
            raise BridgeError(Code.INTERNAL, message) from None
        finally:
            self._unwritten -= len(lines)
        self._note_problem(file)

    async def _reopen(self, file: PageFile) -> None:
        try:
            await self._in_thread(file.reopen)
        except Exception:  # noqa: BLE001
            self._log.failure("the page's log file could not be reopened")
            return
        self._problem = ""
        self._note_problem(file)
        if not self._problem:
            self._log.info("the page's log file is reopened")

    def _note_problem(self, file: PageFile) -> None:
        before, self._problem = self._problem, file.problem
        if self._problem not in ("", before):
            self._log.warn("{why}", why=self._problem)

    def _read(self, batch: Any) -> list[Record]:
        records, bad = read_records(batch, self._secrets)
        self.drop(bad, "they break a rule")
        if len(self._budgets) >= limits.LOG_SCOPES:
            self._budgets = {s: b for s, b in self._budgets.items() if not b.is_full}
        kept = [r for r in records if self._budget(r.scope).take() is not None]
        if len(kept) < len(records):
            rate = limits.LOG_SCOPE_RECORDS_PER_SECOND
            why = f"one scope writes over {rate:.0f} a second"
            self.drop(len(records) - len(kept), why)
        return kept

    def _budget(self, scope: str) -> TokenBucket:
        """
        Return what a scope may still write, so that none pushes out another's lines.

        More scopes than a page has plugins share one.
        """
        if scope not in self._budgets and len(self._budgets) >= limits.LOG_SCOPES:
            scope = ""
        if scope not in self._budgets:
            self._budgets[scope] = TokenBucket(
                limits.LOG_SCOPE_RECORDS_PER_SECOND,
                limits.LOG_SCOPE_RECORDS_BURST,
                self._clock.seconds,
            )
        return self._budgets[scope]

    def _lost(self, failure: Failure, count: int) -> None:
        self.drop(count, getattr(failure.value, "message", "a defect"))

    def _report_dropped(self, why: str, count: int) -> None:
        words = "dropped {count} log records of the page: {why}"
        self._log.warn(words, count=count, why=why)

    @property
    def location(self) -> str:
        """The file, or ``disabled``."""
        return _DISABLED if self._file is None else str(self._file.path)
