"""
A fixture for the page of the reference host: everything behind it is real.

One browser, one daemon, one git server and one desktop serve many tests, since starting
them takes longer than most of the tests.
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import quote

from attrs import define, field

from ..directories import write_files
from ..forge import ForgeProcess, sign, start_forge_process
from ..freedesktop.session import Session
from ..plugins.operations.bench import PROFILE, SEED, manifest
from ..reference.bundling import lay_out_page
from ..waiting import wait_until
from ..webserver import serving_directory
from .browser import Browser, open_browser
from .daemon import Daemon, running, set_up
from .test_install import MAIN

OTHER_SEED: Final = b"\x08" * 32
_CARD = MAIN.replace("'Marker of %s')", "'%s').text('It runs.')")


class Desktop(Session):
    """A desktop with dunst, on which a person confirms or denies."""

    def start(self) -> None:
        self.serve_menu()
        wait_until(self.has_server, "there is a notification server")

    def confirm(self) -> None:
        """Wait for a prompt and choose Confirm."""
        self._answer("context")

    def deny(self) -> None:
        self._answer("close")

    def _answer(self, command: str) -> None:
        self.until_shown()
        # The next prompt may come at once, so that something is always shown.
        answered = len(self._history())
        self.dunstctl(command)
        wait_until(lambda: len(self._history()) > answered, "the prompt is answered")

    def _history(self) -> Any:
        return json.loads(self.dunstctl("history"))["data"][0]

    def has_prompt(self) -> bool:
        return self.dunstctl("count", "displayed") != "0"

    def clear(self) -> None:
        self.dunstctl("close-all")

    def last(self) -> str:
        """Return the text of the prompt that was answered last."""
        newest = self._history()[0]
        return f"{newest['summary']['data']}\n{newest['body']['data']}"

    def until_shown(self) -> None:
        wait_until(self.has_prompt, "a prompt is shown")

    def until_empty(self) -> None:
        """Wait until nothing is shown any more."""
        wait_until(lambda: not self.has_prompt(), "something is still shown")


@define(eq=False)
class Fixture:
    """The page in a browser, and what is behind it."""

    home: Path
    forge: ForgeProcess
    desktop: Desktop
    browser: Browser
    page: str
    daemon: Daemon = field(init=False)
    _running: ExitStack = field(factory=ExitStack, init=False)
    _signed_at: int = field(default=0, init=False)

    def start_daemon(self, port: int = 0) -> None:
        """Start the daemon; on the port of the last one when ``port`` is given."""
        self._running = ExitStack()
        self.daemon = self._running.enter_context(
            running(
                self.home,
                f"--listen=127.0.0.1:{port}",
                f"--ca-file={self.forge.ca_file}",
                more=self.desktop.environment,
            )
        )

    def stop_daemon(self) -> None:
        self._running.close()

    def publish(
        self,
        plugin_id: str,
        main: str = "",
        files: Mapping[str, str | bytes] | None = None,
        seed: bytes = SEED,
        **about: Any,
    ) -> str:
        """Publish a plugin, or a new version of it; gives its URL."""
        directory = self.home / "trees" / plugin_id
        name = about.setdefault("name", plugin_id.replace("-", " ").title())
        own = {
            "plugin.json": manifest(plugin_id, **about),
            "main.ts": main or _CARD % (plugin_id, name),
        }
        write_files(directory, {**own, **(files or {})})
        # A version that is not newer than the last one is a replay.
        self._signed_at = max(int(time.time()), self._signed_at + 1)
        sign(directory, plugin_id, PROFILE, seed, self._signed_at)
        self.forge.publish(directory, plugin_id)
        return self.forge.url(plugin_id)

    def open(self, route: str = "", query: str = "") -> None:
        """Load the page again, at a route such as ``/plugins``, by a link."""
        endpoint = quote(f"http://127.0.0.1:{self.daemon.port}", safe="")
        self.browser.open("about:blank")
        self.browser.open(f"{self.page}/{query}#endpoint={endpoint}")
        if route:
            self.go(route)

    def go(self, route: str) -> None:
        """Go to a route of the page that is open."""
        self.browser.chrome.execute_script(f"location.hash = '#{route}'")

    def pair(self) -> None:
        self.browser.type("#token", self.daemon.token)
        self.browser.click("#pair")
        self.browser.until_text("#bridge-state", "Connected")

    def focus(self) -> str:
        """Describe what has the focus: its id, test id, row or tag."""
        return self.browser.look("focused")

    def announced(self) -> str:
        """Return what was announced to screen readers last, urgent first."""
        return self.browser.look("announced")

    def rotate_token(self) -> str:
        """Replace the daemon's token; gives the new one."""
        return self.daemon.rotate_token(self.home)

    def confirmed(self, method: str, params: Mapping[str, Any]) -> None:
        """Call a method that asks, and confirm every question."""
        ended = threading.Event()

        def confirm() -> None:
            while not ended.wait(0.05):
                if self.desktop.has_prompt():
                    self.desktop.confirm()

        answering = threading.Thread(target=confirm)
        answering.start()
        try:
            self.call(method, params)
        finally:
            ended.set()
            answering.join()

    def install(self, plugin_id: str, **about: Any) -> str:
        """Publish and install a plugin, without the page; gives its URL."""
        url = self.publish(plugin_id, **about)
        self.confirmed("plugins/install", {"url": url})
        return url

    def call(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Call a method of the daemon over a socket of its own."""
        service, _, name = method.partition("/")
        with self.daemon.page() as page:
            return page.result(service, name, dict(params or {}))


@contextmanager
def open_fixture() -> Iterator[Fixture]:
    """Start everything; the daemon asks on the desktop."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(TemporaryDirectory(prefix="bridge-home-")))
        data = set_up(home)
        forge = start_forge_process()
        stack.callback(forge.stop)
        desktop = Desktop()
        stack.callback(desktop.end)
        desktop.start()
        theme = PROFILE.theme_dir(data) / PROFILE.theme_name
        lay_out_page(home / "site", theme)
        page = stack.enter_context(serving_directory(home / "site"))
        browser = stack.enter_context(open_browser())
        fixture = Fixture(home, forge, desktop, browser, page)
        fixture.start_daemon()
        stack.callback(fixture.stop_daemon)
        yield fixture
