"""What ``status`` shows."""

import os
from unittest.mock import Mock, patch

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from bridge import __version__
from bridge.cli import checkup, session
from bridge.cli.command import NoDaemonError
from bridge.cli.commands.status import Overview, problems_of
from bridge.cli.session import Session, connect, other_daemons
from bridge.datadir.paths import DataDir
from bridge.settings.host import load_profile, locate
from bridge.settings.values import Address
from bridge.system.locks import acquire

from ...directories import fresh_directory

GOOD = Overview(
    "running, version 1", "App (app)", "/d", "/b.js", "2026-01-01T00:00:00Z", "x", 2,
    [], [], [], [],
)  # fmt: skip


class OverviewTests(SynchronousTestCase):
    def test_nothing_wrong(self):
        """All is well in eight lines."""
        lines = GOOD.lines()
        self.assertEqual(len(lines), 8)
        self.assertEqual(lines[-2:], ["updates: none", "problems: none"])

    def test_not_known(self):
        """What could not be looked at is not called up to date."""
        for updates, words in (([], ""), (["a"], "a; ")):
            lines = evolve(GOOD, updates=updates, unknown=["b", "c"]).lines()
            self.assertIn(f"updates: {words}not known for b, c", lines)

    def test_at_most_ten(self):
        """However much is wrong, ten lines at most; the rest is counted."""
        problems = [f"problem {n}\nmore" for n in range(50)]
        lines = evolve(GOOD, problems=problems, off=["a"], updates=None).lines()
        self.assertEqual(len(lines), 10)
        self.assertIn("and 47 more", lines[-1])
        self.assertFalse([line for line in lines if "\n" in line])

    def test_problems(self):
        """A daemon that cannot build, cannot ask or approves everything is wrong."""
        place = locate("reference", fresh_directory(self), None)
        good = {"plugins": {"confirmation": "a notification"}}
        asked = Session(place, Mock(), Mock())
        asked.welcome = welcome = {"version": __version__, "services": good}
        self.assertEqual(problems_of(asked, [], "now"), [])
        about = {"confirmation": "none: refused", "cannotBuild": "cannot build: x"}
        plugins = [{"id": "p", "problem": "policy: y"}, {"id": "q"}]
        welcome["services"] = {"plugins": about}
        found = problems_of(asked, plugins, None)
        self.assertEqual(found[0], "cannot build: x")
        self.assertTrue(found[1].endswith(f"run: plugin-bridge doctor {place.typed}"))
        self.assertEqual(found[2:], ["p is left out of builds: policy: y"])
        # It asks nobody, so it needs no prompt.
        welcome["services"] = {"plugins": about, "remote": {}}
        found = problems_of(asked, [], "now")
        self.assertEqual(len(found), 2)
        self.assertIn("--dev is on", found[1])
        # After an upgrade the daemon of before still runs.
        welcome |= {"services": good, "version": "0"}
        with patch.object(session, "is_service_of", return_value=True):
            found = problems_of(asked, [], None)
        self.assertIn("; run: systemctl --user restart plugin-bridge", found[0])
        self.assertIn("there is no bundle; run: plugin-bridge setup --host", found[1])

    def test_other_host(self):
        """A daemon of another host, in its usual directory, is named."""
        home = fresh_directory(self)
        self.patch(os, "environ", {**os.environ, "HOME": str(home)})
        place = locate("vrcnext", home / "data", None)
        self.assertEqual(list(other_daemons(place)), [])
        data = DataDir(load_profile("reference").data_dir())
        data.create()
        self.addCleanup(acquire(data.lock).release)
        refusal = self.assertRaises(NoDaemonError, connect, place)
        self.assertIn("the host reference has one: add --host ref", str(refusal))
        other = locate("reference", home / "d", None)
        self.assertEqual(list(other_daemons(other)), [])
        listen = Address("127.0.0.1", 0)
        self.patch(checkup, "is_taken", lambda _: True)
        another = "another program, or a daemon with another data dir"
        its = "if you mean that one, add --host reference; else stop it, or"
        for published, who, fix in (
            (listen, "the daemon of the host reference listens on", its),
            ("127.0.0.1:1", another, "stop it, or"),
            ("x", another, "stop it, or"),
        ):
            data.address.write_text(f"{published}\n")
            found, _ = checkup.daemon(place, listen)
            self.assertIn(who, found.text)
            self.assertEqual(found.fix[: len(fix)], fix)
            self.assertEqual(found.level, checkup.Level.WRONG)
