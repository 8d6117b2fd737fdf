"""The reference host with a test's own entry, built by the daemon, in Chromium."""

from __future__ import annotations

import json
from contextlib import contextmanager
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ...plugins.bundle.workshop import Workshop
from ...whole.browser import Browser, open_browser
from ..bundling import REFERENCE

HERE: Final = Path(__file__).parent
_PAGE: Final = """\
<!doctype html>
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; script-src 'nonce-a'">
<script nonce="a" src="BUNDLE" defer></script>
"""


def fill(shop: Workshop, entry: str) -> None:
    """
    Write the host's sources into a data directory.

    :param entry: The file of this directory that is run instead of the host's own.
    """
    for path in (REFERENCE / "packages").rglob("*.ts"):
        inside = path.relative_to(REFERENCE).as_posix()
        shop.write(f"host/{inside}", path.read_bytes())
    for path in HERE.glob("*.js"):
        shop.write(f"host/packages/host/src/{path.name}", path.read_bytes())
    shop.write("host/packages/host/src/index.ts", f'import "./{entry}";\n')


@contextmanager
def opened(shop: Workshop) -> Iterator[Browser]:
    """Open the bundle in a page that may not evaluate text."""
    page = shop.folder / "page.html"
    page.write_text(_PAGE.replace("BUNDLE", shop.bundle.name), "utf-8")
    with open_browser() as browser:
        browser.open(page.as_uri())
        yield browser


def result(browser: Browser) -> Any:
    """Wait for what the entry leaves as ``globalThis.result``."""
    script = "return globalThis.result"
    browser.until("there is a result", lambda: browser.chrome.execute_script(script))
    return json.loads(browser.chrome.execute_script(script))
