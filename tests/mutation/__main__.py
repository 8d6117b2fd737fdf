"""
Shows which tests notice a change of a module, and which notice nothing of their own.

``python -m tests.mutation [--sample N] [--seed S] PATH ... [TESTS ...]``:
each PATH is a module of ``bridge``, or a folder of them; TESTS are what trial can run,
by default the folders of tests that mirror the paths.
"""

import argparse
import random
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from .mutants import mutants
from .runs import ROOT, Runs

Elements = dict[str, set[Any]]
"""What each test notices, or covers, by the test."""


def mutate(path: Path, tests: list[str], sample: int, seed: int) -> dict[str, Any]:
    """
    Try the mutants of one module, and return what is known of them and of the tests.

    :param tests: Names that trial can load.
    :param sample: How many mutants to try; all of them if 0.
    """
    found = list(mutants(path.read_text("utf-8")))
    if sample and sample < len(found):
        picked = random.Random(seed).sample(range(len(found)), sample)  # noqa: S311
        found = [found[number] for number in sorted(picked)]
    tried = []
    with tempfile.TemporaryDirectory() as scratch:
        runs = Runs.prepare(path, tests, Path(scratch))
        for mutant in found:
            selected = runs.covering(mutant.lines)
            killers = runs.try_mutant(mutant.tree, selected) if selected else []
            tried.append(
                {
                    "line": mutant.line,
                    "change": mutant.change,
                    "covered": len(selected),
                    "loads": killers is not None,
                    "killers": killers or [],
                }
            )
            sys.stderr.write("!" if killers is None else "k" if killers else ".")
            sys.stderr.flush()
    sys.stderr.write("\n")
    return {
        "path": str(path.relative_to(ROOT)),
        "mutants": tried,
        "tests": runs.tests,
        "broken": runs.broken,
    }


def smallest(elements: Elements, cost: dict[str, int]) -> set[str]:
    """
    Choose few tests that together keep every element.

    Those that alone have an element come first, then always that with the most of what
    is left, of two alike the shorter one.
    """
    times = Counter(one for have in elements.values() for one in have)
    chosen = {
        test
        for test, have in elements.items()
        if any(times[element] == 1 for element in have)
    }
    left = set(times).difference(*(elements[test] for test in chosen))
    while left:
        best = max(
            elements, key=lambda test: (len(elements[test] & left), -cost[test], test)
        )
        chosen.add(best)
        left -= elements[best]
    return chosen


def report(results: list[dict[str, Any]]) -> Iterable[str]:
    """Write what was found, line by line."""
    kills: Elements = defaultdict(set)
    arcs: Elements = defaultdict(set)
    cost: dict[str, int] = {}
    for result in results:
        yield from _survivors(result)
        path = result["path"]
        for number, mutant in enumerate(result["mutants"]):
            for test in mutant["killers"]:
                kills[test].add((path, number))
        for test, known in result["tests"].items():
            arcs[test] |= {(path, *arc) for arc in known["arcs"]}
            cost[test] = known["lines"]
    every = {test: kills[test] | arcs[test] for test in cost}
    every = {test: have for test, have in every.items() if have}
    killing = smallest({test: kills[test] for test in every}, cost)
    needed = smallest(every, cost)
    only = Counter(one for have in kills.values() for one in have)
    yield f"{len(killing)} of {len(every)} tests kill all that is killed;"
    yield f"{len(needed)} of them kill and cover all that is killed and covered."
    spare = sorted(set(every) - needed)
    lines = sum(cost[test] for test in spare)
    yield f"The others, {len(spare)} with {lines} lines, could go (lines, kills, test):"
    yield from (f"  {cost[test]:4} {len(kills[test]):4}  {test}" for test in spare)
    yield "Stay (lines, kills, of them nobody else's, test; * only for what it covers):"
    for test in sorted(needed):
        own = sum(only[one] == 1 for one in kills[test])
        mark = " " if test in killing else "*"
        yield f" {mark}{cost[test]:4} {len(kills[test]):4} {own:4}  {test}"


def _survivors(result: dict[str, Any]) -> Iterable[str]:
    loaded = [mutant for mutant in result["mutants"] if mutant["loads"]]
    survivors = [mutant for mutant in loaded if not mutant["killers"]]
    killed = len(loaded) - len(survivors)
    yield f"{result['path']}: {killed} of {len(loaded)} mutants killed"
    for mutant in survivors:
        line, change, covered = mutant["line"], mutant["change"], mutant["covered"]
        yield f"  survives: line {line}: {change}  (run by {covered} tests)"
    yield from (f"  fails without a change: {test}" for test in result["broken"])


def mirrored(path: Path) -> str:
    """Name the tests of a folder of modules."""
    parts = path.relative_to(ROOT / "bridge").parts
    while parts and not ROOT.joinpath("tests", *parts).is_dir():
        parts = parts[:-1]
    return ".".join(("tests", *parts))


def main(line: list[str]) -> None:
    """Try all mutants of what is named, and print what was found."""
    parser = argparse.ArgumentParser("tests.mutation")
    parser.add_argument("names", nargs="+")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(line)
    paths: list[Path] = []
    tests = []
    folders = []
    for name in options.names:
        if name.startswith("tests."):
            tests.append(name)
            continue
        path = Path(name).resolve()
        paths += sorted(path.rglob("*.py")) if path.is_dir() else [path]
        folders.append(path if path.is_dir() else path.parent)
    tests = tests or sorted({mirrored(folder) for folder in folders})
    results = []
    for path in paths:
        if not list(mutants(path.read_text("utf-8"))):
            continue
        sys.stderr.write(f"{path.relative_to(ROOT)} ")
        # Each begins without any module of ours.
        with get_context("fork").Pool(1) as pool:
            arguments = (path, tests, options.sample, options.seed)
            results.append(pool.apply(mutate, arguments))
    sys.stderr.flush()
    sys.stdout.write("\n".join(report(results)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
