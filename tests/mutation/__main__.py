"""
Shows which changes of a module no test notices.

``python -m tests.mutation [--sample N] [--seed S] PATH ... [TESTS ...]``:
each PATH is a module of ``bridge``, or a folder of them; TESTS are what trial can run,
by default the folders of tests that mirror the paths.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Iterable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from .mutants import mutants
from .runs import ROOT, Runs


def mutate(path: Path, tests: list[str], sample: int, seed: int) -> dict[str, Any]:
    """
    Try the mutants of one module, and return what is known of them.

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
            killed = bool(selected) and runs.try_mutant(mutant.tree, selected)
            tried.append(
                {
                    "line": mutant.line,
                    "change": mutant.change,
                    "covered": len(selected),
                    "killed": killed,
                }
            )
            sys.stderr.write("!" if killed is None else "k" if killed else ".")
            sys.stderr.flush()
    sys.stderr.write("\n")
    return {
        "path": str(path.relative_to(ROOT)),
        "mutants": tried,
        "broken": runs.broken,
    }


def report(result: dict[str, Any]) -> Iterable[str]:
    """Write what was found of a module, line by line."""
    loaded = [mutant for mutant in result["mutants"] if mutant["killed"] is not None]
    survivors = [mutant for mutant in loaded if not mutant["killed"]]
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
    for path in paths:
        if not list(mutants(path.read_text("utf-8"))):
            continue
        sys.stderr.write(f"{path.relative_to(ROOT)} ")
        # Each begins without any module of ours.
        with get_context("fork").Pool(1) as pool:
            arguments = (path, tests, options.sample, options.seed)
            found = pool.apply(mutate, arguments)
        sys.stdout.write("\n".join(report(found)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
