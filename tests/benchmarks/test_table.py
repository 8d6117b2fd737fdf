"""Tests for ``benchmarks.table``, and that the page has the table of the last run."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.table import (
    Curve,
    Row,
    as_json,
    as_page,
    as_text,
    draw_growth,
    read_run,
    render,
    with_table,
)

DOCS = Path(__file__).parents[2] / "docs"
ROWS = [
    Row("start", 300.0, "ms", 1.3, 250.0, "twistd web"),
    Row("calls", 50.0, "/s", 0.6, 100.0, "aiohttp", more=True),
    Row("memory", 58.5, "MiB", 60),
]
CURVES = [Curve("call, us", "bytes", [(1.0, 2.0), (10.0, 4.0)])]


class TableTests(SynchronousTestCase):
    """Tests for the table of a run."""

    def test_goals(self) -> None:
        """A goal is a most, or a least when more is better, of the ratio or value."""
        self.assertEqual([row.met for row in ROWS], [True, False, True])
        self.assertEqual([row.value for row in ROWS], [1.2, 0.5, 58.5])

    def test_forms(self) -> None:
        """The terminal and the page have a line for each row, with its ratio."""
        for table in (as_text(ROWS), as_page(ROWS)):
            self.assertEqual(sum("twistd web" in x for x in table.splitlines()), 1)
            self.assertIn("1.20", table)
            self.assertIn("≥ 0.6", table)
        self.assertEqual(len(as_page(ROWS).splitlines()), 5)

    def test_json(self) -> None:
        """What is written is read again."""
        when, rows, curves = read_run(as_json("1 May 2030", ROWS, CURVES))
        self.assertEqual((when, rows), ("1 May 2030", ROWS))
        self.assertEqual(list(map(tuple, curves[0].points)), [(1.0, 2.0), (10.0, 4.0)])

    def test_page(self) -> None:
        """Only what is between the marks is replaced; they must be there."""
        page = "a\n<!-- from run.json: x -->\nold\n<!-- end -->\nb\n"
        changed = with_table(page, "x", "new")
        self.assertEqual(changed, page.replace("old", "\nnew\n"))
        self.assertRaises(ValueError, with_table, page, "y", "new")

    def test_plots(self) -> None:
        """Each curve is drawn, with its title."""
        drawn = ET.fromstring(draw_growth(CURVES * 3))  # noqa: S314 (our own)
        lines = [e for e in drawn.iter() if e.tag.endswith("polyline")]
        self.assertEqual(len(lines), 3)


class PageTests(SynchronousTestCase):
    """Tests for the page."""

    def test_is_of_the_last_run(self) -> None:
        """The page has the tables of ``run.json``, and the plots are its."""
        text = (DOCS / "performance" / "run.json").read_text("utf-8")
        when, rows, curves = read_run(text)
        page = (DOCS / "performance.md").read_text("utf-8")
        self.assertEqual(render(page, when, rows), page)
        plots = (DOCS / "performance" / "growth.svg").read_text("utf-8")
        self.assertEqual(draw_growth(curves), plots)
