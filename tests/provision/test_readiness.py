"""Whether the daemon could build now."""

from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.esbuild.executable import BUNDLER_FILES
from bridge.provision import readiness
from bridge.provision.readiness import build_problem
from bridge.settings.host import locate

from ..directories import closed_below, fresh_directory, planted, write_files


class ReadinessTests(SynchronousTestCase):
    def setUp(self):
        self.root = fresh_directory(self)
        self.place = locate("reference", self.root, None)
        self.sources = self.place.profile.needed_sources
        self.assertEqual(self.sources[2:], ("host/packages/host/src/realm/runtime.ts",))
        write_files(self.root, dict.fromkeys((*BUNDLER_FILES, *self.sources), ""))

    def test_each_missing_file(self):
        """Each file's lack is reported, with the command that installs it."""
        for name in (*BUNDLER_FILES, *self.sources):
            (self.root / name).unlink()
            problem = build_problem(self.place)
            own = f"host sources ({name} is missing)"
            what = "bundler" if name in BUNDLER_FILES else own
            self.assertIn(f"no {what}; run: plugin-bridge setup", problem)
            self.assertIn(f"--data-dir {self.root}", problem)
            (self.root / name).touch()

    def test_where_sources_are(self):
        """A host whose sources do not ship names where to get them, and the option."""
        for name in self.sources:
            (self.root / name).unlink()
        problem = build_problem(locate("vrcnext", self.root, None))
        self.assertIn("is missing); download vrcnext-plugin-host-src", problem)
        self.assertIn("; then run: plugin-bridge setup --host-sources ARCHIVE", problem)

    def test_theme_directory(self):
        """One that can't be written, or that others can write, is named with a fix."""
        with mock.patch("os.access", return_value=False):
            problem = build_problem(self.place)
        self.assertIn("cannot be written; make it writable, or choose", problem)
        folder = self.place.bundle.parent
        folder.parent.mkdir(parents=True)
        folder.symlink_to(folder.name)
        self.assertIn("cannot be written", build_problem(self.place))
        folder.unlink()
        folder.mkdir()
        self.assertEqual(build_problem(self.place), "")
        planted(self, folder)
        self.assertIn(str(folder), build_problem(self.place))

    def test_below_a_closed_directory(self):
        """What can't even be looked for is reported, and ends no start."""
        within = self.root / "closed"
        place = locate("reference", self.root, within / "themes")
        below = locate("reference", within / "data", None)
        with closed_below(within), mock.patch("os.access", return_value=False):
            self.assertIn("closed/themes cannot be written", build_problem(place))
            self.assertIn("no bundler", build_problem(below))

    def test_system_without_esbuild(self):
        """A system for which there is no esbuild needs no setup."""
        self.patch(readiness, "pin_for", lambda: None)
        self.assertIn("for this system", build_problem(self.place))
