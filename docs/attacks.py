"""What is tried: every test of an attack, and every attack of a plugin in the page."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from described import table

TESTS: Final = Path(__file__).parents[1] / "tests"
_PREFIX: Final = "test_attack_"
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_TAKES: Final = re.compile(
    r"^/\*\* ([^*]+?) \*/\nexport (?:(?:async )?function|const) (\w+)\b", re.MULTILINE
)
_SCENARIO: Final = re.compile(
    rf"^  /\*\* ([^*]+?) \*/\n  (?:async )?{_PREFIX}(\w+)[(:]", re.MULTILINE
)
_GREEDY: Final = re.compile(r"/\*\* ([^*]+?) \*/\n")


def tried() -> Iterator[str]:
    """Every test of an attack: its name, and what it makes sure of."""
    for folder in sorted(path for path in TESTS.iterdir() if path.is_dir()):
        paths = sorted(folder.rglob("test_*.py"))
        rows = [row for path in paths for row in _tests_in(path)]
        for path in sorted(folder.glob("*_scenarios.ts")):
            found = _SCENARIO.findall(path.read_text("utf-8"))
            rows += [(name.replace("_", " "), about) for about, name in found]
        if rows:
            yield f"### {folder.name}\n"
            yield table(("attack", "what holds"), rows)


def _tests_in(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, _FUNCTIONS) and node.name.startswith(_PREFIX):
            words = node.name.removeprefix(_PREFIX).replace("_", " ")
            opening = (ast.get_docstring(node) or "").split("\n\n")[0]
            yield words, " ".join(opening.split()).replace("``", "`")


def takes() -> Iterator[str]:
    """Every attack of a plugin that tries to take something."""
    for path in _sources("attacker"):
        found = _TAKES.findall(path.read_text("utf-8"))
        yield from _plugins((f"{path.stem}.{name}", about) for about, name in found)


def greedy() -> Iterator[str]:
    """Every plugin that takes more than its part."""
    sources = _sources("greedy")
    found = ((path, _GREEDY.match(path.read_text("utf-8"))) for path in sources)
    yield from _plugins((path.stem, about[1]) for path, about in found if about)


def _sources(folder: str) -> list[Path]:
    paths = (TESTS / "attacks" / folder).iterdir()
    return sorted(path for path in paths if path.suffix in (".js", ".ts"))


def _plugins(found: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, about in found:
        yield f"- `{name}`: {' '.join(about.split())}"
