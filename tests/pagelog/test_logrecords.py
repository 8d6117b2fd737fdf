import math

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.pagelog.logrecords import (
    Record,
    read_line,
    read_record,
    read_records,
    write_records,
)
from bridge.settings.config import LOG_LEVELS

from ..strategies import loose

nearly = st.fixed_dictionaries(
    {"level": st.sampled_from([*LOG_LEVELS, "trace", ""]) | loose},
    optional={
        "scope": st.text() | loose,
        "message": st.text() | loose,
        "ts": st.floats() | st.integers() | loose,
        "extra": loose,
    },
)


class ReadTests(SynchronousTestCase):
    def test_whole(self) -> None:
        """A whole record is read, its time in seconds; no other type is a time."""
        entry = {"level": "warn", "scope": "a:b", "message": "m", "ts": 1500}
        self.assertEqual(read_record(entry), Record("warn", "a:b", "m", 1.5))
        for ts in ("1", True):
            self.assertIsNone(read_record({**entry, "ts": ts}))

    def test_time_that_is_none(self) -> None:
        """A time that is not finite is left out, not the record."""
        for ts in (math.nan, math.inf, 10**400):
            entry = {"level": "info", "message": "m", "scope": " ", "ts": ts}
            self.assertEqual(read_record(entry), Record("info", "plugin", "m"))

    def test_attack_many_at_once(self) -> None:
        """Records beyond the first 200 of a batch are dropped and counted."""
        entry = {"level": "info", "message": "m"}
        records, dropped = read_records([entry] * 203)
        self.assertEqual((len(records), dropped), (200, 3))

    @given(st.lists(nearly | loose) | loose)
    def test_anything(self, batch) -> None:
        """Whatever is sent is read or counted, and gives one line a record."""
        records, dropped = read_records(batch)
        if isinstance(batch, list):
            self.assertEqual(len(records) + dropped, len(batch))
        text = write_records(records, 0.0)
        self.assertEqual(len(text.splitlines()), len(records))
        text.encode("utf-8")


class WriteTests(SynchronousTestCase):
    def test_time_of_the_page(self) -> None:
        """It is written where it is another one, and none outside the calendar."""
        now = "1970-01-01T00:00:00.000Z"
        late = "ts=1970-01-01T00:00:01.001Z "
        for at, own in ((None, ""), (1.0, ""), (1.001, late), (1e300, "")):
            text = write_records([Record("warn", "a", "m", at)], 0.0)
            self.assertEqual(text, f"{now} WARN  {own}[a] m\n")

    def test_forged_line_attack(self) -> None:
        """A message cannot start a line of its own."""
        forged = "m\n2026-01-01T00:00:00.000Z ERROR [host] forged"
        records, _ = read_records([{"level": "info", "scope": "a", "message": forged}])
        self.assertEqual(write_records(records, 0.0).count("\n"), 1)

    def test_attack_forged_scope(self) -> None:
        """A scope cannot end early, and have a line pass for another scope's."""
        entry = {"level": "info", "scope": "host] [x", "message": "m"}
        records, _ = read_records([entry])
        line = read_line(write_records(records, 0.0).rstrip("\n"))
        self.assertEqual((line.scope, line.message), ("host) (x", "m"))


class LineTests(SynchronousTestCase):
    def test_other_lines(self) -> None:
        """What the daemon has not written so is no line of its."""
        for text in ("", "x", "1970-01-01T00:00:00.000Z TRACE [a] m", "Z INFO [a]"):
            self.assertIsNone(read_line(text))
