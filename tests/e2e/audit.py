"""Checks that hold for every state of a page: axe, no overflow, no id twice."""

from pathlib import Path
from typing import Any, Final

from ..npm import npm_package
from .browser import LOOKS, Browser

AXE: Final = "axe-core@4.10.3"
# One for each way that the page is laid out; 640 is a window of 1280 at 200 %.
WIDTHS: Final = (320, 640, 1000, 2560)
HEIGHT: Final = 900
SCRIPT_SECONDS: Final = 240
ARTEFACTS: Final = Path(__file__).parents[2] / "artefacts" / "page"


class Auditor:
    """Looks at one state of a page in several windows."""

    def __init__(self, browser: Browser) -> None:
        self._browser, self._chrome = browser, browser.chrome
        # A page of many rows takes axe long on a busy machine.
        self._chrome.set_script_timeout(SCRIPT_SECONDS)
        self._axe = (npm_package(AXE) / "axe.min.js").read_text("utf-8")

    def problems(self, name: str) -> list[str]:
        """
        Return what is wrong with the page as it is; keeps a picture of it then.

        :param name: Of the state; also of the picture.
        """
        found = []
        for width in WIDTHS:
            self.resize(width)
            over: list[str] = self._browser.look("overflow")
            found += [f"{name}, {width} px: wider than the window: {o}" for o in over]
            broken: list[str] = self._browser.look("broken")
            found += [f"{name}, {width} px: broken: {word}" for word in broken]
        self.resize(320, dark=True)
        small: list[str] = self._browser.look("small")
        found += [f"{name}: too small: {one}" for one in small]
        doubled: list[str] = self._browser.look("doubled")
        found += [f"{name}: more than one with the id {one}" for one in doubled]
        dark = self.violations("color-contrast", "scrollable-region-focusable")
        found += [f"{name}, narrow and dark: {one}" for one in dark]
        self.resize(1200)
        found += [f"{name}, wide and light: {one}" for one in self.violations()]
        if found:
            ARTEFACTS.mkdir(parents=True, exist_ok=True)
            assert self._chrome.save_screenshot(str(ARTEFACTS / f"{name}.png"))
        return found

    def resize(self, width: int, *, dark: bool = False, height: int = HEIGHT) -> None:
        """Show the page in a window of this size, with less motion when dark."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1}
        self._command("Emulation.setDeviceMetricsOverride", {**size, "mobile": False})
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {
                "name": "prefers-reduced-motion",
                "value": "reduce" if dark else "no-preference",
            },
        ]
        self._command("Emulation.setEmulatedMedia", {"features": features})

    def violations(self, *rules: str) -> list[str]:
        """
        Return the rules of axe that the page breaks, with the elements.

        :param rules: Which to look at; all of them if empty.
        """
        if not self._chrome.execute_script("return 'axe' in window"):
            self._chrome.execute_script(self._axe)
        looking = f"{LOOKS} violations(...arguments)"
        return self._chrome.execute_async_script(looking, rules)

    def _command(self, name: str, params: dict[str, Any]) -> None:
        self._chrome.execute_cdp_cmd(name, params)
