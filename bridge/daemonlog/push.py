"""Pushes the daemon's own log lines to the pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

from twisted.logger import ILogObserver, LogEvent
from twisted.python.threadable import isInIOThread
from zope.interface import implementer

from ..classes import define, frozen
from ..protocol.limits import LOG_MESSAGE_CHARACTERS
from ..protocol.rules import OneOf, Text
from ..protocol.text import Secrets
from ..protocol.wire import unstructure
from ..settings.config import LOG_LEVELS
from .output import LogEntry, at_least, read_event

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

    level: Annotated[str, OneOf(LOG_LEVELS)]
    scope: str
    message: Annotated[str, Text(LOG_MESSAGE_CHARACTERS)]
    ts: int


@implementer(ILogObserver)
@define(eq=False, repr=False)
class LogPush:
    """
    Passes every event to ``push`` as a log record.

    Never at once: Twisted logs "Received SIGTERM" inside the signal handler, where
    the reactor may be half-way through forgetting the very socket a push would write
    to.  What is logged while it pushes is not pushed: a push that fails would log,
    and be pushed, forever.

    :ivar _push: Called with a record, by the reactor only.
    :ivar _in_reactor: Has the reactor call a function soon, from any thread.
    """

    _push: Callable[[dict[str, Any]], None]
    _secrets: Secrets
    _in_reactor: Callable[..., None]
    _pushing: bool = False

    def __call__(self, event: LogEvent) -> None:
        """See ``ILogObserver``."""
        if not (self._pushing and isInIOThread()):
            self._in_reactor(
                self._push_record, as_record(read_event(event, self._secrets))
            )

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
        entry.level,
        SCOPE,
        message[:LOG_MESSAGE_CHARACTERS],
        round(entry.time * 1000),
    )
    record: dict[str, Any] = unstructure(line)
    return record


def make_log_push(
    push: Callable[[dict[str, Any]], None],
    level: str,
    secrets: Secrets,
    in_reactor: Callable[..., None],
) -> ILogObserver:
    """
    Make what pushes the daemon's log lines.

    :param push: Called with ``{level, scope, message, ts}``, ``ts`` in whole
        milliseconds.
    :param level: The least that is pushed.
    :param in_reactor: ``callFromThread``.
    """
    return at_least(level, LogPush(push, secrets, in_reactor))
