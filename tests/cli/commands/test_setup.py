"""``plugin-bridge setup``; what it installs is in ``tests/provision``."""

from unittest import mock

from attrs import evolve

from bridge.datadir.paths import DataDir
from bridge.plugins.bundle.build import Report
from bridge.provision.npm import SetupError
from bridge.settings.host import load_profile
from bridge.wiring import oneshot

from ...npm import esbuild, setup_options
from ..commandcase import CommandTestCase, Outcome


class CommandTests(CommandTestCase):
    """The command line."""

    def setUp(self):
        super().setUp()
        self.data = DataDir(self.root / "data")
        self.where = ["--host", "reference", "--data-dir", str(self.data.root)]
        self.errors: list[str] = []

    def setup(self, *arguments: str) -> Outcome:
        """Run it, with a build that comes to ``errors``."""
        report = Report(not self.errors, duration_ms=1, plugins=[], errors=self.errors)
        with mock.patch.object(oneshot, "run", return_value=report):
            return self.run_main("setup", *self.where, *arguments)

    def failed_with(self, why: str, *arguments: str) -> None:
        status, _, err = self.setup(*arguments)
        self.assertEqual((status, err), (1, f"plugin-bridge setup: {why}"))

    def test_done(self):
        """It reports what it did, and where; the exit status is 0."""
        out = self.done(self.setup(*setup_options(), "--force"))
        self.assertIn(f"everything is installed in {self.data.root}\n", out)
        bundle = self.data.root / "themes/reference-host/reference-host.js"
        self.assertTrue(out.endswith(f"the bundle is built: {bundle}\n"), out)

    def test_service(self):
        """With ``--service`` the daemon of this directory starts at each login."""
        given = (*setup_options(), "--service")
        install = self.enterContext(
            mock.patch("bridge.cli.commands.setup.install_service")
        )
        out = self.done(self.setup(*given))
        self.assertIn("see: systemctl --user status plugin-bridge\n", out)
        install.assert_called_once_with(self.data, self.where)
        self.errors = ["broken"]
        self.failed_with("broken\n", *given)
        self.assertEqual(install.call_count, 1)
        self.errors = []
        # The usual one is named as well: the service is recognised by it.
        usual = evolve(load_profile("reference").directories, data=str(self.data.root))
        profile = evolve(load_profile("reference"), directories=usual)
        with mock.patch("bridge.settings.options.load_profile", return_value=profile):
            self.setup(*given)
        self.assertEqual(install.mock_calls, [mock.call(self.data, self.where)] * 2)
        install.side_effect = SetupError("--service: no")
        self.failed_with("--service: no\n", *given)
        self.assertEqual(self.setup("--service", "--bundler-only")[0], 2)

    def test_not_built(self):
        """What keeps the bundle from being built is reported; the status is 1."""
        self.errors = ["broken"]
        self.failed_with("broken\n", *setup_options())
        # Of sources that don't fit the bundler says hundreds of lines.
        self.errors = ["first", *(f"line {n}\nmore" for n in range(99))]
        _, _, err = self.setup(*setup_options())
        self.assertLess(err.count("\n"), 15)
        self.assertTrue(err.endswith("\nand 188 lines more\n"), err)

    def test_bundler_only(self):
        """What was installed is not reported as everything."""
        given = ("--bundler", str(esbuild()), "--bundler-only")
        out = self.done(self.setup(*given))
        self.assertTrue(out.endswith(f"the bundler is installed in {self.data.root}\n"))
        self.assertEqual(self.setup(*given, "--host-sources", ".")[0], 2)

    def test_failed(self):
        """One line gives the reason, and the exit status is 1."""
        why = "cannot be read: No such file or directory"
        self.failed_with(
            f"the bundler {why}; --host-sources: {why}\n",
            *("--bundler", "/none", "--host-sources", str(self.root / "none")),
        )
