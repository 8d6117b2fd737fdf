"""
Runs the tests and the checks: ``python -m tests.suite check|test|packages|soak``.

Every test runs once: under trial what is tested from inside; under pytest what drives
daemons, commands and pages from outside, and what runs long. Parts run at the same
time: one for each processor, and some more where parts mostly wait. The report of each
is in ``artefacts/test``; that of pytest is printed last.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from types import FrameType
from typing import Final

from attrs import define, field, frozen

from .packaging.debian import RELEASES
from .trial import BY_PYTEST, modules

ROOT: Final = Path(__file__).resolve().parents[1]
REPORTS: Final = ROOT / "artefacts" / "test"
PACKAGES: Final = (
    "tests/packaging/test_debian.py",
    "tests/packaging/test_vendor.py",
    "tests/packaging/test_wheel.py",
)
WHOLE: Final = tuple(
    str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("tests/whole/test_*.py"))
)
SIXTHS: Final = 6
LONG: Final = ("model",)
"""Run next to the soak, since it takes a minute or more."""
OTHERS: Final = tuple(
    f"tests/{name}" for name in sorted(BY_PYTEST - {"whole", "packaging", *LONG})
)
SOAK_MINUTES: Final = 3
SLOWEST: Final = 20
ALONE: Final = {
    "plugins": ("tests.plugins",),
    "commands": ("tests.approval", "tests.cli"),
    "protocol": ("tests.protocol", "tests.schemas"),
}
"""Parts of the units besides the rest; the coverage of one is required to be whole."""

_PYTHON: Final = (sys.executable, "-m")
_TRIAL: Final = (sys.executable, "-W", "error", "-m", "tests.trial", "--reporter=text")
_COVERAGE: Final = (*_PYTHON, "coverage")


@frozen
class Part:
    """
    A command that can run while others do.

    :ivar name: One word; its report is ``artefacts/test/NAME.log``.
    :ivar tests: What it passes to its runner: modules for trial, paths for pytest.
    :ivar measured: Whether coverage is.
    """

    name: str
    command: tuple[str, ...]
    tests: tuple[str, ...] = ()
    measured: bool = False

    @property
    def report(self) -> Path:
        """The file with its output."""
        return REPORTS / f"{self.name}.log"

    def text(self) -> str:
        """Return its output."""
        return self.report.read_text("utf-8", "replace")

    @property
    def data(self) -> Path:
        """The beginning of the names of its files of coverage."""
        return REPORTS / f"coverage-{self.name}"


def checks() -> list[Part]:
    """What reads the code without running it."""
    return [
        Part("types", (*_PYTHON, "mypy")),
        Part("lint", (*_PYTHON, "ruff", "check", "--no-cache", ".")),
        Part("format", (*_PYTHON, "ruff", "format", "--no-cache", "--check", ".")),
        # The package has no __main__.
        Part("rooms", (str(Path(sys.executable).with_name("lint-imports")),)),
    ]


def units(*, measured: bool) -> list[Part]:
    """What trial runs, the longest parts first."""
    alone = {name for names in ALONE.values() for name in names}
    rest = tuple(name for name in modules() if name not in alone)
    parts = {"units": rest, **ALONE}
    return [_trial(name, tests, measured=measured) for name, tests in parts.items()]


def outside(*options: str) -> list[Part]:
    """What pytest runs, except for packages; the longest part first."""
    whole = (WHOLE[n::SIXTHS] for n in range(SIXTHS))
    return [
        _pytest("others", OTHERS, *options),
        *(_pytest(f"whole-{n}", paths, *options) for n, paths in enumerate(whole, 1)),
    ]


def _pytest(name: str, paths: tuple[str, ...], *more: str) -> Part:
    # Without coverage: each daemon that a test starts would take half as long again.
    options = ("-q", f"--durations={SLOWEST}", "--durations-min=5")
    return Part(name, (*_PYTHON, "pytest", *options, *more, *paths), paths)


def _trial(name: str, tests: tuple[str, ...], *, measured: bool) -> Part:
    run = _measured(*_TRIAL[3:]) if measured else _TRIAL
    scratch = f"--temp-directory={REPORTS / f'trial-{name}'}"
    return Part(name, (*run, scratch, *tests), tests, measured)


def _measured(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-W", "error", "-m", "coverage", "run", *arguments)


@define
class Suite:
    """
    Runs parts, as many at once as there are processors.

    :ivar failed: The names of those that failed.
    """

    failed: list[str] = field(factory=list)
    _processes: list[subprocess.Popen[bytes]] = field(factory=list)
    _starting: Lock = field(factory=Lock)
    _ending: bool = False

    def run(
        self, parts: Sequence[Part], last: Part | None = None, waiting: int = 0
    ) -> None:
        """
        Run all of them, and print the report of those that fail.

        :param last: The part whose report the caller prints.
        :param waiting: How many of them wait more than they compute.
        """
        with ThreadPoolExecutor(_processors() + waiting) as pool, self._all_end():
            futures = {pool.submit(self._run, part): part for part in parts}
            for future in as_completed(futures):
                part = futures[future]
                status, seconds = future.result()
                outcome = f"failed, status {status}" if status else "passed"
                _show(f"{part.name}: {outcome}, {seconds:.0f} s\n")
                if status:
                    self.failed.append(part.name)
                    if part is not last:
                        _show(part.text())

    def _run(self, part: Part) -> tuple[int, float]:
        begun = time.monotonic()
        with self._starting:
            if self._ending:
                return 1, 0.0
            with part.report.open("wb") as report:
                process = subprocess.Popen(
                    part.command,
                    cwd=ROOT,
                    env=_environment(part),
                    stdin=subprocess.DEVNULL,
                    stdout=report,
                    stderr=subprocess.STDOUT,
                )
                self._processes.append(process)
        return process.wait(), time.monotonic() - begun

    @contextmanager
    def _all_end(self) -> Iterator[None]:
        """Leave no process behind, however this one is ended."""
        before = signal.signal(signal.SIGTERM, _terminated)
        try:
            yield
        except BaseException:
            with self._starting:
                self._ending = True
            for process in self._processes:
                process.terminate()
            raise
        finally:
            signal.signal(signal.SIGTERM, before)

    def measure(self, parts: Sequence[Part]) -> None:
        """Combine the coverage of the parts and compare it with what is required."""
        combined = f"--data-file={REPORTS / 'coverage'}"
        for part in parts:
            one = f"--data-file={part.data}"
            self._coverage("combine", "-q", one)
            if part.name == "protocol":
                protocol = ("--include=bridge/protocol/*", "--fail-under=100")
                self._coverage("report", one, *protocol)
        data = [str(part.data) for part in parts if part.data.exists()]
        self._coverage("combine", "-q", combined, *data)
        self._coverage("report", combined)

    def _coverage(self, *arguments: str) -> None:
        line = (*_COVERAGE, *arguments)
        if subprocess.run(line, cwd=ROOT, check=False).returncode:
            self.failed.append(f"coverage {arguments[0]}")


def _environment(part: Part) -> dict[str, str]:
    # Tests find the commands of this environment, whether or not it is activated.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    if part.measured:
        environment["COVERAGE_FILE"] = str(part.data)
    return environment


def _show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _processors() -> int:
    return len(os.sched_getaffinity(0))


def _terminated(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def check() -> list[str]:
    """Run the checks, and the units without coverage; return what failed."""
    suite = Suite()
    # One part of the units mostly waits.
    suite.run([*units(measured=False), *checks()], waiting=1)
    return suite.failed


def test(*options: str) -> list[str]:
    """Run the checks and all tests except those of packages; return what failed."""
    suite = Suite()
    waiting = outside(*options)
    measured = units(measured=True)
    *long, short = measured
    # What computes runs next to what waits for daemons, browsers and desktops.  The
    # last ones are short, so that every processor is busy to the end.
    parts = [*long, *waiting, short, *checks()]
    last = waiting[-1]
    suite.run(parts, last, waiting=3)
    suite.measure(measured)
    _end_with(last, suite.failed)
    return suite.failed


def packaging(*options: str) -> list[Part]:
    """What tests the packages: each release of Debian by itself, and the wheel."""
    debian, *others = PACKAGES
    return [
        *(
            _pytest(str(release), (debian,), f"-k={release}", *options)
            for release in RELEASES
        ),
        _pytest("wheel", tuple(others), *options),
    ]


def packages(*options: str) -> list[str]:
    """Run the tests of the packages; return what failed."""
    suite = Suite()
    parts = packaging(*options)
    suite.run(parts, parts[-1])
    _end_with(parts[-1], suite.failed)
    return suite.failed


def soaking() -> list[Part]:
    """What runs a page for some minutes next to every abuse, and what runs long."""
    command = (*_PYTHON, "benchmarks.soak", f"--minutes={SOAK_MINUTES}")
    return [
        Part("soak", command),
        *(_pytest(name, (f"tests/{name}",)) for name in LONG),
    ]


def soak() -> list[str]:
    """Run the soak and the model; return what failed."""
    suite = Suite()
    parts = soaking()
    suite.run(parts, parts[0], waiting=1)
    _end_with(parts[0], suite.failed)
    return suite.failed


def _end_with(last: Part, failed: Sequence[str]) -> None:
    if failed:
        _show("failed: " + ", ".join(failed) + "\n")
    _show(last.text())


def main(arguments: Sequence[str]) -> int:
    """Run what is named; return the exit status."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    for old in REPORTS.glob("coverage*"):
        old.unlink()
    kind, *options = arguments or ("",)
    if kind == "check" and not options:
        failed = check()
    elif kind == "test":
        failed = test(*options)
    elif kind == "packages":
        failed = packages(*options)
    elif kind == "soak" and not options:
        failed = soak()
    else:
        sys.stderr.write(__doc__)
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
