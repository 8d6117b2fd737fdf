"""``doctor`` and its support bundle, as its user runs it."""

import contextlib
import io
import json
import os
import stat
import tarfile
from pathlib import Path

from twisted.internet.defer import Deferred, fail
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval.prompts import denied
from bridge.cli.checkup import Level
from bridge.cli.commands import doctor
from bridge.cli.terminal import CommandError
from bridge.settings.host import locate

from ...directories import fresh_directory
from ...e2e.daemon import HomeCase, run, running, set_up, started
from ...e2e.managerfixture import Desktop


class AnsweredTests(SynchronousTestCase):
    def test_denied(self) -> None:
        """That the user has denied it is fine, too."""
        answered = Deferred.fromCoroutine(doctor.answered(fail(denied("no"))))
        self.assertEqual(self.successResultOf(answered).level, Level.OK)


class SupportTests(SynchronousTestCase):
    def test_variables(self) -> None:
        """The daemon's variables, also by the names of the host, and no others."""
        place = locate("vrcnext", fresh_directory(self), None)
        environ = {"VRCNEXT_BRIDGE_WAYVR_ADDR": "[::1]:9", "VRCNEXT_TOKEN": "x"}
        # Not in UTF-8; and the home directory is known without HOME.
        environ["BRIDGE_LOG_FILE"] = f"{Path.home()}/\udcff"
        found = doctor.report_parts(place, [], environ)["variables.txt"].splitlines()
        expected = b"VRCNEXT_BRIDGE_WAYVR_ADDR=[::1]:9", b"BRIDGE_LOG_FILE=[redacted]/?"
        self.assertEqual(sorted(found, reverse=True), [*expected])

    def test_attack_pipe_in_place_of_a_log(self) -> None:
        """It is not waited for."""
        place = locate("vrcnext", fresh_directory(self), None)
        place.data.log.parent.mkdir(parents=True)
        os.mkfifo(place.data.log)
        parts = doctor.report_parts(place, [], {})
        self.assertEqual(parts["plugins.log"], b"")
        # Nor is a report described that is not written.
        with contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertRaises(CommandError, doctor.write_report, place.data.log, parts)
        self.assertEqual(err.getvalue(), "")


class DoctorTests(HomeCase):
    def setUp(self) -> None:
        super().setUp()
        # The usual port may be somebody else's here.
        self.anywhere = "--listen=127.0.0.1:0"
        set_up(self.home)

    def test_daemon_and_bundle(self) -> None:
        """A running daemon is found; the bundle holds no secret."""
        file = self.home / "report.tar.gz"
        with running(self.home) as daemon:
            secret = {"ns": "plugin:x", "key": "password", "value": "hunter2"}
            with daemon.page() as page:
                page.result("state", "set", secret)
            page_log = daemon.data / "logs" / "plugins.log"
            with page_log.open("a") as log:
                # The part that is too much ends somewhere in this line.
                log.write(f"{f'{self.home} ' * 8_000}\n")
                log.write(f"said {daemon.token} in {self.home}/x at https://u:p@h/\n")
            into = (*self.where, f"--bundle={file}")
            done = run(self.home, "doctor", *into, more={"BRIDGE_LOG": "debug"})
        self.assertIn("listens on 127.0.0.1:", done.stdout)
        self.assertIn("no prompt can be shown: ", done.stdout)
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("--dev", done.stdout.partition("notification server")[0])
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        listed = [
            line.split()[0] for line in done.stderr.splitlines() if "bytes" in line
        ]
        with tarfile.open(file) as tar:
            names = [Path(name).name for name in tar.getnames()]
            files = [tar.extractfile(name) for name in tar.getnames()]
            texts = [file.read().decode() for file in files if file is not None]
        self.assertEqual(listed, names)
        self.assertTrue(all(text.endswith("\n") for text in texts if text))
        whole = "\n".join(texts)
        for kept_out in (daemon.token, "hunter2", "password", self.home.name, "u:p"):
            self.assertNotIn(kept_out, whole)
        for printed in (
            "plugin:x: 1 values",
            "twisted ",
            "listening on http:",
            "BRIDGE_LOG=debug",
            "[redacted]",
        ):
            self.assertIn(printed, whole)

    def test_json_is_all_there_is(self) -> None:
        """Other output goes to standard error; a daemon with --dev is reported."""
        file = self.home / "report.tar.gz"
        with running(self.home, "--dev"):
            done = run(self.home, "doctor", *self.where, "--json", f"--bundle={file}")
        report = json.loads(done.stdout)
        found = {f["name"]: f for f in report["findings"]}
        self.assertEqual(found["daemon"]["level"], Level.NOTE)
        self.assertIn("with --dev", found["daemon"]["text"])
        self.assertIn("start it without --dev", found["daemon"]["fix"])
        self.assertIn("doctor.json", done.stderr)
        self.assertIn(f"wrote {file}", done.stderr)

    def test_no_prompt_is_shown(self) -> None:
        """Without a server, nobody is asked to answer a prompt."""
        done = run(self.home, "doctor", *self.where, self.anywhere, "--prompt")
        self.assertEqual(done.stderr, "")
        self.assertIn("WRONG test prompt: approval_unavailable", done.stdout)

    def test_prompt_is_clicked(self) -> None:
        """The test prompt is a real one: that Confirm was chosen is reported."""
        desktop = Desktop()
        self.addCleanup(desktop.end)
        desktop.start()
        more = desktop.bus.environment
        options = *self.where, self.anywhere, "--prompt"
        with started(self.home, "doctor", *options, more=more) as command:
            desktop.confirm()
            self.assertEqual(command.wait(), 0)
        printed = "".join(command.lines)
        self.assertIn("test prompt: you confirmed it\n", printed)
        self.assertIn("notification server: dunst", printed)
