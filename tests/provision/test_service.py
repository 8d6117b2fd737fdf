import os
import re
from pathlib import Path

from bridge.cli.command import NoDaemonError
from bridge.cli.session import connect
from bridge.provision import service
from bridge.provision.npm import SetupError
from bridge.settings.host import locate
from bridge.settings.values import Address

from ..npm import ROOT
from .systemctl import SystemctlCase, unit_of

UNIT = "plugin-bridge.service"


class UnitTests(SystemctlCase):
    def test_words(self) -> None:
        """No path of the user means anything to systemd."""
        text = service.unit_text(["/a b/x", "50%", "$HOME", 'q"\\', "l\nm"])
        (line,) = re.findall("^ExecStart=(.*)$", text, re.MULTILINE)
        expected = r'"/a b/x" 50%% $$HOME "q\"\\" "l\nm"'
        self.assertEqual(line, expected)
        # All else is as in the unit of the Debian package.
        packaged = (ROOT / "debian" / "plugin-bridge.user.service").read_text()
        self.assertEqual(text.replace(expected, "/usr/bin/plugin-bridge run"), packaged)


class ServiceTests(SystemctlCase):
    def setUp(self) -> None:
        super().setUp()
        self.place = locate("reference", self.home / "my data", None)
        self.place.data.create()
        self.options = ["--host", "reference", "--data-dir", str(self.home / "my data")]

    def refused(self) -> str:
        """Install what is refused; return why."""
        error = self.assertRaises(
            SetupError, service.install_service, self.place.data, self.options
        )
        return str(error)

    def test_life(self) -> None:
        """It is written, enabled and started; then stopped, disabled and deleted."""
        self.assertFalse(service.is_service_of(self.place))
        service.install_service(self.place.data, self.options)
        text = unit_of(self.home).read_text()
        words = f' run --host reference --data-dir "{self.home}/my data"\n'
        self.assertIn(words, text)
        program = text.partition("ExecStart=")[2].partition(words)[0]
        self.assertTrue(Path(program).is_absolute() and os.access(program, os.X_OK))
        enable = ["daemon-reload", f"enable {UNIT}", f"restart {UNIT}"]
        asked = [f"--user {words}" for words in ("show-environment", *enable)]
        self.assertEqual(self.asked(), asked)
        self.assertTrue(service.is_service_of(self.place))
        spelled = locate("reference", self.fake / "../my data", None)
        self.assertTrue(service.is_service_of(spelled))
        other = locate("reference", self.home / "my", None)
        self.assertFalse(service.is_service_of(other))
        service.install_service(self.place.data, self.options)
        (self.fake / "asked").unlink()
        service.remove_service()
        self.assertFalse(unit_of(self.home).exists())
        disable = [f"disable --now {UNIT}", "daemon-reload"]
        self.assertEqual(self.asked(), [f"--user {words}" for words in disable])

    def test_unit_of_the_package(self) -> None:
        """A service that was not written here is stopped, with its socket."""
        self.assertFalse(service.is_service_of(self.place))
        # One that is enabled would start at the next login, with no options.
        usual = locate("vrcnext", None, None)
        self.assertFalse(service.is_service_of(usual))
        for unit in (UNIT, "plugin-bridge.socket"):
            (self.fake / unit).touch()
            self.assertTrue(service.is_service_of(usual))
            self.assertFalse(service.is_service_of(self.place))
            self.assertEqual(service.unit_to_start(), unit)
            # What a page's connection starts, a command starts too.
            self.assertRaises(NoDaemonError, connect, usual)
            is_started = self.asked()[-1] == f"--user start {UNIT}"
            self.assertEqual(is_started, unit != UNIT)
            (self.fake / unit).unlink()
        # As with BRIDGE_HOST in its environment: it is of that host's directory alone.
        (self.fake / UNIT).touch()
        self.begin(self.place, as_service=True)
        self.assertFalse(service.is_service_of(usual))
        self.assertTrue(service.is_service_of(self.place))
        (self.fake / "asked").unlink()
        service.remove_service()
        stopped = f"--user disable --now {UNIT} plugin-bridge.socket"
        self.assertEqual(self.asked(), [stopped])
        shown = "Listen=127.0.0.1:1 (Stream)\nActiveState=active\n"
        (self.fake / "pid").write_text(shown)
        for port, is_there in ((1, True), (2, False)):
            found = service.is_socket_on(Address("127.0.0.1", port))
            self.assertEqual(found, is_there)

    def test_unit_of_somebody_else(self) -> None:
        """A unit that was written by hand stays."""
        unit_of(self.home).parent.mkdir(parents=True)
        unit_of(self.home).write_text("[Service]\n")
        self.assertIn("is not from plugin-bridge", self.refused())
        self.assertEqual(unit_of(self.home).read_text(), "[Service]\n")

    def test_directory_of_units(self) -> None:
        """It is made for this user alone; one that others can write is not used."""
        self.addCleanup(os.umask, os.umask(0))
        self.home.chmod(0o755)
        service.install_service(self.place.data, self.options)
        folder = unit_of(self.home).parent
        for made in (folder, folder.parent, self.home / ".config"):
            self.assertEqual(made.stat().st_mode & 0o777, 0o700)
            made.chmod(0o777)
        self.assertIn(f"first run: chmod go-w {made}", self.refused())

    def test_running_daemon(self) -> None:
        """A daemon that is not the service has to be stopped first."""
        started = self.begin(self.place, as_service=False)
        self.assertIn(f"); stop it first: kill {started.pid}", self.refused())
        self.assertFalse(unit_of(self.home).exists())
        (self.fake / "pid").write_text(f"{started.pid}\n")
        service.install_service(self.place.data, self.options)

    def test_refusals_of_systemd(self) -> None:
        """What systemd prints is passed on; without it there is no service or unit."""
        (self.fake / "refuses").touch()
        self.assertIn("to connect to bus; log in as this user, not by", self.refused())
        self.assertFalse(unit_of(self.home).exists())
        self.assertFalse(service.is_service_of(locate("reference", self.home, None)))
        # As where only this shell has the directory of the unit.
        (self.fake / "refuses").write_text("enable")
        self.assertIn("bus; if XDG_CONFIG_HOME is set in", self.refused())
        self.assertFalse(unit_of(self.home).exists())
        (self.fake / "refuses").write_text("restart")
        (self.fake / "pid").write_text("its port is taken\n")
        self.assertEqual(self.refused(), "--service: its port is taken")
        os.environ["PATH"] = str(self.home)
        self.assertIn("no systemctl in PATH", self.refused())

    def test_packaged_program(self) -> None:
        """The Debian package has a service already; a unit that hides it goes."""
        service.install_service(self.place.data, self.options)
        self.patch(service, "__file__", "/usr/lib/x/service.py")
        setup = f"plugin-bridge setup --service {self.place.typed}"
        self.assertEqual(service.starting_at_login(self.place), setup)
        self.assertTrue(service.is_hiding())
        self.assertIn("hid the package's service, and was removed", self.refused())
        self.assertFalse(unit_of(self.home).exists())
        self.assertIn("the package has a service already", self.refused())
