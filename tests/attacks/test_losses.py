"""What users and other plugins lose on one page with greedy ones: nothing."""

import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from ..classfixtures import ClassFixtureCase
from ..e2e.browser import ARTEFACTS, PATIENCE_SECONDS, open_browser
from ..e2e.daemon import running
from ..reference.bundling import lay_out_page
from ..webserver import serving_directory
from .greedy import NO_IDS, greedy, honest
from .placing import place
from .running import FLAGS

# Less than usual, so that it is soon full.
_MEMORY = "--js-flags=--max-old-space-size=160"
_MOST_CARDS = 16
_ROOM = '[data-testid="plugin-cards-%s"]'
_ROW = '[data-testid="plugin-%s"]'
_LOSSES = Path(__file__).with_name("losses.js").read_text("utf-8")


def _slowness() -> float:
    """How many programs share a processor; at least one."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


class LossTests(ClassFixtureCase):
    """Tests for what is left to the others, on one page for all of them."""

    @classmethod
    def set_up_all(cls) -> None:
        enter = cls.enterClassContext
        home = Path(enter(TemporaryDirectory(prefix="bridge-losses-")))
        bundle = place(home, [*greedy(), honest()], NO_IDS)
        cls.overlay = enter(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        cls.overlay.bind(("127.0.0.1", 0))
        cls.overlay.settimeout(PATIENCE_SECONDS)
        overlay = f"--overlay-addr=127.0.0.1:{cls.overlay.getsockname()[1]}"
        cls.daemon = enter(running(home, "--dev", overlay))
        lay_out_page(home / "site", bundle.parent)
        cls.page = enter(serving_directory(home / "site"))
        cls.browser = enter(open_browser(*FLAGS, _MEMORY))
        cls.browser.open(f"{cls.page}/page.css")
        cls.browser.chrome.execute_script(
            "localStorage.setItem('plugin-bridge.endpoint', arguments[0]);"
            "localStorage.setItem('plugin-bridge.token', arguments[1]);",
            f"http://127.0.0.1:{cls.daemon.port}",
            cls.daemon.token,
        )
        cls.browser.open(f"{cls.page}/#/plugins")

    def tearDown(self) -> None:
        """After each, the honest plugin goes on, and has lost nothing."""
        self.assert_honest()

    def script(self, script: str, *arguments):
        return self.browser.chrome.execute_script(script, *arguments)

    def text(self, selector: str) -> str:
        """The text of what may be hidden; empty when it is not there."""
        query = "return document.querySelector(arguments[0])?.textContent ?? ''"
        return str(self.script(query, selector))

    def status(self, plugin: str) -> str:
        query = "return document.querySelector(arguments[0])?.dataset.status"
        return str(self.script(query, _ROW % plugin))

    def until(self, true: Callable[[], bool]) -> None:
        self.browser.until("it is as it should be", true)

    def until_status(self, plugin: str, *statuses: str) -> None:
        """Wait until the list shows a plugin so, in one of some ways."""
        self.until(lambda: self.status(plugin) in statuses)

    def honest(self) -> dict[str, int]:
        shown = self.text(f"{_ROOM % 'honest'} p")
        return dict(json.loads(shown)) if shown else {"rounds": 0}

    def assert_honest(self) -> None:
        """Its rounds go on, nothing that it did has failed or waited for long."""
        before = self.honest()["rounds"]
        self.until(lambda: self.honest()["rounds"] >= before + 20)
        now = self.honest()
        self.assertEqual(now["failed"], 0)
        self.assertLess(now["slowest"], 3_000 * _slowness())
        self.assertEqual(self.status("honest"), "running")

    def switch(self, plugin: str) -> None:
        """Press the switch of a plugin, as a user does."""
        self.browser.click(f"#switch-{plugin}")

    def switched_off(self, plugin: str) -> None:
        """Switch it off: within two seconds nothing of it is left."""
        begun = time.monotonic()
        self.switch(plugin)
        self.until_status(plugin, "off")
        self.assertLess(time.monotonic() - begun, 3.0 * _slowness())
        self.assertEqual(self.text(_ROOM % plugin), "")

    def log_lines(self) -> list[str]:
        """The page's log, as the daemon has it."""
        logs = self.daemon.data / "logs"
        texts = [path.read_text("utf-8") for path in sorted(logs.glob("plugins.log*"))]
        return "".join(texts).splitlines()

    def test_0_named(self) -> None:
        """D1, D3, D9: what can't start is named, with its line; the others run."""
        for plugin, reason in (
            ("unparsable", "SyntaxError: Invalid regular expression"),
            ("many-arguments", "Maximum call stack size exceeded (main.ts:2)"),
            ("failing", "TypeError: on purpose (main.ts:7)"),
            ("speaking", "TypeError: self.postMessage is not a function"),
        ):
            self.until_status(plugin, "failed")
            self.assert_reason(plugin, reason)
        for plugin in (
            "filler",
            "lingering",
            "marks",
            "naming",
            "deep",
            "returning",
        ):
            self.until_status(plugin, "running")
        self.assertEqual(self.status("unending"), "starting")

    def assert_reason(self, plugin: str, reason: str) -> None:
        """The log names a plugin and why it does not run."""
        named = f"[{plugin}] "
        self.until(
            lambda: any(named in line and reason in line for line in self.log_lines())
        )

    def test_2_floods(self) -> None:
        """W: what takes its port from our runtime is stopped at the first breach."""
        for plugin in ("flooding", "swelling", "redrawing", "porting"):
            self.until_status(plugin, "failed" if plugin == "flooding" else "stopped")
            self.assert_reason(plugin, "the plugin broke a rule of its port")
        self.assertTrue(self.browser.find("#start-swelling").is_displayed())

    def test_3_silent(self) -> None:
        """W: a plugin that hangs is shown so, and is stopped by its switch."""
        silent = "frozen-later", "hanging"
        for plugin in silent:
            self.until_status(plugin, "silent")
        self.browser.chrome.set_window_size(1000, 2400)
        self.browser.picture(ARTEFACTS / "greedy.png")
        for plugin in silent:
            self.switched_off(plugin)

    def test_4_off(self) -> None:
        """D3: off is the end of timers, cards and settings, whatever was started."""
        for plugin in ("lingering", "unending"):
            self.switched_off(plugin)
        before = [line for line in self.log_lines() if "goes on" in line]
        self.assert_honest()
        after = [line for line in self.log_lines() if "goes on" in line]
        self.assertEqual(after[len(before) + 1 :], [])
        self.assertFalse([line for line in after if "failing goes on" in line])
        self.switch("lingering")
        self.until_status("lingering", "running")

    def test_5_cards(self) -> None:
        """W: cards made on an overflowing stack count like all others."""
        cards = "return document.querySelectorAll(arguments[0]).length"
        one = '[data-testid="plugin-card-deep"]'
        self.assertIn(self.script(cards, one), range(1, _MOST_CARDS + 1))

    def test_5_store(self) -> None:
        """D2: a full store is the plugin's own; switches are saved next to it."""
        self.until(lambda: "too_large" in self.text(_ROOM % "filler"))
        self.switched_off("filler")

    def test_1_questions(self) -> None:
        """D4, D5, D8: a press counts when it can be read; two noes are enough."""
        self.browser.find("#question")
        title = self.browser.text("#question-title")
        self.assertLess(len(title), 160)
        self.script(f"{_LOSSES} pressAtOnce()")
        self.browser.answer("no")
        self.until(lambda: self.script("return globalThis.pressed === 1"))
        self.browser.answer("no")
        self.until(lambda: self.text("#question-title") == "")
        self.assert_honest()
        self.assertEqual(self.text("#question-title"), "")
        with self.daemon.page() as page:
            entry = page.result("state", "get", {"ns": "host", "key": "grants:asking"})
        self.assertIsNone(entry.get("value"))
        self.until(lambda: "it asks no more" in self.text(_ROW % "asking"))
        self.browser.click(f"{_ROW % 'asking'} .what button")
        self.browser.find("#question")
        self.browser.answer("off")
        self.until_status("asking", "off")

    def test_6_calls(self) -> None:
        """D6: next to a flood of calls, switches are saved at once."""
        self.until_status("starving", "running")
        begun = time.monotonic()
        self.switch("deep")
        self.until_status("deep", "off")
        self.assertLess(time.monotonic() - begun, 3.0 * _slowness())
        self.switched_off("starving")

    def test_7_load(self) -> None:
        """D1: one that never ends loading is stopped by itself, and named."""
        self.until_status("stuck", "failed")
        self.assert_reason("stuck", "it did not load in time")

    def test_7_log(self) -> None:
        """W: a plugin that logs without end hides no line of the others."""
        self.switched_off("logging")
        lines = self.log_lines()
        self.assertTrue(
            [line for line in lines if "failed to start: TypeError" in line]
        )

    def test_8_marks(self) -> None:
        """D11: what a card draws stays on it."""
        style = self.script(
            "const card = document.querySelector(arguments[0]);"
            "const { overflowX, contain } = getComputedStyle(card);"
            "return [overflowX, contain]",
            '[data-testid="plugin-card-marks"]',
        )
        self.assertEqual(style, ["clip", "paint"])

    def test_8_names(self) -> None:
        """D7: nothing speaks as the page or the daemon, though its tree is there."""
        for plugin in NO_IDS:
            self.assertTrue((self.daemon.data / "plugins" / plugin).is_dir())
            self.assertEqual(self.text(_ROOM % plugin), "")
            self.assertIn(self.status(plugin), ("left-out", "None"))
        said = [line for line in self.log_lines() if "enter your password" in line]
        self.assertEqual(said, [])

    def test_8_sender(self) -> None:
        """W: a notification says which plugin it is of, to each sink."""
        self.browser.open(f"{self.page}/#/home")
        self.browser.click(f"{_ROOM % 'naming'} button")
        self.browser.open(f"{self.page}/#/plugins")
        for _ in range(2):
            shown = json.loads(self.overlay.recv(65_536))
            self.assertEqual(shown["sourceApp"], "Naming (plugin)")

    def test_8_snippets(self) -> None:
        """A page that is not served for it evaluates nothing, whoever asks."""
        refused = self.daemon.call_by_http("remote", "eval", {"code": "return 1"})
        self.assertTrue(refused["error"].startswith("EvalError: "), refused)

    def test_8_objects(self) -> None:
        """W: only texts, and the beginnings of errors, come into the page."""
        self.script(f"{_LOSSES} noteObjects()")
        self.browser.open(f"{self.page}/#/home")
        self.browser.click(f"{_ROOM % 'cloning'} button")
        self.browser.open(f"{self.page}/#/plugins")
        self.until_status("cloning", "stopped")
        self.assertFalse(self.script("return globalThis.hasRead ?? false"))

    def test_8_shouts(self) -> None:
        """W: what a plugin writes and throws is no work for what all share."""
        self.browser.open(f"{self.page}/#/home")
        self.browser.click(f"{_ROOM % 'shouting'} button")
        self.assert_reason("shouting", "Error: on purpose")
        self.assert_reason("shouting", "more lines were left out")
        self.browser.open(f"{self.page}/#/plugins")
        self.assert_honest()
        self.switched_off("shouting")

    def test_8_tables(self) -> None:
        """W: tables and texts that are not on the screen are not laid out."""
        self.browser.open(f"{self.page}/#/home")
        laid_out = (
            "return [...document.querySelectorAll(arguments[0])].map((cell) =>"
            "  cell.checkVisibility({ contentVisibilityAuto: true }))"
        )
        cells, texts = (f"{_ROOM % 'crowding'} {part}" for part in ("td", "p"))
        self.until(lambda: False in self.script(laid_out, cells))
        styles = (
            "return [...document.querySelectorAll(arguments[0])].map((text) =>"
            "  getComputedStyle(text).contentVisibility)"
        )
        self.assertEqual(self.script(styles, texts), ["auto", "auto"])
        self.browser.open(f"{self.page}/#/plugins")

    def test_8_uninstalled(self) -> None:
        """D10: settings of a plugin that is uninstalled go with it, and stay away."""
        settings = {"ns": "plugin:returning"}
        with self.daemon.page() as page:
            self.until(lambda: bool(page.result("state", "list", settings)["entries"]))
            page.result("plugins", "uninstall", {"id": "returning"})
            self.assert_honest()
            self.assertEqual(page.result("state", "list", settings)["entries"], {})
            self.assertEqual(self.text(_ROOM % "returning"), "")

    def test_9_memory(self) -> None:
        """One that fills the memory of all ends all, and all come back."""
        before = self.honest()["written"]
        self.browser.open(f"{self.page}/#/home")
        self.browser.click(f"{_ROOM % 'bursting'} button")
        lines = "all plugins stopped at once"
        self.until(lambda: any(lines in line for line in self.log_lines()))
        self.browser.open(f"{self.page}/#/plugins")
        for plugin in ("honest", "bursting", "lingering", "marks"):
            self.until_status(plugin, "running")
        self.assertGreaterEqual(self.honest()["written"], before)

    def test_reloads(self) -> None:
        """D9: two quick reloads accuse no plugin."""
        for _ in range(2):
            self.browser.chrome.refresh()
        self.until_status("honest", "running")
        self.assertEqual(self.text("#safe-mode"), "")
