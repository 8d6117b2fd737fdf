"""The table of a run, as text, as JSON and as a page; and its plots of growth."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from attrs import asdict, frozen

_BEGIN: Final = "<!-- from run.json: {name} -->"
_END: Final = "<!-- end -->"
_WIDTH: Final = 360
_HEIGHT: Final = 150
_EDGE: Final = 56


@frozen
class Row:
    """
    One comparison.

    :ivar ours: What the daemon needs, or reaches, in ``unit``; the best of the rounds.
    :ivar theirs: The same of the peer; ``None`` when there is none.
    :ivar goal: What the ratio to the peer, or without a peer the value, should be at
        most; at least, when ``more`` is better.
    """

    name: str
    ours: float
    unit: str
    goal: float
    theirs: float | None = None
    peer: str = ""
    more: bool = False

    @property
    def value(self) -> float:
        """What is compared with the goal."""
        return self.ours if self.theirs is None else self.ours / self.theirs

    @property
    def met(self) -> bool:
        """Whether the goal was reached."""
        return self.value >= self.goal if self.more else self.value <= self.goal

    def cells(self) -> list[str]:
        """Return the cells of the table."""
        theirs = "" if self.theirs is None else f"{self.theirs:.4g}"
        ratio = "" if self.theirs is None else f"{self.value:.2f}"
        bound = f"{'≥' if self.more else '≤'} {self.goal:g}"
        ours = f"{self.ours:.4g} {self.unit}"
        return [self.name, ours, self.peer, theirs, ratio, bound, _word(self.met)]


def _word(met: bool) -> str:
    return "yes" if met else "no"


HEAD: Final = ("", "the daemon", "peer", "it", "ratio", "goal", "reached")


@frozen
class Curve:
    """How something grows: ``(x, y)`` in order."""

    title: str
    across: str
    points: Sequence[tuple[float, float]]


def as_text(rows: Iterable[Row]) -> str:
    """Format the table for a terminal."""
    cells = [list(HEAD), *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    )


def as_page(rows: Iterable[Row]) -> str:
    """Format the table for a page in Markdown."""
    lines = [list(HEAD), ["---"] * len(HEAD), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def as_json(when: str, rows: Iterable[Row], curves: Iterable[Curve]) -> str:
    """Write a run as JSON; ``read_run`` reads it."""
    run = {
        "when": when,
        "rows": [asdict(row) for row in rows],
        "curves": [asdict(curve) for curve in curves],
    }
    return json.dumps(run, indent=1, ensure_ascii=False) + "\n"


def read_run(text: str) -> tuple[str, list[Row], list[Curve]]:
    """Read what ``as_json`` wrote."""
    run: dict[str, Any] = json.loads(text)
    rows = [Row(**row) for row in run["rows"]]
    return run["when"], rows, [Curve(**curve) for curve in run["curves"]]


def with_table(page: str, name: str, table: str) -> str:
    """
    Replace what a page has between the marks of a table.

    :raise ValueError: It has no such marks.
    """
    begin = _BEGIN.format(name=name)
    marked = re.compile(f"{re.escape(begin)}.*?{re.escape(_END)}", re.DOTALL)
    changed, count = marked.subn(lambda _: f"{begin}\n\n{table}\n\n{_END}", page)
    if count != 1:
        raise ValueError(f"the page has no marks for {name}")
    return changed


def draw_growth(curves: Sequence[Curve]) -> str:
    """Draw curves side by side in rows of two, each from zero, as SVG."""
    height = (len(curves) + 1) // 2 * (_HEIGHT + 60)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * _WIDTH} {height}">',
        "<style>text{font:12px sans-serif;fill:#555}rect{fill:#fff}"
        "polyline{fill:none;stroke:#369;stroke-width:2}.axis{stroke:#999}</style>",
        f'<rect width="{2 * _WIDTH}" height="{height}"/>',
    ]
    for number, curve in enumerate(curves):
        left = number % 2 * _WIDTH + _EDGE
        parts += _curve(curve, left, number // 2 * (_HEIGHT + 60) + 24)
    return "\n".join([*parts, "</svg>", ""])


def _curve(curve: Curve, left: float, top: float) -> list[str]:
    wide, bottom = _WIDTH - _EDGE - 20, top + _HEIGHT
    far = max(x for x, _ in curve.points)
    high = max(y for _, y in curve.points) or 1.0
    line = " ".join(
        f"{left + x / far * wide:.1f},{bottom - y / high * _HEIGHT:.1f}"
        for x, y in curve.points
    )

    def text(x: float, y: float, words: str, anchor: str) -> str:
        return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(words)}</text>'

    return [
        text(left, top - 8, curve.title, "start"),
        text(left - 6, top + 10, f"{high:.3g}", "end"),
        text(left - 6, bottom, "0", "end"),
        text(left + wide, bottom + 18, f"{far:g} {curve.across}", "end"),
        f'<path class="axis" d="M{left} {bottom}h{wide}M{left} {bottom}v-{_HEIGHT}"/>',
        f'<polyline points="{line}"/>',
    ]


def write(folder: Path, page: Path, when: str, run: tuple[Any, Any]) -> None:
    """
    Write a run's JSON and plots, and its tables into the page.

    :param folder: For ``run.json`` and ``growth.svg``.
    :param run: The rows, and the curves.
    """
    rows, curves = run
    (folder / "run.json").write_text(as_json(when, rows, curves), "utf-8")
    (folder / "growth.svg").write_text(draw_growth(curves), "utf-8")
    page.write_text(render(page.read_text("utf-8"), when, rows), "utf-8")


def render(page: str, when: str, rows: Sequence[Row]) -> str:
    """Return a page with the tables of a run."""
    return with_table(page, "comparisons", f"Run on {when}.\n\n{as_page(rows)}")
