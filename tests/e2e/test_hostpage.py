"""The host that docs/hosts.md has whole, in a real browser with a real daemon."""

import json
import re

from bridge.settings.host import load_profile

from ..directories import write_files
from ..docs.commands import fences
from ..forge import empty_forge, sign
from ..npm import ROOT, STRICT, esbuild, tsc
from ..webserver import serving_directory
from .browser import open_browser
from .daemon import HomeCase, run, running

PAGE = ROOT / "docs" / "hosts.md"
LINES = 60
SEED = b"\x01" * 32


def write_host(to):
    """Write the documented files where the page names them; return its HTML."""
    blocks = fences(PAGE)
    text = PAGE.read_text("utf-8")
    names = re.findall(r"^`(my-\S+)` (?:is|has) ", text, re.MULTILINE)
    sources = [text for language, text in blocks if language in ("toml", "ts", "json")]
    # Before them, there is an example of the table that the daemon generates.
    write_files(to, dict(zip(names, sources[1:], strict=True)))
    (page,) = (text for language, text in blocks if language == "html")
    return page


class HostPageTests(HomeCase):
    def setUp(self):
        super().setUp()
        self.page = write_host(self.home)
        self.profile = self.home / "my-host.toml"

    def test_types(self):
        """Its sources pass the strict compiler."""
        options = {
            **STRICT,
            "module": "ESNext",
            "moduleResolution": "bundler",
            "paths": {"@my/plugin-api": ["./my-sources/packages/api/src/index.ts"]},
        }
        config = {"compilerOptions": options, "include": ["my-sources", "my-greeter"]}
        (self.home / "tsconfig.json").write_text(json.dumps(config))
        compiled = tsc(self.home / "tsconfig.json")
        self.assertEqual((compiled.returncode, compiled.stdout), (0, ""))

    def test_installs_and_runs_a_plugin(self):
        """It pairs, lists, shows what is refused, installs, and runs the plugin."""
        self.assertLessEqual(len(self.page.splitlines()), LINES)
        forge = empty_forge(self)
        tree = self.home / "my-greeter"
        sign(tree, tree.name, load_profile(str(self.profile)), SEED, 1)
        forge.publish(tree, "greeter")
        themes = self.home / "themes"
        where = (f"--host={self.profile}", f"--data-dir={self.data}")
        sources = f"--host-sources={self.home / 'my-sources'}"
        done = run(self.home, "setup", *where, sources, f"--bundler={esbuild()}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        options = ("--dev", f"--theme-dir={themes}", f"--ca-file={forge.ca_file}")
        site = self.home / "site"
        site.mkdir()
        (site / "my-plugins.js").symlink_to(themes / "my-plugins" / "my-plugins.js")
        with running(self.home, *options, host=str(self.profile)) as daemon:
            text = self.page.replace("127.0.0.1:42081", f"127.0.0.1:{daemon.port}")
            self.assertNotEqual(text, self.page)
            (site / "index.html").write_text(text, "utf-8")
            with serving_directory(site) as address, open_browser() as browser:
                browser.open(address)
                browser.type("#pair input", "wrong")
                browser.click("#pair button")
                browser.until_text("#status", "Not paired: 1008")
                browser.type("#pair input", daemon.token)
                browser.click("#pair button")
                browser.until_text("#status", "Paired.")
                browser.type("#install input", "http://127.0.0.1/x")
                browser.click("#install button")
                browser.until_text("#status", "Refused: ")
                browser.type("#install input", forge.url("greeter"))
                browser.click("#install button")
                browser.until_text("#status", "Installed. Reload the page.")
                browser.until_text("#plugins", "Greeter 1.0.0")
                browser.open(address)
                browser.until_text("main", "Hello")
