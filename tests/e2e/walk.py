"""
Shows the whole job in a browser, step by step: what ``make demo`` runs.

It starts ``plugin-bridge demo``, reads what that prints, as a user would, and does in
headless Chromium what a user would do.  The whole-daemon tests run the same steps.
"""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from .browser import Browser, open_browser

ARTEFACTS = Path(__file__).parents[2] / "artefacts"
CARD = '[data-testid="plugin-card-hello-bridge"]'


@frozen
class Shown:
    """What ``plugin-bridge demo`` printed."""

    page: str
    plugin: str
    data: str


@contextmanager
def running_demo() -> Iterator[tuple[Shown, subprocess.Popen[str]]]:
    """Run ``plugin-bridge demo`` until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "bridge", "demo"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield _read(process.stdout), process
    finally:
        process.send_signal(signal.SIGINT)
        for line in process.stdout:
            sys.stdout.write(line)
        process.wait(30)
        process.stdout.close()


def _read(lines: Iterator[str]) -> Shown:
    found: dict[str, str] = {}
    for line in lines:
        sys.stdout.write(line)
        if labelled := re.match(r"\s*(Page|Plugin|Data):\s+(\S+)\s*$", line):
            found[labelled[1].lower()] = labelled[2]
        if found.keys() == {"page", "plugin", "data"}:
            return Shown(**found)
    raise AssertionError("the demo ended before it was ready")


def walk(
    browser: Browser, shown: Shown, report: Callable[[str], None], pictures: Path
) -> None:
    """See it connected, look at a plugin, install it, reload, and see it run."""
    report("opening the page")
    browser.open(shown.page)
    browser.until_text("#bridge-state", "Connected")
    browser.picture(pictures / "1-connected.png")

    report("looking at the signed plugin in its git repository")
    browser.click("#add")
    browser.type("#install-url", shown.plugin)
    browser.click("#look")
    browser.find("#preview")
    browser.picture(pictures / "2-preview.png")

    report("installing it")
    browser.click("#install")
    browser.find("#reload")
    browser.picture(pictures / "3-installed.png")

    report("reloading the page")
    browser.click("#reload")
    browser.until_text("#plugin-words", "Running")
    browser.click('nav a[href="#/home"]')
    card = browser.find(CARD)
    button = browser.find(f"{CARD} button")
    before = card.text
    report("the plugin runs; clicking its button")
    button.click()
    browser.until("the plugin's card changes", lambda: browser.text(CARD) != before)
    browser.picture(pictures / "4-plugin-running.png")


def main() -> int:
    """Walk, then stay for the user when there is one."""

    def show(what: str) -> None:
        sys.stdout.write(f"  * {what}\n")

    with running_demo() as (shown, process):
        with open_browser() as browser:
            sys.stdout.write("\nIn headless Chromium:\n")
            walk(browser, shown, show, ARTEFACTS)
        sys.stdout.write(f"\nIt works. Screenshots: {ARTEFACTS}\n")
        if sys.stdout.isatty():
            sys.stdout.write("Now try it yourself, as above. Press Ctrl-C to stop.\n")
            try:
                process.wait()
            except KeyboardInterrupt:
                sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
