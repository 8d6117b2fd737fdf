"""A headless Chromium, driven by Selenium as a user would drive it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from selenium.common import exceptions
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from ..programs import program

ARTEFACTS = Path(__file__).parents[2] / "artefacts"
LOOKS = Path(__file__).with_name("looks.js").read_text("utf-8")
PATIENCE_SECONDS = 30.0
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1000,1100",
)

# In a document that comes with the press, nothing is noted.
_NOTE_PRESS = """
globalThis.hasArrived = false;
const note = ({ target }) => {
  globalThis.hasArrived ||= arguments[0].contains(target);
};
addEventListener("click", note, { capture: true, once: true });
"""


class Browser:
    """A page and what a user does in it."""

    def __init__(self, chrome: Chrome) -> None:
        self.chrome = chrome

    def open(self, url: str) -> None:
        self.chrome.get(url)

    def find(self, selector: str) -> WebElement:
        found: list[WebElement] = []

        def look() -> bool:
            there = self.chrome.find_elements(By.CSS_SELECTOR, selector)
            found[:] = [element for element in there if element.is_displayed()]
            return bool(found)

        self.until(f"something is shown at {selector}", look)
        return found[0]

    def until(self, what: str, true: Callable[[], bool]) -> None:
        """Wait until something is true of the page."""
        waiting: WebDriverWait[Chrome] = WebDriverWait(
            self.chrome,
            PATIENCE_SECONDS,
            poll_frequency=0.1,
            # The page may redraw between finding and looking.
            ignored_exceptions=[exceptions.StaleElementReferenceException],
        )
        try:
            waiting.until(lambda _: _unless_redrawn(true), f"never so: {what}")
        except exceptions.TimeoutException:
            self.picture(ARTEFACTS / "never-so.png")
            raise

    def look(self, what: str, *arguments: str) -> Any:
        """Ask something of the page, by its name in ``looks.js``."""
        script = f"{LOOKS} return {what}(...arguments)"
        return self.chrome.execute_script(script, *arguments)

    def text(self, selector: str) -> str:
        return self.find(selector).text

    def until_text(self, selector: str, text: str) -> None:
        self.until(f"{selector} shows {text!r}", lambda: text in self.text(selector))

    def type(self, selector: str, text: str) -> None:
        field = self.find(selector)
        # The page does not hear of what the driver clears, and may draw it again.
        self.chrome.execute_script("arguments[0].focus(); arguments[0].select()", field)
        field.send_keys(text or Keys.BACKSPACE)

    def click(self, selector: str) -> None:
        """Press it; again where the page moved it away from under the pointer."""

        def press() -> bool:
            element = self.find(selector)
            self.chrome.execute_script(_NOTE_PRESS, element)
            element.click()
            return (
                self.chrome.execute_script("return globalThis.hasArrived") is not False
            )

        self.until(f"{selector} is pressed", press)

    def answer(self, answer: str) -> None:
        """Press ``yes``, ``no`` or ``off`` in a question, once that counts."""
        self.click(f"#question-{answer}:not([aria-disabled])")

    def picture(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        assert self.chrome.save_screenshot(str(path))

    def console_errors(self) -> list[str]:
        """Return the errors of the page's console."""
        return [
            entry["message"]
            for entry in self.chrome.get_log("browser")
            if entry["level"] in ("SEVERE", "WARNING")
        ]


def _unless_redrawn(true: Callable[[], bool]) -> bool:
    """Look, unless an element went meanwhile in the way that Chromium calls unknown."""
    try:
        return true()
    except exceptions.WebDriverException as e:
        if "does not belong to the document" in str(e):
            return False
        raise


@contextmanager
def open_browser(*flags: str) -> Iterator[Browser]:
    """Run a browser with a fresh profile, and with more flags."""
    options = ChromeOptions()
    options.binary_location = program("chromium", "chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in (*_FLAGS, *flags):
        options.add_argument(flag)
    with TemporaryDirectory(prefix="bridge-chromium-") as profile:
        options.add_argument(f"--user-data-dir={profile}")
        service = ChromeService(program("chromedriver", "chromium-driver"))
        chrome = Chrome(options=options, service=service)
        try:
            yield Browser(chrome)
        finally:
            chrome.quit()
