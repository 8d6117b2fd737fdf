"""Checks that hold for every state of a page: axe, no overflow, no id twice."""

from pathlib import Path
from typing import Any, Final

from selenium.webdriver import Chrome

from ..npm import npm_package

AXE: Final = "axe-core@4.10.3"
# One for each way that the page is laid out; 640 is a window of 1280 at 200 %.
WIDTHS: Final = (320, 640, 1000, 2560)
HEIGHT: Final = 900
SCRIPT_SECONDS: Final = 240
ARTEFACTS: Final = Path(__file__).parents[2] / "artefacts" / "page"

_OVERFLOW = """
const wide = document.documentElement.scrollWidth - window.innerWidth;
if (wide <= 0) return [];
const out = [...document.querySelectorAll('body *')].filter(
  (e) => e.checkVisibility() && e.getBoundingClientRect().right > window.innerWidth + 1,
);
return out.slice(0, 5).map((e) => `${e.tagName}#${e.id}.${e.className} ${wide}`);
"""
# Of pointer targets; links inside of sentences may be lower (WCAG 2.5.8).
_SMALL = """
const targets = document.querySelectorAll('button, a[href], input, select, summary');
return [...targets].filter((e) => {
  const { width, height } = e.getBoundingClientRect();
  if (!e.checkVisibility() || e.closest('dd, p')) return false;
  return Math.max(height, e.closest('li')?.getBoundingClientRect().height ?? 0) < 44;
}).map((e) => `${e.tagName}#${e.id} ${e.textContent}`);
"""
# What is styled or found by an id that two elements have.
_DOUBLED = """
const ids = [...document.querySelectorAll('[id]')].map(({id}) => id);
return [...new Set(ids.filter((id, n) => ids.indexOf(id) !== n))];
"""
_AXE = """
const [rules, done] = arguments;
const only = rules.length ? {runOnly: rules} : {};
axe.run(document, {resultTypes: ['violations'], ...only}).then(
  ({violations}) => done(violations.map(({id, nodes}) =>
    `${id}: ${nodes.map(({html}) => html.slice(0, 160)).slice(0, 3).join(' | ')}`)),
  (e) => done([String(e)]),
);
"""


class Auditor:
    """Looks at one state of a page in several windows."""

    def __init__(self, chrome: Chrome) -> None:
        self._chrome = chrome
        # A page of many rows takes axe long on a busy machine.
        chrome.set_script_timeout(SCRIPT_SECONDS)
        self._axe = (npm_package(AXE) / "axe.min.js").read_text("utf-8")

    def problems(self, name: str) -> list[str]:
        """
        Return what is wrong with the page as it is; keeps a picture of it then.

        :param name: Of the state; also of the picture.
        """
        found = []
        for width in WIDTHS:
            self.resize(width)
            over: list[str] = self._run(_OVERFLOW)
            found += [f"{name}, {width} px: wider than the window: {o}" for o in over]
        self.resize(320, dark=True)
        small: list[str] = self._run(_SMALL)
        found += [f"{name}: too small: {one}" for one in small]
        doubled: list[str] = self._run(_DOUBLED)
        found += [f"{name}: more than one with the id {one}" for one in doubled]
        broken = self.violations("color-contrast", "scrollable-region-focusable")
        found += [f"{name}, narrow and dark: {one}" for one in broken]
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
        if not self._run("return 'axe' in window"):
            self._run(self._axe)
        return self._chrome.execute_async_script(_AXE, rules)

    def _run(self, script: str) -> Any:
        return self._chrome.execute_script(script)

    def _command(self, name: str, params: dict[str, Any]) -> None:
        self._chrome.execute_cdp_cmd(name, params)
