"""The reference host with an entry of a test's, built by the daemon, in Chromium."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from bridge.plugins.bundle.scope import granted_names

from ...plugins.bundle.workshop import BuildCase
from ...whole.browser import open_browser
from ..bundling import REFERENCE

HERE: Final = Path(__file__).parent
_PERMISSIONS: Final = ["native", "network", "osc", "sql"]
_RESULT: Final = "return globalThis.result"
# As strict as the reference page about scripts.
_PAGE: Final = """\
<!doctype html>
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; script-src 'nonce-a'">
<script nonce="a" src="BUNDLE" defer></script>
"""


class PageCase(BuildCase):
    """A data directory with the sources of the host and the entries of this folder."""

    def setUp(self) -> None:
        """Write them."""
        super().setUp()
        for path in (REFERENCE / "packages").rglob("*.ts"):
            inside = path.relative_to(REFERENCE).as_posix()
            self.shop.write(f"host/{inside}", path.read_bytes())
        for path in HERE.glob("*.js"):
            self.shop.write(f"host/packages/host/src/{path.name}", path.read_bytes())

    def plugin(self, plugin_id: str, source: str) -> None:
        """Install a file of this folder as a plugin with every permission."""
        names = ", ".join(sorted(granted_names(dom=False)))
        code = (HERE / source).read_text("utf-8")
        code = code.replace("NAMES", names).replace('"ID"', f'"{plugin_id}"')
        manifest = {"id": plugin_id, "permissions": _PERMISSIONS}
        self.shop.plugin(plugin_id, main__ts=code)
        self.shop.write(f"plugins/{plugin_id}/plugin.json", json.dumps(manifest))

    async def result(self, entry: str, *plugins: str) -> Any:
        """
        Build a bundle of these plugins, open it, and return what the entry leaves.

        :param entry: The file of this folder that is run instead of the host's own.
        """
        self.shop.write("host/packages/host/src/index.ts", f'import "./{entry}";\n')
        report = await self.shop.build(*plugins)
        self.assertEqual(report.errors, [])
        page = self.shop.folder / "page.html"
        page.write_text(_PAGE.replace("BUNDLE", self.shop.bundle.name), "utf-8")
        with open_browser() as browser:
            run = browser.chrome.execute_script
            browser.open(page.as_uri())
            browser.until("it has a result", lambda: bool(run(_RESULT)))
            return json.loads(run(_RESULT))
