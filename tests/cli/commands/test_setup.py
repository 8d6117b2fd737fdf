"""``plugin-bridge setup``; what it installs is in ``tests/provision``."""

from __future__ import annotations

from unittest import mock

from attrs import evolve

from bridge.datadir.paths import DataDir
from bridge.plugins.bundle.build import Report
from bridge.provision.npm import SetupError
from bridge.settings.host import load_profile
from bridge.wiring import oneshot

from ...npm import esbuild, setup_options
from ..commandcase import CommandTestCase


class CommandTests(CommandTestCase):
    """The command line."""

    report = Report(ok=True, duration_ms=1, plugins=[], errors=[])

    def setUp(self):
        """Choose a data directory that is not there yet."""
        super().setUp()
        self.data = DataDir(self.root / "data")

    def setup(self, *arguments: str) -> tuple[int, str, str]:
        """Run it; return the exit status and its output."""
        where = ["--host", "reference", "--data-dir", str(self.data.root)]
        with mock.patch.object(oneshot, "run", return_value=self.report):
            return self.run_main("setup", *where, *arguments)

    def test_done(self):
        """It reports what it did, and where; the exit status is 0."""
        out = self.done(self.setup(*setup_options(), "--force"))
        self.assertIn(f"everything is installed in {self.data.root}\n", out)
        bundle = self.data.root / "themes/reference-host/reference-host.js"
        self.assertTrue(out.endswith(f"the bundle is built: {bundle}\n"), out)

    def test_service(self):
        """With ``--service`` the daemon of this directory starts at each login."""
        given = (*setup_options(), "--service")
        name = "bridge.cli.commands.setup.install_service"
        with mock.patch(name) as install:
            status, out, _ = self.setup(*given)
            self.report = Report(ok=False, duration_ms=1, plugins=[], errors=["broken"])
            self.assertEqual(self.setup(*given)[0], 1)
        self.assertEqual(status, 0)
        self.assertIn("see: systemctl --user status plugin-bridge\n", out)
        options = ["--host", "reference", "--data-dir", str(self.data.root)]
        install.assert_called_once_with(self.data, options)
        # The usual one is named as well: the service is recognised by it.
        usual = evolve(load_profile("reference").directories, data=str(self.data.root))
        profile = evolve(load_profile("reference"), directories=usual)
        with (
            mock.patch("bridge.settings.options.load_profile", return_value=profile),
            mock.patch(name) as install,
        ):
            self.report = Report(ok=True, duration_ms=1, plugins=[], errors=[])
            self.setup(*given)
        install.assert_called_once_with(self.data, options)
        self.report = Report(ok=True, duration_ms=1, plugins=[], errors=[])
        with mock.patch(name, side_effect=SetupError("--service: no")):
            refused = self.setup(*given)
        self.assertEqual(
            (refused[0], refused[2]), (1, "plugin-bridge setup: --service: no\n")
        )
        self.assertEqual(self.setup("--service", "--bundler-only")[0], 2)

    def test_not_built(self):
        """What keeps the bundle from being built is reported; the status is 1."""
        self.report = Report(ok=False, duration_ms=1, plugins=[], errors=["broken"])
        status, _, err = self.setup(*setup_options())
        self.assertEqual((status, err), (1, "plugin-bridge setup: broken\n"))
        # Of sources that don't fit the bundler says hundreds of lines.
        errors = ["first", *(f"line {n}\nmore" for n in range(99))]
        self.report = Report(ok=False, duration_ms=1, plugins=[], errors=errors)
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
        status, _, err = self.setup(
            "--bundler", "/none", "--host-sources", str(self.root / "none")
        )
        self.assertEqual(status, 1)
        self.assertEqual(err.count("\n"), 1)
        self.assertTrue(
            err.startswith("plugin-bridge setup: the bundler cannot be read")
        )
