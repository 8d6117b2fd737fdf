"""Tests for ``tests.suite`` and ``tests.trial``: which test is run, and how often."""

import signal
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from . import suite
from .directories import fresh_directory
from .suite import ROOT
from .waiting import wait_until

TESTS = Path(__file__).parent


def below(name: str) -> Path:
    """Return the path of a module for trial, or of a directory for pytest."""
    if name.endswith(".py"):
        return suite.ROOT / name
    path = suite.ROOT / name if "/" in name else TESTS / name.removeprefix("tests.")
    return path if path.is_dir() else path.with_suffix(".py")


class PartsTests(SynchronousTestCase):
    """Tests for the parts."""

    def test_every_test_runs_once(self):
        """Each module of tests is in one part, with coverage and without."""
        modules = sorted(TESTS.rglob("test_*.py"))
        for measured in (False, True):
            names = [*suite.PACKAGES]
            for part in (
                *suite.soaking(),
                *suite.outside(),
                *suite.units(measured=measured),
            ):
                names += part.tests
            found: list[Path] = []
            for path in map(below, names):
                found += path.rglob("test_*.py") if path.is_dir() else [path]
            self.assertEqual(sorted(found), modules)

    def test_packages_of_tests(self):
        """Each directory of tests is a package, or trial would not see it."""
        for path in TESTS.rglob("test_*.py"):
            self.assertTrue((path.parent / "__init__.py").exists(), path)

    def test_functions(self):
        """Where trial runs, no test is a function, which trial would not see."""
        for part in suite.units(measured=False):
            for path in map(below, part.tests):
                for file in path.rglob("test_*.py") if path.is_dir() else [path]:
                    self.assertNotRegex(
                        file.read_text("utf-8"), r"(?m)^def test_", file
                    )

    def test_measured(self):
        """Coverage is measured in every part that counts, each into its own files."""
        parts = suite.units(measured=True)
        for part in parts:
            self.assertIn("coverage", part.command)
        self.assertEqual(len({part.data for part in parts}), len(parts))
        for part in (*suite.outside(), *suite.units(measured=False)):
            self.assertNotIn("coverage", part.command)


class PackagesTests(SynchronousTestCase):
    """Tests for the tests of packages."""

    def test_parts(self):
        """Each release of Debian has a part by itself, so that they run together."""
        first, second, rest = suite.packaging("-x")
        self.assertIn("-k=debian12", first.command)
        self.assertIn("-k=debian13", second.command)
        for part in (first, second, rest):
            self.assertIn("-x", part.command)
        tests = {*first.tests, *second.tests, *rest.tests}
        self.assertEqual(tests, set(suite.PACKAGES))


class SoakTests(SynchronousTestCase):
    """Tests for the soak of CI."""

    def test_part(self):
        """It runs what a person runs, for a few minutes, without coverage."""
        part = suite.soaking()[0]
        self.assertEqual(part.command[-2], "benchmarks.soak")
        self.assertEqual(part.command[-1], f"--minutes={suite.SOAK_MINUTES}")
        self.assertFalse(part.measured)

    def test_continuous_integration(self):
        """CI runs it, and fails when it fails."""
        run = (ROOT / ".ci" / "run").read_text("utf-8")
        self.assertIn("make --no-print-directory soak || status=$?\n", run)


class RunTests(SynchronousTestCase):
    """Tests for running parts."""

    def test_terminated(self):
        """A suite that is ended ends what it runs, and begins nothing more."""
        program = (
            "import sys\n"
            "from pathlib import Path\n"
            "from tests import suite\n"
            "suite.REPORTS = Path(sys.argv[1])\n"
            "work = (sys.executable, '-c', 'import os, time; print(os.getpid(), "
            "flush=True); time.sleep(600)')\n"
            "suite.Suite().run([suite.Part(f'p{n}', work) for n in range(99)])\n"
        )
        reports = fresh_directory(self)
        running = subprocess.Popen([sys.executable, "-c", program, reports], cwd=ROOT)
        first = reports / "p0.log"
        wait_until(lambda: first.exists() and first.read_text().endswith("\n"))
        running.terminate()
        self.assertEqual(running.wait(60), 128 + signal.SIGTERM)
        self.assertFalse(Path("/proc", first.read_text().strip()).exists())
        self.assertFalse((reports / "p98.log").exists())
