"""The table of a run, as text."""

from collections.abc import Iterable
from typing import Final

from attrs import frozen


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
        reached = "yes" if self.met else "no"
        return [self.name, ours, self.peer, theirs, ratio, bound, reached]


HEAD: Final = ("", "the daemon", "peer", "it", "ratio", "goal", "reached")


def as_text(rows: Iterable[Row]) -> str:
    """Format the table for a terminal."""
    cells = [list(HEAD), *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    )
