"""The plugin manager in a real browser, with everything behind it real."""

import base64
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

from ..classfixtures import ClassFixtureCase
from ..plugins.operations.bench import SEED
from .audit import Auditor
from .managerfixture import OTHER_SEED, open_fixture

LONG = "Averyveryveryverylongnamewithoutanyspaceinit" * 3
SPEAKER_BOX = Path(__file__).with_name("speakerbox.ts").read_text("utf-8")
EVERY_HANDLE = Path(__file__).with_name("everyhandle.ts").read_text("utf-8")
THROWS = "throw new Error('it breaks while it is loaded');\nexport default {};\n"


TOKEN: Final = "plugin-bridge.token"
ICON: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGN0Dj7CwMDAxMDAwMDA"
    "AAAP4QFeGXfJJAAAAABJRU5ErkJggg=="
)
"""Two pixels wide."""


class ManagerTests(ClassFixtureCase):
    """Tests of a page with one fixture for all of them, where it is paired."""

    # What a slow machine needs, not what it takes.
    timeout = 600

    @classmethod
    def set_up_all(cls) -> None:
        cls.fixture = cls.enterClassContext(open_fixture())
        cls.auditor = Auditor(cls.fixture.browser)
        cls.fixture.open()
        cls.fixture.pair()

    def setUp(self) -> None:
        super().setUp()
        self.browser = self.fixture.browser
        self.desktop = self.fixture.desktop
        self.desktop.clear()
        self.auditor.resize(1200)
        self.fixture.open()
        self.browser.until_text("#bridge-state", "Connected")
        self.addCleanup(self.remove_all)

    def audit(self, name: str) -> None:
        focused = self.fixture.focus()
        self.assertEqual(self.auditor.problems(name), [])
        self.assertEqual(self.fixture.focus(), focused)

    def shows(self, place: str, words: str, name: str) -> None:
        """Wait until words are shown, and audit the page in this state."""
        self.browser.until_text(place, words)
        self.audit(name)

    def test_audit(self) -> None:
        """It finds a width, a size, an id and a contrast."""
        self.browser.open(Path(__file__).with_name("bad.html").as_uri())
        found = "\n".join(self.auditor.problems("bad"))
        for wrong in ("320 px: wider", "too small: BUTTON", "the id one"):
            self.assertIn(wrong, found)
        self.assertIn("light: color-contrast", found)
        self.assertNotIn("1000 px: wider", found)

    def focused(self, *expected: str) -> None:
        """Wait until one of these has the focus."""
        self.browser.until(
            f"the focus is on one of {expected}",
            lambda: self.fixture.focus() in expected,
        )

    def said(self, words: str) -> None:
        """Wait until screen readers announce something."""
        self.browser.until(
            f"{words!r} is announced", lambda: words in self.fixture.announced()
        )

    def until(self, what: str, true: Callable[[], bool]) -> None:
        self.browser.until(what, true)

    def is_shown(self, selector: str) -> bool:
        """Whether something is there and visible."""
        return self.browser.look("isShown", selector)

    def preview(self, url: str) -> None:
        """Look at a repository; it is on this machine, so the desktop asks first."""
        self.fixture.go("/add")
        self.browser.type("#install-url", url)
        self.browser.click("#look")
        self.desktop.confirm()
        self.browser.find("#preview")

    def confirm_all(self, shown: str) -> None:
        """Confirm every question until something is shown."""

        def done() -> bool:
            if self.desktop.has_prompt():
                self.desktop.confirm()
            return self.is_shown(shown)

        self.until(f"{shown} is shown", done)

    def remove_all(self) -> None:
        """Remove every plugin, without the page."""
        for plugin in self.fixture.call("plugins/list")["plugins"]:
            self.fixture.confirmed("plugins/uninstall", {"id": plugin["id"]})

    def test_a_day_with_a_plugin(self) -> None:
        """It is looked at, refused, installed, changed, and removed."""
        self.look_and_install()
        self.switch_off_and_on()
        self.update()
        self.remove()

    def look_and_install(self) -> None:
        """From an address that is none to a plugin that runs."""
        fixture, browser = self.fixture, self.browser
        browser.click("#add")
        self.focused("H2")
        browser.type("#install-url", "https://github.com/ana/bio/tree/main")
        self.shows("#suggestion", "default branch", "suggestion")
        url = fixture.publish(
            "bio-updater",
            files={"README.md": "# Bio\n\n<b>Writes</b> it.", "icon.png": ICON},
            name="Bio Updater",
            author="Ana",
            description="Writes what you play into your bio.",
            permissions=["vrchat", "host:actions", "notifications", "network"],
            optionalPermissions=["clipboard"],
            actions=["vrcUpdateProfile"],
            hosts=["api.steampowered.com"],
            tags=["profile", "games"],
            homepage="https://ana.example/bio",
        )
        browser.type("#install-url", url)
        browser.click("#look")
        self.shows("#looking", "This is on your own network.", "looking")
        # Nothing is announced to who leaves meanwhile.
        fixture.go("/log")
        self.desktop.until_empty()
        self.assertNotIn("Cancelled", fixture.announced())
        fixture.go("/add")
        browser.type("#install-url", url)
        browser.click("#look")
        self.desktop.deny()
        self.shows("#look-refused", "This is on your own network", "look-refused")
        browser.click("#look-again")
        self.desktop.confirm()
        browser.find("#preview")
        self.focused("H3")
        self.shows_itself("#preview")
        self.assertIn("By “Ana”. From", browser.text("#preview"))
        self.audit("preview")
        browser.click("#install")
        browser.until_text("#operation-step", "Answer the question")
        self.said("Answer the question on your computer's desktop.")
        self.audit("asks")
        self.desktop.deny()
        browser.until_text("#outcome", "Not confirmed, so nothing changed.")
        self.focused("outcome")
        self.audit("denied")
        browser.click("#dismiss")
        self.assertNotEqual(fixture.focus(), "BODY")
        browser.click("#install")
        browser.until_text("#operation-step", "Answer the question")
        # The computer's clock is set back.
        self.script("Date.now = () => 0")
        browser.until_text("#operation-step", "(1:5")
        browser.click("#cancel")
        browser.until_text("#outcome", "Cancelled. Nothing changed.")
        browser.click("#install")
        browser.until_text("#operation-step", "Answer the question")
        # The page is left in the middle of it.
        fixture.open("/plugins")
        browser.until_text("#operation", "Answer the question")
        self.confirm_all("#outcome")
        browser.until_text("#outcome", "Bio Updater is installed. Reload to start it.")
        self.assertEqual(self.rows(), ["bio-updater"])
        self.audit("installed")
        browser.click("#reload")
        browser.until_text('[data-testid="plugin-status-bio-updater"]', "Running.")
        self.assertFalse(self.is_shown("#outcome"))
        fixture.go("/plugins/bio-updater")
        self.shows_itself("#plugin")
        fixture.go("/plugins")

    def shows_itself(self, place: str) -> None:
        """Its README is there as text, and its icon as a picture."""
        self.browser.find(f"{place} #readme summary").click()
        readme = self.browser.text(f"{place} #readme pre")
        self.assertEqual(readme, "# Bio\n\n<b>Writes</b> it.")
        icon = f"{place} img.icon"
        look = self.browser.look
        self.until("the icon is drawn", lambda: look("naturalWidth", icon) == 2)

    def script(self, script: str, *arguments: Any) -> Any:
        return self.browser.chrome.execute_script(script, *arguments)

    def switch_off_and_on(self) -> None:
        """A plugin is switched off without being removed."""
        fixture, browser = self.fixture, self.browser
        fixture.go("/plugins/bio-updater")
        self.shows("#plugin h2", "Bio Updater", "plugin")
        browser.click("#plugin-switch")
        browser.until_text("#plugin-words", "Off, still installed.")
        self.focused("plugin-switch")
        self.assertFalse(self.is_shown("#reload"))
        fixture.go("/plugins/bio-updater/settings")
        self.shows("#plugin-settings", "Turn it on to change these.", "settings-off")
        fixture.go("/plugins/bio-updater")
        browser.click("#plugin-switch")
        browser.until_text("#plugin-words", "Running.")

    def update(self) -> None:
        """An update that asks for more is shown, skipped, and made."""
        fixture, browser = self.fixture, self.browser
        fixture.publish(
            "bio-updater",
            files={"CHANGELOG.md": "# Changes\n\n## 1.2.0\n\n- Reads the game log\n"},
            name="Bio Updater",
            version="1.2.0",
            permissions=["vrchat", "host:actions", "network", "gamelog"],
            actions=["vrcUpdateProfile", "vrcLogin"],
            hosts=["api.steampowered.com", "x.example"],
        )
        fixture.go("/plugins/bio-updater/update")
        browser.until_text("#update-found", "1.2.0 asks for more.")
        self.assertIn("Read the game log", browser.text("#changes"))
        self.assertIn("vrcLogin", browser.text("#changes"))
        self.assertIn("No longer: Show messages in the app", browser.text("#changes"))
        browser.click("#changelog summary")
        self.shows("#changelog", "Reads the game log", "update")
        browser.click("#skip")
        browser.until_text("#plugin h2", "Bio Updater")
        kept = fixture.call("state/list", {"ns": "host"})["entries"]
        self.assertRegex(kept["skip:bio-updater"], "^[0-9a-f]{40}$")
        fixture.go("/plugins/bio-updater/update")
        browser.until_text("#update-found", "1.2.0 asks for more.")
        browser.click("#update-now")
        self.desktop.confirm()
        browser.until_text("#operation-step", "Answer the question")
        self.desktop.deny()
        self.assertIn("Read the game log", self.desktop.last())
        browser.until_text("#outcome", "Not confirmed, so nothing changed.")
        self.assertEqual(fixture.call("plugins/list")["plugins"][0]["version"], "1.0.0")
        browser.click("#update-now")
        self.until("it is tried again", lambda: not self.is_shown("#outcome"))
        self.confirm_all("#outcome")
        browser.until_text("#outcome", "Bio Updater is updated. Reload to use it.")
        browser.until_text("#plugin-words", "1.0.0 is running; 1.2.0 starts after")
        self.assertEqual(self.rows(), ["bio-updater"])
        self.audit("changed")
        browser.click("#reload")
        browser.until_text("#plugin-words", "1.2.0")
        hosts = [f"site-{number}.example" for number in range(12)]
        fixture.publish("bio-updater", seed=OTHER_SEED, version="1.3.0", hosts=hosts)
        fixture.go("/plugins/bio-updater/update")
        self.shows("#update-found", "Signed with another key than before.", "other-key")
        self.assertEqual(browser.text("#changes").count("New"), 1)
        fixture.go("/plugins/bio-updater")

    def remove(self) -> None:
        """Removing asks twice, and the focus goes to what is left."""
        browser = self.browser
        browser.click("#uninstall")
        self.shows("#question", "Uninstall Bio Updater?", "question")
        browser.find("#question-no:not([aria-disabled])")
        ActionChains(browser.chrome).send_keys(Keys.ESCAPE).perform()
        self.focused("uninstall")
        browser.click("#uninstall")
        browser.answer("yes")
        browser.until_text("#operation", "Removing Bio Updater")
        self.desktop.confirm()
        browser.until_text("#outcome", "Bio Updater was removed.")
        self.focused("add", "bio-updater")
        browser.click("#reload")
        browser.until_text("#plugin-list-empty", "No plugins yet.")

    def test_settings_permissions_and_keys(self) -> None:
        """A form from a schema; a grant is taken back; a key is forgotten."""
        fixture, browser = self.fixture, self.browser
        about: Any = {"main": SPEAKER_BOX, "permissions": ["native"]}
        url = fixture.install("speaker-box", **about)
        fixture.open()
        self.preview(url)
        own = f"You have 1.0.0 already. Its updates come from {url.split('/')[2]} /"
        self.assertIn(own, browser.text("#preview"))
        self.audit("have-it")
        browser.click("#see-changes")
        browser.until_text("#nothing-new", "1.0.0 is the newest there is.")
        fixture.go("/plugins/speaker-box/settings")
        browser.find("#setting-volume")
        self.audit("settings")
        browser.type("#setting-volume", "400")
        browser.click("#save")
        browser.until_text("#error-setting-volume", "Between 0 and 100.")
        self.focused("setting-volume")
        self.audit("settings-bad")
        fixture.go("/home")
        browser.until_text("#question", "Leave without saving?")
        browser.answer("no")
        self.focused("setting-volume")
        self.assertTrue(self.browser.look("asksToStay"))
        # Another page saves another field meanwhile.
        place = {"ns": "plugin:speaker-box"}
        fixture.call("state/set", {**place, "key": "loud", "value": True})
        browser.type("#setting-volume", "60")
        browser.click("#save")
        self.shows("#said", "Saved.", "settings-saved")
        stored = fixture.call("state/list", place)["entries"]
        self.assertEqual(stored, {"volume": 60, "loud": True})
        browser.find("#setting-loud[aria-checked=true]")

        self.saves_once_connected()
        os.kill(fixture.daemon.process.pid, signal.SIGSTOP)
        browser.type("#setting-volume", "65")
        browser.click("#save")
        browser.type("#setting-words", "typed meanwhile")
        os.kill(fixture.daemon.process.pid, signal.SIGCONT)
        browser.until_text("#said", "Saved.")
        typed = self.script("return document.getElementById('setting-words').value")
        self.assertEqual(typed, "typed meanwhile")
        browser.click("#save")
        browser.find("#save[aria-disabled=true]")
        self.assertFalse(self.browser.look("asksToStay"))

        # What a view asks goes with it.
        browser.click("#reset")
        browser.find("#question")
        fixture.go("/home")
        self.until("it is gone", lambda: not self.is_shown("#question"))
        self.audit("home")
        browser.click('[data-testid="plugin-card-speaker-box"] button')
        browser.until_text("#question", "Let “Speaker Box”")
        self.shows("#question-plugin", "speaker-box", "question-of-a-plugin")
        browser.click("#question-key summary")
        browser.until_text("#question-key", "-")
        browser.answer("yes")
        self.desktop.until_shown()
        self.desktop.clear()
        fixture.go("/plugins/speaker-box/permissions")
        self.shows("#permissions", "You allowed it to", "permissions")
        browser.click("#permissions .allowed button")
        self.said("It will ask again.")
        self.assertNotEqual(fixture.focus(), "BODY")

        fixture.go("/keys")
        self.shows("#keys", "signs Speaker Box", "keys")
        browser.click("#keys .danger")
        browser.until_text("#question", "Plugins stay.")
        browser.answer("yes")
        self.desktop.until_shown()
        # Who is writing when it ends goes on.
        fixture.go("/plugins/speaker-box/settings")
        browser.click("#setting-words")
        self.desktop.deny()
        browser.find("#outcome")
        self.assertEqual(fixture.focus(), "setting-words")
        fixture.go("/keys")
        browser.click("#keys .danger")
        browser.answer("yes")
        self.confirm_all("#outcome")
        browser.until_text("#keys", "No keys yet.")
        self.assertNotEqual(fixture.focus(), "BODY")
        fixture.go("/plugins/speaker-box/settings")
        browser.type("#setting-volume", "80")
        fixture.confirmed("plugins/uninstall", {"id": "speaker-box"})
        browser.until_text("#plugin-settings", "Removed.")
        self.assertFalse(self.is_shown("#save") or self.browser.look("asksToStay"))

    def saves_once_connected(self) -> None:
        """The form says what was not saved until it is edited; it is not lost."""
        fixture, browser = self.fixture, self.browser
        port = fixture.daemon.port
        fixture.stop_daemon()
        browser.until_text("#trouble", "The bridge isn't running.")
        browser.type("#setting-volume", "70")
        self.assertFalse(self.is_shown("#said.good"))
        self.assertEqual(self.script("return document.all.said.textContent"), "")
        browser.click("#setting-loud")
        browser.click("#save")
        self.shows("#said.error", "Couldn't save: Volume, Loud.", "settings-not-saved")
        browser.click("#plugin-settings form summary")
        browser.until_text("#plugin-settings form pre", "no connection")
        browser.type("#setting-volume", "75")
        self.assertEqual(self.script("return document.all.said.textContent"), "")
        self.start_again(port)
        # Nor is it lost with what the plugin runs in.
        browser.click("#reset")
        browser.find("#question")
        self.script("document.getElementById('switch-speaker-box').click()")
        browser.until_text("#plugin-settings", "Turn it on to save.")
        self.until("it is gone", lambda: not self.is_shown("#question"))
        browser.click("#save")
        browser.until_text("#said", "The plugin has to run first.")
        browser.click("#plugin-switch")
        browser.click("#save[aria-disabled=false]")
        browser.until_text("#said", "Saved.")

    def test_handles_by_keyboard(self) -> None:
        """Every handle works without a pointer."""
        fixture, browser = self.fixture, self.browser
        card = '[data-testid="plugin-card-every-handle"]'
        fixture.install("every-handle", main=EVERY_HANDLE)
        fixture.open("/home")
        self.shows(card, "Nothing yet.", "handles")
        self.tab_to("Name")
        self.press("نص")
        turned = "return document.activeElement.matches(':dir(rtl)')"
        self.assertTrue(self.script(turned))
        self.press(Keys.BACKSPACE, Keys.BACKSPACE, "Ada", Keys.ENTER)
        browser.until_text(f"{card} [role=status]", "name: Ada")
        self.tab_to("Size")
        self.press("9", Keys.TAB)
        self.shows(f"{card} .error", "Between 1 and 5.", "handles-bad")
        self.tab_to("Size")
        self.press(Keys.BACKSPACE, "2", Keys.ARROW_UP, Keys.TAB)
        browser.until_text(f"{card} table", "size 3")
        # From what hides itself, Tab goes on.
        self.auditor.resize(320, height=256)
        self.tab_to("Hide")
        top = self.top()
        self.press(Keys.SPACE)
        self.focused("BODY")
        self.assertEqual(self.top(), top)
        self.press(Keys.TAB, Keys.SPACE)
        browser.until_text(f"{card} table", "read <b>half</b>")
        self.tab_to("Read again")
        self.tab_to("What happened")
        browser.until_text(f"{card} .progress", "50 %")
        status = f"{card} .progress [role=status]"
        script = "return document.querySelector(arguments[0]).textContent"
        self.assertEqual(self.script(script, status), "Reading: 50 %")
        dot = f"{card} img[alt='A dot']"
        self.assertEqual(browser.look("naturalWidth", dot), 1)
        self.audit("handles-used")

    def tab_to(self, wanted: str) -> None:
        """Press Tab until what is called so, or has this id, has the focus."""
        for _ in range(60):
            name = self.browser.chrome.switch_to.active_element.accessible_name
            if wanted in (name, self.fixture.focus()):
                return
            self.press(Keys.TAB)
        raise AssertionError(f"the focus never came to {wanted}")

    def test_many_plugins_with_any_names(self) -> None:
        """Names of others fit every window; search, tags, places and updates."""
        fixture, browser = self.fixture, self.browser
        numbered = {
            f"plugin-{n}": f"Plugin {n} with a name of many words" for n in (1, 2, 3)
        }
        names = {
            **numbered,
            "arabic-one": "مُحدِّث السيرة الذاتية للمستخدمين",
            "japanese-one": "プロフィール自動更新とアバター操作パネルの統合版",
            "long-one": LONG,
            "twin-one": "Arabic-One",
        }
        for plugin_id, name in names.items():
            about: Any = {"name": name, "author": name, "description": name}
            fixture.install(plugin_id, **about, tags=[plugin_id[:6]])
        fixture.open("/home")
        browser.until_text('[data-testid="plugin-card-twin-one"]', "It runs.")
        browser.until_text('[data-testid="plugin-card-twin-one"] header', "(twin-one)")
        self.audit("names-home")
        views = {
            "/home": "#home",
            "/plugins": "#plugins",
            "/plugins/long-one": "#plugin",
            "/plugins/long-one/settings": "#plugin-settings",
            "/plugins/long-one/permissions": "#permissions",
            "/log": "#log",
        }
        for width in (320, 768, 1280, 2560):
            self.auditor.resize(width)
            for route, view in views.items():
                fixture.go(route)
                browser.find(view)
                script = "return document.documentElement.scrollWidth <= innerWidth"
                self.assertTrue(self.script(script), (width, route))
            fixture.go("/home")
            browser.find('[data-testid="plugin-card-long-one"] header')
            self.assertEqual(self.browser.look("cutCards"), [], width)
        self.keeps_its_place()
        self.auditor.resize(1200)
        fixture.go("/plugins/long-one")
        browser.until_text("#plugin h2", f"{LONG[:60]}…")
        browser.click("#plugin-details summary")
        self.shows("#plugin-details", LONG, "long-name")
        fixture.go("/plugins")
        browser.until_text('[data-testid="plugin-name-twin-one"]', "(twin-one)")
        browser.type("#search", "plugin 3")
        self.until("one is found", lambda: self.rows() == ["plugin-3"])
        browser.type("#search", "nothing like this")
        self.shows("#plugin-list-empty", "Nothing matches", "no-match")
        browser.click("#plugins .stack button")
        self.focused("search")
        self.audit("many-plugins")

        for plugin_id, name in numbered.items():
            seed = OTHER_SEED if plugin_id == "plugin-2" else SEED
            fixture.publish(plugin_id, seed=seed, name=name, version="1.1.0")
        browser.click("#check-updates")
        self.shows("#updates-status", "3 updates", "updates")
        self.auditor.resize(320, height=480)
        browser.click("#update-all")
        for step in ("confirm", "deny", "confirm"):
            self.desktop.until_shown()
            browser.until_text("#operation", "Answer")
            self.until("it can be cancelled", lambda: self.browser.look("cancellable"))
            getattr(self.desktop, step)()
        self.said("2 updated, 1 failed.")
        browser.until_text("#plugin h2", "Plugin 2")
        # At 400 %, what is said of it covers nothing that has the focus.
        for height in (480, 256):
            self.auditor.resize(320, height=height)
            fixture.go("/settings")
            browser.find("#settings")
            for key in (Keys.TAB,) * 12 + (Keys.SHIFT + Keys.TAB,) * 6:
                browser.chrome.switch_to.active_element.send_keys(key)
                self.until(fixture.focus(), lambda: self.browser.look("uncovered"))

    def keeps_its_place(self) -> None:
        """Going back from a plugin returns to where its row is."""
        browser = self.browser
        self.fixture.go("/plugins")
        self.auditor.resize(320)
        browser.find('[data-row="twin-one"]')
        self.script("scrollTo(0, 250)")
        self.until("it is scrolled", lambda: self.top() == 250)
        browser.click('[data-row="twin-one"]')
        self.focused("H2")
        browser.click(".back")
        self.focused("twin-one")
        self.until("the place is kept", lambda: self.top() == 250)

    def top(self) -> int:
        """How far the page is scrolled down, in pixels."""
        top: float = self.script("return scrollY")
        return round(top)

    def rows(self) -> list[str]:
        return self.browser.look("rows")

    def test_log_diagnostics_and_settings(self) -> None:
        """The log is filtered, copied and cleared; a notification is tried."""
        fixture, browser = self.fixture, self.browser
        fixture.call("state/delete", {"ns": "host", "key": "updates:auto"})
        fixture.open("/log")
        self.shows("#log-lines", "connected", "log")
        browser.type("#log-find", "nothing like this")
        browser.until_text("#log-empty", "No line matches.")
        browser.type("#log-find", "connected")
        clipboard = "Clipboard.prototype.writeText = () => Promise.reject();"
        for copies, words in (("false", "Not copied."), ("true", "Copied")):
            self.script(f"{clipboard} document.execCommand = () => {copies}")
            browser.click("#log-copy")
            self.said(words)
        browser.click("#diagnostics")
        self.focused("report-text")
        report = browser.find("#report-text").get_attribute("value") or ""
        self.assertIn("notification targets:", report)
        self.assertNotIn(fixture.daemon.token, report)
        self.assertNotIn(str(fixture.home), report)
        self.audit("diagnostics")
        browser.click("#log-clear")
        browser.find("#log-empty")

        fixture.go("/settings")
        browser.click('[data-testid="target-freedesktop"] button')
        self.shows('[data-testid="test-freedesktop"]', "Sent.", "page-settings")
        browser.click("#daily")
        self.said("Not any more.")
        browser.until_text("#daily", "Off")
        browser.click("#daily")
        self.said("Updates are looked for once a day.")

    def test_safe_mode(self) -> None:
        """A plugin that breaks is left out; ``?safe`` runs none."""
        fixture, browser = self.fixture, self.browser
        fixture.install("broken-one", main=THROWS)
        fixture.open("/plugins/broken-one")
        self.shows("#plugin-words", "Didn't start.", "failed")
        browser.click("#start-broken-one")
        fixture.open("/plugins", query="?safe")
        self.shows("#safe-mode", "No plugin is running.", "safe-mode")
        browser.click("#switch-broken-one")
        browser.until_text('[data-testid="plugin-status-broken-one"]', "Off")
        browser.click("#leave-safe-mode")
        self.until("it is over", lambda: not self.is_shown("#safe-mode"))
        browser.click("#switch-broken-one")
        browser.until_text('[data-testid="plugin-status-broken-one"]', "Didn't start.")
        browser.click("#switch-broken-one")
        browser.until_text('[data-testid="plugin-status-broken-one"]', "Off")
        self.assertNotEqual(fixture.focus(), "BODY")

    def test_keyboard_only(self) -> None:
        """No pointer is needed; a link skips the navigation; the focus stays."""
        fixture = self.fixture
        url = fixture.publish("key-plugin")
        fixture.open("/settings")
        self.browser.until_text("#settings", "Connection")
        self.script("document.activeElement.blur()")
        self.tab_to("skip-link")
        self.press(Keys.ENTER)
        self.focused("H2")
        self.assertTrue(self.browser.chrome.current_url.endswith("#/settings"))
        fixture.open()
        self.browser.until_text("#bridge-state", "Connected")
        self.tab_to("add")
        self.press(Keys.ENTER)
        self.focused("H2")
        self.tab_to("install-url")
        self.press(url, Keys.ENTER)
        self.desktop.confirm()
        self.focused("H3")
        self.tab_to("install")
        self.press(Keys.ENTER)
        self.confirm_all("#outcome")
        self.focused("H2")
        self.tab_to("uninstall")
        self.press(Keys.SPACE)
        self.focused("question-no")
        self.browser.find("#question-yes:not([aria-disabled])")
        self.press(Keys.TAB, Keys.SPACE)
        self.desktop.confirm()
        self.browser.until_text("#outcome", "Key Plugin was removed.")
        self.focused("add", "key-plugin")

    def test_the_next_address_is_typed_meanwhile(self) -> None:
        """The end of an install takes nothing away from who adds another one."""
        self.preview(self.fixture.publish("first-one"))
        self.browser.click("#install")
        self.browser.until_text("#operation-step", "Answer the question")
        self.browser.type("#install-url", "https://forge.example/next")
        self.confirm_all("#outcome")
        self.browser.until_text("#outcome", "First One is installed.")
        self.focused("install-url")
        self.assertTrue(self.browser.chrome.current_url.endswith("#/add"))

    def press(self, *keys: str) -> None:
        ActionChains(self.browser.chrome).send_keys(*keys).perform()

    def start_again(self, port: int) -> None:
        """Start the daemon, and press *Try again* unless the page has connected."""
        self.fixture.start_daemon(port=port)
        self.script("document.getElementById('retry')?.click()")
        self.browser.until_text("#bridge-state", "Connected")

    def test_two_tabs(self) -> None:
        """What is done elsewhere, and a pairing in one tab, count in the other."""
        fixture, browser = self.fixture, self.browser
        chrome = browser.chrome
        about: Any = {"main": SPEAKER_BOX, "permissions": ["native"]}
        url = fixture.publish("speaker-box", **about)
        self.preview(url)
        browser.find("#install")
        fixture.confirmed("plugins/install", {"url": url})
        browser.until_text("#preview", "You have 1.0.0 already.")
        status, card = (
            f'[data-testid="plugin-{part}-speaker-box"]' for part in ("status", "card")
        )
        first = chrome.current_window_handle
        chrome.switch_to.new_window("tab")
        second = chrome.current_window_handle
        for tab in (first, second):
            chrome.switch_to.window(tab)
            fixture.open("/plugins")
            browser.until_text(status, "Running.")
        for words in ("Off", "Running."):
            chrome.switch_to.window(second)
            browser.click("#switch-speaker-box")
            chrome.switch_to.window(first)
            browser.until_text(status, words)
        press = "document.querySelector(arguments[0]).click()"
        for tab in (second, first):
            chrome.switch_to.window(tab)
            fixture.go("/home")
            browser.find(card)
            self.script(press, f"{card} button")
            browser.find("#question")
        # A question is not in the way of the code, nor answered by that.
        rotated = fixture.rotate_token()
        browser.until_text("#connect-words", "The pairing code was replaced.")
        self.assertFalse(self.is_shown("#question"))
        browser.type("#token", rotated)
        browser.click("#pair")
        for tab in (second, first):
            chrome.switch_to.window(tab)
            browser.until_text("#bridge-state", "Connected")
            browser.find(card)
            self.script(press, f"{card} button")
            browser.find("#question")
        browser.answer("yes")
        self.desktop.until_shown()
        chrome.switch_to.window(second)
        self.until("it is answered", lambda: not self.is_shown("#question"))
        self.desktop.clear()
        chrome.close()
        chrome.switch_to.window(first)

    def test_attack_code_sent_where_a_link_led_another_tab(self) -> None:
        """What is pasted in one tab goes to the daemon that this tab names alone."""
        fixture, browser, chrome = self.fixture, self.browser, self.browser.chrome
        self.unpair()
        first = chrome.current_window_handle
        chrome.switch_to.new_window("tab")
        second = chrome.current_window_handle
        endpoint = "return localStorage.getItem('plugin-bridge.endpoint')"
        elsewhere = quote(f"http://localhost:{fixture.daemon.port}", safe="")
        browser.open(f"{fixture.page}/#endpoint={elsewhere}")
        browser.until_text("#connect-words", "Paste the pairing code")
        for prepare in (lambda: None, self.unpair):
            chrome.switch_to.window(first)
            prepare()
            fixture.pair()
            browser.open("about:blank")
            browser.open(fixture.page)
            browser.until_text("#bridge-state", "Connected")
            self.assertIn("127.0.0.1", self.script(endpoint))
            chrome.switch_to.window(second)
            browser.until_text("#connect-words", "Paste the pairing code")
        chrome.close()
        chrome.switch_to.window(first)

    def test_another_address(self) -> None:
        """It starts afresh there, without the code; a link brings one, or asks."""
        fixture, browser = self.fixture, self.browser
        self.addCleanup(fixture.pair)
        self.addCleanup(self.unpair)
        host = f"localhost:{fixture.daemon.port}"
        self.use_address(f"http://{host}/")
        browser.until_text("#connect-words", "Paste the pairing code")
        self.assertNotIn(TOKEN, self.script("return Object.keys(localStorage)"))
        link = f"endpoint=http%3A%2F%2F{host}&token={fixture.daemon.token}"
        self.script("location.hash = arguments[0]", link)
        browser.until_text("#bridge-state", "Connected")
        self.assertNotIn("token", self.script("return location.href"))
        link = f"endpoint=http%3A%2F%2F127.0.0.1%3A{fixture.daemon.port}"
        self.script("location.hash = arguments[0]", link)
        self.said("A link wants to connect this page to http://127.0.0.1")
        self.focused("H2")
        self.audit("led")
        browser.click("#destination-stay")
        self.until("it has gone", lambda: not self.is_shown("#destination"))
        browser.until_text("#bridge-state", "Connected")
        self.script("location.hash = arguments[0]", link)
        browser.click("#destination-go")
        browser.until_text("#connect-words", "Paste the pairing code")

    def test_a_page_that_was_opened_as_a_file(self) -> None:
        """It says so; that the bridge isn't running would be wrong."""
        self.browser.open(f"file://{self.fixture.home}/site/index.html")
        self.shows("#connect-words", "opened as a file", "file")

    def test_a_browser_that_keeps_nothing(self) -> None:
        """Firefox without cookies has no stores."""
        fixture, chrome = self.fixture, self.browser.chrome
        refuses = "get() { throw new DOMException('', 'SecurityError'); }"
        source = "".join(
            f"Object.defineProperty(window, '{name}', {{ {refuses} }});"
            for name in ("localStorage", "sessionStorage")
        )
        added = chrome.execute_cdp_cmd(
            "Page.addScriptToEvaluateOnNewDocument", {"source": source}
        )
        self.addCleanup(fixture.pair)
        self.addCleanup(fixture.open)
        self.addCleanup(
            chrome.execute_cdp_cmd, "Page.removeScriptToEvaluateOnNewDocument", added
        )
        fixture.open()
        fixture.pair()
        fixture.install("loaded-again")
        fixture.go("/plugins/loaded-again")
        self.browser.click("#reload")
        self.browser.until_text("#plugin-words", "Running.")
        fixture.go("/keys")
        self.browser.find("#keys")
        self.use_address(f"http://localhost:{fixture.daemon.port}")
        self.browser.until_text("#connect-words", "Paste the pairing code")
        fixture.pair()
        fixture.rotate_token()
        self.browser.until_text("#connect-words", "The pairing code was replaced.")
        fixture.pair()

    def use_address(self, endpoint: str) -> None:
        """Enter it in the settings."""
        self.fixture.go("/settings")
        self.browser.click("#settings summary")
        self.browser.type("#endpoint", endpoint)
        self.browser.click("#endpoint-save")

    def test_a_browser_whose_store_is_full(self) -> None:
        """What the daemon has saved is saved, though no other tab learns of it."""
        fixture, browser = self.fixture, self.browser
        fixture.install("full-store")
        fixture.open("/plugins")
        status = '[data-testid="plugin-status-full-store"]'
        browser.until_text(status, "Running.")
        self.addCleanup(self.script, "localStorage.removeItem('filling')")
        browser.look("fillStore")
        browser.click("#switch-full-store")
        browser.until_text(status, "Off")

    def test_forced_colors(self) -> None:
        """In the colours of the user's choice, the open view is still marked."""
        self.addCleanup(self.auditor.resize, 1200)
        features = [{"name": "forced-colors", "value": "active"}]
        self.browser.chrome.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": features}
        )
        self.fixture.go("/log")
        look = self.browser.look
        self.until("one looks different", lambda: len(set(look("linkColors"))) == 2)

    def test_every_state_of_the_connection(self) -> None:
        """Each state has its words; the focus is never lost."""
        fixture, browser = self.fixture, self.browser
        self.unpair()
        self.audit("unpaired")
        field = browser.find("#token")
        self.assertEqual(field.get_attribute("type"), "text")
        self.assertEqual(field.get_attribute("autocomplete"), "off")
        browser.type("#token", "not-the-code")
        browser.click("#pair")
        browser.until_text("#connect-words", "Copy all of the current one.")
        self.focused("token")
        self.said("The bridge doesn't accept the code. Copy all of the current one.|")
        self.audit("wrong-code")
        fixture.pair()
        self.focused("H2")
        self.said("Connected.")
        self.audit("no-plugins")

        os.kill(fixture.daemon.process.pid, signal.SIGSTOP)
        browser.click("nav a[href='#/settings']")
        browser.click("#daily")
        browser.until_text("#trouble", "The bridge isn't answering.")
        self.assertIn("Not answering", browser.text("#bridge-state"))
        self.audit("frozen")
        os.kill(fixture.daemon.process.pid, signal.SIGCONT)
        browser.until_text("#bridge-state", "Connected")

        port = fixture.daemon.port
        fixture.stop_daemon()
        self.shows("#trouble", "The bridge isn't running.", "lost")
        self.start_again(port)
        self.until("the notice is gone", lambda: not self.is_shown("#trouble"))
        self.assertNotEqual(fixture.focus(), "BODY")

        rotated = fixture.rotate_token()
        browser.until_text("#connect-words", "The pairing code was replaced.")
        self.focused("token")
        self.audit("rotated")
        browser.type("#token", rotated)
        browser.click("#pair")
        browser.until_text("#bridge-state", "Connected")

        fixture.stop_daemon()
        fixture.browser.open("about:blank")
        fixture.open()
        browser.until_text("#connect-words", "The bridge isn't running.")
        # A page that is paired needs no code, but a bridge that runs.
        self.assertFalse(self.is_shown("#token"))
        self.shows("#connect", "plugin-bridge run --host reference", "absent")
        self.start_again(port)

    def unpair(self) -> None:
        self.script("localStorage.clear()")
        self.fixture.open()
        self.browser.until_text("#connect-words", "Paste the pairing code")
