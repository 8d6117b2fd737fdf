"""The daemon's own log lines: on standard error or in the journal, to pages, kept."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Event, RLock, Thread
from typing import Annotated, Any, Final, TextIO

from attrs import field
from twisted.logger import ILogObserver, LogEvent, LogLevel, formatEvent
from twisted.python.threadable import isInIOThread
from zope.interface import implementer

from .classes import define, frozen
from .datadir.paths import DataDir
from .pagelog.pagefile import LogFileError, PageFile
from .protocol.limits import DAEMON_LOG_BYTES, LOG_MESSAGE_CHARACTERS
from .protocol.strictjson import dumps
from .protocol.text import Secrets, redacted, timestamp, visible
from .protocol.wire import one_of, string, unstructure
from .settings.config import LOG_LEVELS
from .system.files import write_all

# As in syslog.
_PRIORITIES: Final = {"debug": 7, "info": 6, "warn": 4, "error": 3}

_WAITING_LINES: Final = 1000
_PATIENCE_SECONDS: Final = 1.0


@frozen
class LogEntry:
    """
    One event, ready to be shown.

    :ivar time: In seconds since the epoch.
    :ivar level: ``debug``, ``info``, ``warn`` or ``error``.
    :ivar source: The module that logged it, without the project's name.
    :ivar message: May be of several lines.
    :ivar error: The type of what was raised, or "".
    :ivar traceback: Empty when nothing was raised.
    """

    time: float
    level: str
    source: str
    message: str
    error: str = ""
    traceback: str = ""


def read_event(event: LogEvent, secrets: Secrets) -> LogEntry:
    """Read an event of ``twisted.logger``; no secret is left in it."""
    failure = event.get("log_failure")
    error = traceback = ""
    if failure is not None:
        error = failure.type.__name__
        traceback = _lines(failure.getTraceback(), secrets)
    return LogEntry(
        event.get("log_time") or 0.0,
        # What is critical is an error.
        min(event.get("log_level") or LogLevel.info, LogLevel.error).name,
        _source(event.get("log_namespace") or ""),
        _lines(formatEvent(event), secrets),
        error,
        traceback,
    )


def _lines(text: str, secrets: Secrets) -> str:
    shown = "\n".join(visible(line).rstrip() for line in text.split("\n"))
    return redacted(shown.strip("\n"), secrets)


def _source(namespace: str) -> str:
    """Name a module: a logger of a class has the class's name behind it."""
    if namespace in ("", "log_legacy"):
        return "twisted"
    names = namespace.removeprefix("bridge.").split(".")
    if len(names) > 1 and names[-1].lstrip("_")[:1].isupper():
        names.pop()
    return ".".join(names)


def as_text(entry: LogEntry) -> str:
    """Write time, level, source and message; a traceback follows, indented."""
    head = f"{timestamp(entry.time)} {entry.level.upper():5} "
    return head + as_journal_text(entry)


def as_journal_text(entry: LogEntry) -> str:
    """Write source and message: the journal knows the time and the level."""
    text = f"[{entry.source}] {entry.message}"
    if entry.traceback:
        text += "\n" + entry.traceback
    return text.replace("\n", "\n    ")


def as_json(entry: LogEntry) -> str:
    """Write one object: time, level, source, message, and a traceback if any."""
    fields: dict[str, Any] = {
        "time": timestamp(entry.time),
        "level": entry.level,
        "source": entry.source,
        "message": entry.message,
    }
    if entry.traceback:
        fields["traceback"] = entry.traceback
    return dumps(fields).decode("utf-8")


@implementer(ILogObserver)
@define(eq=False, repr=False)
class Observer:
    """
    Reads each event of a level and above once, and passes it on.

    :ivar _level: ``debug``, ``info``, ``warn`` or ``error``.
    :ivar _secrets: What must never be shown.
    """

    _level: str
    _secrets: Secrets
    _shown: Sequence[Callable[[LogEntry], None]]

    def __call__(self, event: LogEvent) -> None:
        level = event.get("log_level")
        if level is not None and level >= LogLevel.levelWithName(self._level):
            entry = read_event(event, self._secrets)
            for show in self._shown:
                show(entry)


@define(eq=False, repr=False)
class Output:
    """
    Writes every event to a stream; a broken stream is not an error.

    A thread does it, since a terminal or a pipe may not be read for a while.  What
    does not fit into its queue is dropped and counted.

    :ivar _stream: Standard error.
    :ivar _form: ``text`` or ``json``.
    :ivar _journal: Whether lines go to the journal, and carry its levels.
    """

    _stream: TextIO
    _form: str
    _journal: bool = False
    # Unlike others, it may be put into by a signal's handler, too.
    _lines: SimpleQueue[str | Event] = field(factory=SimpleQueue, init=False)
    _dropped: int = field(default=0, init=False)
    _ends: bool = field(default=False, init=False)
    _patience: float = field(default=_PATIENCE_SECONDS, init=False)
    _thread: Thread | None = field(default=None, init=False)

    def __call__(self, entry: LogEntry) -> None:
        if not self._started():
            self._write(self._text(entry))
            return
        self._enqueue(entry)
        if self._ends:
            self.end()

    def end(self) -> None:
        """
        Wait until all lines are written, and from now on for each; at most a second.

        The process may end with any of them.
        """
        self._ends = True
        if self._thread is None:
            return
        done, begun = Event(), time.monotonic()
        self._tell_dropped()
        self._lines.put(done)
        done.wait(self._patience)
        self._patience -= time.monotonic() - begun

    def _started(self) -> bool:
        """Whether there is a thread; no sooner than twistd has forked."""
        if self._thread is None:
            thread = Thread(target=self._write_lines, name="output", daemon=True)
            with suppress(RuntimeError):  # there can be no more threads
                thread.start()
                self._thread = thread
                atexit.register(self.end)
        return self._thread is not None

    def _enqueue(self, entry: LogEntry) -> None:
        if self._lines.qsize() >= _WAITING_LINES:
            self._dropped += 1
            return
        self._tell_dropped()
        self._lines.put(self._text(entry))

    def _tell_dropped(self) -> None:
        if self._dropped:
            why, self._dropped = f"{self._dropped} lines were not shown", 0
            lost = LogEntry(time.time(), "warn", "daemonlog", why)
            self._lines.put(self._text(lost))

    def _write_lines(self) -> None:
        while True:
            # All at once: each turn of this thread may wait for the reactor's.
            waiting = max(1, self._lines.qsize())
            found = [self._lines.get() for _ in range(waiting)]
            self._write("".join(one for one in found if isinstance(one, str)))
            for one in found:
                if isinstance(one, Event):
                    one.set()

    def _write(self, lines: str) -> None:
        # Not by the stream: the process could not end while that is locked.
        with suppress(OSError, ValueError):  # there is nowhere left to report it
            content = lines.encode(self._stream.encoding, "backslashreplace")
            write_all(self._stream.fileno(), content)

    def _text(self, entry: LogEntry) -> str:
        if not self._journal:
            text = as_json(entry) if self._form == "json" else as_text(entry)
            return f"{text}\n"
        text = as_json(entry) if self._form == "json" else as_journal_text(entry)
        prefix = f"<{_PRIORITIES[entry.level]}>"
        return prefix + text.replace("\n", "\n" + prefix) + "\n"


@define(eq=False, repr=False)
class DaemonLog:
    """
    Keeps the daemon's own log lines in a file, wherever else they are shown.

    ``plugin-bridge doctor`` takes them from there for a bug report.  What cannot be
    written is lost.
    """

    _file: PageFile | None
    # Twisted logs in signal handlers, too.
    _lock: RLock = field(factory=RLock, init=False)

    def __call__(self, entry: LogEntry) -> None:
        line = f"{as_text(entry)}\n"
        with self._lock, suppress(OSError):
            if self._file is not None:
                self._file.append(line.encode("utf-8", "replace"))

    def close(self) -> None:
        """Close the file; what is logged after that is not in it."""
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            file.close()


def open_daemon_log(data: DataDir) -> tuple[DaemonLog, str | None]:
    """
    Open the file of the daemon's own log lines.

    :return: What is logged to; and why nothing of it is kept.
    """
    try:
        file = PageFile.open(data.daemon_log, DAEMON_LOG_BYTES)
    except LogFileError as e:
        return DaemonLog(None), f"the daemon's log lines are not kept: {e}"
    return DaemonLog(file), None


SCOPE: Final = "bridge"


@frozen
class Line:
    """
    A line of the daemon's log.

    :ivar level: ``debug``, ``info``, ``warn`` or ``error``.
    :ivar scope: Always ``bridge``.
    :ivar message: Its first line.
    :ivar ts: When it was logged: milliseconds since the epoch.
    """

    level: Annotated[str, one_of(LOG_LEVELS)]
    scope: str
    message: Annotated[str, string(LOG_MESSAGE_CHARACTERS)]
    ts: int


@define(eq=False, repr=False)
class LogPush:
    """
    Passes every event to ``push`` as a log record.

    Never at once: Twisted logs "Received SIGTERM" inside the signal handler, where
    the reactor may be half-way through forgetting the very socket a push would write
    to.  What is logged while it pushes is not pushed: a push that fails would log,
    and be pushed, forever.

    :ivar _push: Called with a ``Line`` as plain JSON, by the reactor only.
    :ivar _in_reactor: Has the reactor call a function soon, from any thread.
    """

    _push: Callable[[dict[str, Any]], None]
    _in_reactor: Callable[..., None]
    _pushing: bool = False

    def __call__(self, entry: LogEntry) -> None:
        if not (self._pushing and isInIOThread()):
            self._in_reactor(self._push_record, as_record(entry))

    def _push_record(self, record: dict[str, Any]) -> None:
        self._pushing = True
        try:
            self._push(record)
        finally:
            self._pushing = False


def as_record(entry: LogEntry) -> dict[str, Any]:
    """
    Write a line as the data of a ``log`` push.

    Only its first line and the type of an exception: a page has no use for the
    paths in a traceback.
    """
    message = entry.message.partition("\n")[0]
    if entry.error:
        message += f" ({entry.error})"
    line = Line(
        entry.level, SCOPE, message[:LOG_MESSAGE_CHARACTERS], round(entry.time * 1000)
    )
    record: dict[str, Any] = unstructure(line)
    return record
