"""The reference page in a real browser: as a user works it, and by snippets."""

import json

from twisted.trial.unittest import SynchronousTestCase

from ..directories import fresh_directory
from ..reference.bundling import bundle, lay_out, lay_out_page
from ..webserver import serving_directory
from .browser import open_browser
from .daemon import run, running
from .walk import CARD, running_demo, walk


class BrowserTests(SynchronousTestCase):
    """Tests for the demo's page, and for one that is not served for snippets."""

    def setUp(self):
        """An empty home directory."""
        self.home = fresh_directory(self)

    def test_demo(self):
        """A user installs a plugin; before, ``eval`` and ``call`` read and work it."""
        steps: list[str] = []
        pictures = self.home / "pictures"
        with running_demo() as (shown, _), open_browser() as browser:
            where = ["--host=reference", f"--data-dir={shown.data}"]
            unpaired = run(self.home, "eval", *where, "return 1")
            self.assertEqual(unpaired.returncode, 1)
            self.assertIn("unavailable: no page is paired", unpaired.stderr)
            browser.open(shown.page)
            browser.until_text("#bridge-state", "Connected")

            def evaluated(code):
                ran = run(self.home, "eval", *where, code)
                self.assertEqual((ran.returncode, ran.stderr), (0, ""))
                return json.loads(ran.stdout)

            read = "text('h1'), text('#nothing'), visible('h1'), visible('#home')"
            state = "Object.keys(rects('h1')[0]), manager.all, host.connection.state"
            self.assertEqual(
                evaluated(f"return [{read}, {state}]"),
                [
                    *("Bridge", None, True, False),
                    *(["x", "y", "width", "height"], [], "connected"),
                ],
            )
            found = evaluated(
                "click('#add'); await sleep(300); return text('#add-view h2')"
            )
            self.assertEqual(found, "Add a plugin")
            long = evaluated("return 'x'.repeat(600000)")
            self.assertEqual((long["truncated"], long["chars"]), (True, 600_002))
            self.assertEqual(len(long["head"]), 524_288)
            deep = "let v = 1; for (let n = 0; n < 99; n += 1) v = [v]; return v"
            thrown = run(self.home, "eval", *where, deep)
            self.assertEqual(thrown.returncode, 1)
            self.assertIn("the daemon does not accept this value", thrown.stderr)
            thrown = run(self.home, "eval", *where, "click('#nothing')")
            self.assertEqual(thrown.returncode, 1)
            self.assertIn("Error: nothing to click on", thrown.stderr)
            late = run(
                self.home, "eval", *where, "--timeout-ms=200", "await sleep(1e4)"
            )
            self.assertIn("unavailable: no page answered in time", late.stderr)
            called = run(self.home, "call", *where, "--compact", "plugins/list")
            self.assertEqual(json.loads(called.stdout)["plugins"], [])
            browser.open("about:blank")
            walk(browser, shown, steps.append, pictures)
            self.assertIn("Hello from a plugin", browser.text(CARD))
            self.assertEqual(browser.console_errors(), [])
        self.assertEqual(len(steps), 5)
        taken = {path.stem: path.stat().st_size for path in pictures.iterdir()}
        names = "1-connected", "2-preview", "3-installed", "4-plugin-running"
        self.assertEqual(sorted(taken), [*names])
        self.assertGreater(min(taken.values()), 10_000)

    def test_many_plugins_and_a_strict_page(self):
        """Sixty plugins start; a page not served for it evaluates nothing."""
        folder = self.home / "page"
        lay_out_page(folder, self.home / "theme")
        plugins = [self.plugin(f"plugin-{n}") for n in range(60)]
        lay_out(self.home / "build", plugins)
        built = bundle(self.home / "build", self.home / "theme" / "reference-host.js")
        self.assertEqual(built.returncode, 0, built.stderr)
        with (
            running(self.home, "--dev") as daemon,
            serving_directory(folder) as page,
            open_browser() as browser,
        ):
            endpoint = f"http%3A%2F%2F127.0.0.1%3A{daemon.port}"
            browser.open(f"{page}/#endpoint={endpoint}")
            browser.type("#token", daemon.token)
            browser.click("#pair")
            browser.until_text("#bridge-state", "Connected")
            browser.click('nav a[href="#/log"]')
            words = "return document.getElementById('log-lines')?.textContent ?? ''"
            browser.until(
                "all plugins have started",
                lambda: browser.chrome.execute_script(words).count("has started") == 60,
            )
            refused = daemon.call_by_http("remote", "eval", {"code": "return 1"})
            self.assertFalse(refused["ok"])
            self.assertTrue(refused["error"].startswith("EvalError: "), refused)

    def plugin(self, name):
        """Make a plugin that logs that it has started."""
        tree = self.home / "plugins" / name
        tree.mkdir(parents=True)
        manifest = {
            "id": name,
            "name": name,
            "version": "1.0.0",
            "apiVersion": "^1.0.0",
        }
        (tree / "plugin.json").write_text(json.dumps(manifest))
        (tree / "main.ts").write_text(
            f"""export default {{
              id: "{name}",
              activate(context) {{ context.logger.info("{name} has started"); }},
            }};"""
        )
        return tree
