"""``plugin-bridge dev`` with a real daemon, a real bundler and real files."""

import signal
import socket
from urllib.parse import urlsplit

from ..directories import write_files
from ..waiting import wait_until
from .browser import open_browser
from .daemon import HomeCase, running, set_up, started
from .test_install import tree

LINK = ".tmp-dev-mine"


class DevTests(HomeCase):
    def setUp(self):
        super().setUp()
        set_up(self.home)
        self.tree = self.home / "work" / "mine"
        write_files(self.tree, tree("mine"))

    def write(self, name, content):
        (self.tree / name).write_text(content)

    def replace(self, old, new):
        path = self.tree / "main.ts"
        path.write_text(path.read_text().replace(old, new))

    def dev(self):
        """Run the command until the block ends, or the block has ended it."""
        return started(self.home, "dev", *self.where, str(self.tree))

    @property
    def bundle(self):
        """The published bundle; empty when there is none."""
        path = self.data / "themes" / "reference-host" / "reference-host.js"
        return path.read_bytes() if path.exists() else b""

    def trees(self):
        return sorted(path.name for path in (self.data / "plugins").iterdir())

    def test_edit_and_see(self):
        """The bundle follows the files: good ones are in it, bad ones are reported."""
        with running(self.home, "--dev") as daemon, daemon.page() as page:
            with self.dev() as dev:
                dev.wait_for("linked mine 1.0.0")
                dev.wait_for("built in")
                self.assertIn(b"Marker of mine", self.bundle)
                self.assertEqual(self.trees(), [LINK])
                (entry,) = page.result("plugins", "list")["plugins"]
                self.assertEqual((entry["id"], entry["dev"]), ("mine", True))
                self.assertEqual(entry["keyId"], "")
                events = [p["event"] for p in page.pushes if p["event"] != "log"]
                self.assertEqual(events, ["plugins", "build"])
                # No page has a way to the command's own service.
                asked = {"directory": str(self.tree), "files": ["main.ts"]}
                for call in (page.call, daemon.call_by_http):
                    error = call("dev", "link", asked)["error"]
                    self.assertEqual(error["code"], "unknown_service")
                self.assertNotIn("dev", page.welcome["services"])

                self.replace("Marker of mine", "Another marker")
                dev.wait_for("built in")
                self.assertIn(b"Another marker", self.bundle)

                self.replace("Another marker", "Evil marker');eval('")
                dev.wait_for("refused: policy: main.ts:6 eval")
                dev.wait_for(r"^ +ctx\.ui\.card\('Evil marker'\);eval\(''\);$")
                dev.wait_for("the last good build stays")
                self.write("main.ts", tree("mine")["main.ts"] + "import './gone';\n")
                dev.wait_for("refused: build_failed")
                dev.wait_for(r"^ +main\.ts:9:")
                self.assertIn(b"Another marker", self.bundle)
                self.assertEqual(self.trees(), [LINK])

                self.write("main.ts", tree("mine")["main.ts"])
                dev.wait_for("built in")
                self.assertIn(b"Marker of mine", self.bundle)
                self.assertEqual(dev.stop(signal.SIGINT), 0)
            wait_until(lambda: b"Marker of mine" not in self.bundle)
            wait_until(lambda: self.trees() == [])
            self.assertEqual(page.result("plugins", "list")["plugins"], [])

    def test_page_reloads(self):
        """The page of ``dev`` runs each build; log lines and faults are shown."""
        card = "[data-testid=plugin-card-mine]"
        source = tree("mine")["main.ts"]
        call = "    ctx.ui.card"
        logging = f"    ctx.logger.info('said hello');\n{call}"
        line = source[: source.index(call)].count("\n") + 1
        throwing = f"    throw new RangeError('too far');\n{call}"
        self.write("part.ts", "export function fail(): never {\n  null!.x;\n}\n")
        later = "import { fail } from './part';\n" + source.replace(
            call, f"    setTimeout(() => fail(), 1);\n{call}"
        )
        with running(self.home, "--dev"), self.dev() as dev:
            address = dev.wait_for(r"^page: (\S+)$")
            dev.wait_for("built in")
            with open_browser() as browser:
                # A browser has fewer connections than there are tabs.
                for _ in range(7):
                    browser.chrome.switch_to.new_window("tab")
                    browser.open(address)
                    browser.until_text(card, "Marker of mine")
                self.write("main.ts", source.replace(call, logging))
                # The page is paired, and runs the new build without a click.
                dev.wait_for(r"info  said hello$")
                browser.until_text(card, "Marker of mine")
                self.replace("Marker of mine", "Another marker")
                browser.until_text(card, "Another marker")
                browser.chrome.execute_script("location.hash = '#/plugins/mine'")
                browser.until_text("#plugin", "Being developed on this computer.")
                self.assertNotIn("Uninstall", browser.text("#plugin"))
                self.assertEqual(browser.console_errors(), [])
                self.write("main.ts", source.replace(call, throwing))
                dev.wait_for(rf"error .*RangeError: too far \(main\.ts:{line}\)")
                self.write("main.ts", later)
                dev.wait_for(r"error .*TypeError: .* \(part\.ts:2\)")
                self.assertEqual(dev.stop(signal.SIGINT), 0)
                # What listens there later, another program, is not asked for builds.
                there = "127.0.0.1", urlsplit(address).port
                with socket.create_server(there) as later:
                    later.settimeout(4)  # a browser tries again after three seconds
                    self.assertRaises(TimeoutError, later.accept)
