"""The map of the rooms, drawn from the layers that import-linter enforces."""

from __future__ import annotations

from ast import get_docstring, parse
from collections.abc import Iterator
from configparser import ConfigParser
from itertools import accumulate
from pathlib import Path
from typing import Final

from attrs import frozen
from described import table

ROOT: Final = Path(__file__).parents[1]
_WIDTH: Final = 72


@frozen
class Room:
    """
    A package, or a module that is a layer by itself.

    :ivar name: Dotted, such as ``bridge.web``.
    :ivar modules: How many modules it has, without its ``__init__`` modules.
    :ivar about: The first sentence of its docstring.
    """

    name: str
    modules: int
    about: str


@frozen
class Layers:
    """
    One contract of the type ``layers``.

    :ivar rows: The rooms, the highest layer first.
    """

    title: str
    rows: tuple[tuple[Room, ...], ...]


def contracts(config: Path = ROOT / "setup.cfg") -> Iterator[Layers]:
    """Read the contracts of the type ``layers``, in the order of the file."""
    parser = ConfigParser(interpolation=None)
    parser.read_string(config.read_text("utf-8"))
    for section in parser.sections():
        values = parser[section]
        is_contract = section.startswith("importlinter:contract:")
        if is_contract and values["type"] == "layers":
            lines = values["layers"].split()
            rows = " ".join(lines).replace(" | ", "|").split()
            yield Layers(
                values["name"],
                tuple(tuple(map(read_room, row.split("|"))) for row in rows),
            )


def read_room(name: str) -> Room:
    """
    Count the modules of a room, and read what it says it is.

    :raise FileNotFoundError: There is no such package or module.
    """
    path = ROOT.joinpath(*name.split("."))
    if path.is_dir():
        modules = [p for p in path.rglob("*.py") if p.name != "__init__.py"]
        return Room(name, len(modules), _about(path / "__init__.py"))
    return Room(name, 1, _about(path.with_suffix(".py")))


def _about(path: Path) -> str:
    text = get_docstring(parse(path.read_text("utf-8"))) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return paragraph.removesuffix(" ::").rstrip(":")


def drawing(layers: Layers) -> str:
    """Draw the layers as boxes, the highest first."""
    rows = [
        [f"{room.name.rpartition('.')[2]} ({room.modules})" for room in row]
        for row in layers.rows
    ]
    counts = [0, *map(len, rows), 0]
    lines = [_border(counts[0], counts[1])]
    for i, cells in enumerate(rows, 1):
        lines += [_line(cells), _border(counts[i], counts[i + 1])]
    return "\n".join(lines) + "\n"


def _widths(count: int) -> list[int]:
    """Divide the width of the drawing, borders not counted."""
    free = _WIDTH - count - 1
    return [free // count + (i < free % count) for i in range(count)]


def _corners(count: int) -> set[int]:
    """Find the columns where the cells of a row begin and end."""
    ends = accumulate(width + 1 for width in _widths(count)) if count else ()
    return {0, *ends}


def _border(above: int, below: int) -> str:
    """Draw the line between a row of so many cells and the next row."""
    corners = _corners(above) | _corners(below)
    return "".join("+" if i in corners else "-" for i in range(_WIDTH))


def _line(cells: list[str]) -> str:
    widths = _widths(len(cells))
    parts = (cell.center(width) for cell, width in zip(cells, widths, strict=True))
    return "|" + "|".join(parts) + "|"


def rooms() -> Iterator[str]:
    """Every room, the layers of the rooms, and how large each room is."""
    yield "# Rooms\n"
    yield (
        "A *room* is a package of the daemon with one subject. A room may import only "
        "from the rooms below it, and rooms that stand side by side do not import "
        "each other. `lint-imports` enforces this; the contracts are in `setup.cfg`. "
        "The numbers count modules.\n"
    )
    for layers in contracts():
        yield f"## {layers.title}\n"
        yield f"```text\n{drawing(layers)}```\n"
        yield table(
            ("room", "modules", "subject"),
            (
                (f"`{room.name.replace('.', '/')}`", str(room.modules), room.about)
                for row in layers.rows
                for room in row
            ),
        )
