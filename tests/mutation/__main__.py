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
from collections.abc import Iterator
from pathlib import Path

from .mutants import mutants
from .runs import ROOT, Runs


def mutate(path: Path, tests: list[str], sample: int, seed: int) -> Iterator[str]:
    """
    Try the mutants of one module, and write what was found, line by line.

    :param tests: Names that trial can load.
    :param sample: How many mutants to try; all of them if 0.
    """
    found = list(mutants(path.read_text("utf-8")))
    if sample and sample < len(found):
        picked = random.Random(seed).sample(range(len(found)), sample)  # noqa: S311
        found = [found[number] for number in sorted(picked)]
    fails: list[bool] = []
    with tempfile.TemporaryDirectory() as scratch:
        runs = Runs.prepare(path, tests, Path(scratch))
        for one in found:
            names = runs.covering(one.lines)
            failed = bool(names) and runs.try_mutant(one.tree, names)
            if failed is None:
                continue
            fails.append(failed)
            if not failed:
                run_by = f"(run by {len(names)} tests)"
                yield f"  survives: line {one.line}: {one.change}  {run_by}"
    killed = f"{sum(fails)} of {len(fails)} mutants killed"
    yield f"{path.relative_to(ROOT)}: {killed}"
    yield from (f"  fails without a change: {test}" for test in runs.broken)


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
        if list(mutants(path.read_text("utf-8"))):
            for found in mutate(path, tests, options.sample, options.seed):
                print(found, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
