"""The log records a page sends, and their form in its log file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Annotated, Any, Final

from ..classes import frozen
from ..protocol import limits
from ..protocol.text import Secrets, one_line, timestamp
from ..protocol.wire import one_of
from ..settings.config import LOG_LEVELS

_FIELDS: Final = frozenset({"level", "scope", "message", "ts"})
_DEFAULT_SCOPE: Final = "plugin"

# In a line, a bracket in a scope would end it.
_BRACKETS: Final = str.maketrans("[]", "()")
_LINE: Final = re.compile(
    rf"(?P<time>\S+) (?P<level>{'|'.join(LOG_LEVELS).upper()}) +"
    r"(?:ts=(?P<ts>\S+) )?\[(?P<scope>[^\]]+)\] (?P<message>.+)"
)


@frozen(eq=False, repr=False)
class LogRecord:
    """
    A record as a page sends it.

    :ivar level: How important it is.
    :ivar message: One line, not blank; cut to 4000 characters.
    :ivar scope: What logged it; ``plugin`` by default, cut to 64 characters.
    :ivar ts: When it was logged, by the page's clock: milliseconds since the epoch.
        Only a time that differs from the daemon's by more than a second is written.
    """

    level: Annotated[str, one_of(LOG_LEVELS)]
    message: str
    scope: str | None = None
    ts: float | None = None


@frozen
class Record:
    """
    One line of a page's.

    :ivar at: The time by the page's clock, in seconds since the epoch.
    """

    level: str
    scope: str
    message: str
    at: float | None = None


def read_records(batch: Any, secrets: Secrets = tuple) -> tuple[list[Record], int]:
    """
    Read what a page sent, leaving out what is not a record.

    :param batch: Plain JSON; only the first 200 entries count.
    :param secrets: What is replaced in them.
    :return: The records, and how many entries were left out.
    """
    if type(batch) is not list:
        return [], 1
    records = [
        record
        for entry in batch[: limits.LOG_RECORDS]
        if (record := read_record(entry, secrets)) is not None
    ]
    return records, len(batch) - len(records)


def read_record(entry: Any, secrets: Secrets = tuple) -> Record | None:
    """Read one entry; ``None`` when it is not a record."""
    if type(entry) is not dict or not entry.keys() <= _FIELDS:
        return None
    level, message = entry.get("level"), entry.get("message")
    scope, ts = entry.get("scope"), entry.get("ts")
    if level not in LOG_LEVELS or type(message) is not str:
        return None
    if not isinstance(scope, str | None) or type(ts) not in (type(None), int, float):
        return None
    shown = one_line(message, limits.LOG_MESSAGE_CHARACTERS, secrets)
    if not shown:
        return None
    named = one_line(scope or _DEFAULT_SCOPE, limits.LOG_SCOPE_CHARACTERS, secrets)
    named = named or _DEFAULT_SCOPE
    return Record(level, named.translate(_BRACKETS), shown, _seconds(ts))


def _seconds(ts: float | None) -> float | None:
    """From a page's milliseconds; ``None`` for what is no time."""
    try:
        if ts is not None and math.isfinite(ts):
            return ts / 1000
    except OverflowError:
        pass
    return None


def write_records(records: Iterable[Record], now: float) -> str:
    """
    Write lines: daemon's time, level, scope, message.

    A record whose own time is more than a second off carries it too, as ``ts=``
    before its scope: where nothing a page sends could be taken for it.

    :param now: In seconds since the epoch; every line of a batch has it.
    """
    time = timestamp(now)
    return "".join(
        f"{time} {r.level.upper():5} {_own_time(r, now)}[{r.scope}] {r.message}\n"
        for r in records
    )


def _own_time(record: Record, now: float) -> str:
    if record.at is None or abs(record.at - now) <= limits.LOG_CLOCK_SECONDS:
        return ""
    try:
        return f"ts={timestamp(record.at)} "
    except ValueError:
        return ""


@frozen
class LogLine:
    """
    A line of the file, read.

    :ivar time: The daemon's, as it is written.
    :ivar ts: The page's own, as it is written; ``None`` when it was the same.
    """

    time: str
    level: str
    scope: str
    message: str
    ts: str | None = None


def read_line(text: str) -> LogLine | None:
    """Read a line that ``write_records`` has written; ``None`` for any other."""
    found = _LINE.fullmatch(text)
    if found is None:
        return None
    return LogLine(**{**found.groupdict(), "level": found["level"].lower()})
