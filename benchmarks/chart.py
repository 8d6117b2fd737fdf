"""Draws what was sampled over time as SVG, one panel for each quantity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Final

from attrs import frozen

WIDTH: Final = 760
PANEL: Final = 120
LEFT: Final = 70
TOP: Final = 26
STYLE: Final = (
    "text{font:12px sans-serif;fill:#555}"
    ".all{fill:none;stroke:#9ab;stroke-width:1}"
    ".settled{stroke:#c33;stroke-width:4;stroke-linecap:round}.axis{stroke:#999}.warm{fill:#8881}"
    "rect.page{fill:#fff}"
)


@frozen
class Panel:
    """
    One quantity.

    :ivar title: Its name and unit.
    :ivar points: ``(minutes, value)``, in order; drawn as a line.
    :ivar settled: Those of them that are marked.
    """

    title: str
    points: Sequence[tuple[float, float]]
    settled: Sequence[tuple[float, float]] = ()


def draw(panels: Sequence[Panel], warm_minutes: float) -> str:
    """
    Draw panels under each other, over the same minutes.

    :param warm_minutes: How many minutes at the beginning are shaded.
    :raise ValueError: There is nothing to draw.
    """
    minutes = max((x for panel in panels for x, _ in panel.points), default=0.0)
    if minutes <= 0:
        raise ValueError("there must be a point after the beginning")
    height = TOP + len(panels) * PANEL + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
    ]
    for index, panel in enumerate(panels):
        parts += _panel(panel, TOP + index * PANEL, minutes, warm_minutes)
    step = max(1, math.ceil(minutes / 10))
    for minute in range(0, math.floor(minutes) + 1, step):
        x = _across(minute, minutes)
        parts.append(_text(x, height - 6, f"{minute} min", "middle"))
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel, top: float, minutes: float, warm: float) -> list[str]:
    highest = max((y for _, y in panel.points), default=0.0) or 1.0
    bottom, high = top + PANEL - 30, PANEL - 30

    def place(point: tuple[float, float]) -> str:
        return (
            f"{_across(point[0], minutes):.1f},{bottom - point[1] / highest * high:.1f}"
        )

    line = " ".join(map(place, panel.points))
    wide = _across(warm, minutes) - LEFT
    parts = [
        f'<rect class="warm" x="{LEFT}" y="{top}" width="{wide:.1f}" height="{high}"/>',
        _text(LEFT, top - 6, panel.title, "start"),
        _text(LEFT - 6, top + 10, f"{highest:.0f}", "end"),
        _text(LEFT - 6, bottom, "0", "end"),
        f'<path class="axis" d="M{LEFT} {bottom}H{WIDTH - 10}"/>',
        f'<polyline class="all" points="{line}"/>',
    ]
    marks = "".join(f"M{place(point)}h0" for point in panel.settled)
    return [*parts, f'<path class="settled" d="{marks}"/>']


def _across(minute: float, minutes: float) -> float:
    return LEFT + minute / minutes * (WIDTH - 10 - LEFT)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
