"""A tab of a browser, driven by Chromium's own protocol."""

import json
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

from attrs import Factory, define, field
from websocket import WebSocket, WebSocketTimeoutException, create_connection

PATIENCE_SECONDS = 60.0
# Drawing takes most of the time.
SIZE: Final = {"width": 300, "height": 300}


class CommandError(Exception):
    """The browser refused a command."""


@define(eq=False)
class Tab:
    """
    A tab in a window of its own, which shares no cookies and no storage with others.

    :ivar events: What the browser has reported since they were cleared.
    """

    socket: WebSocket
    events: list[dict[str, Any]] = Factory(list)
    _last: int = 0
    _end: float = field(default=0.0, init=False)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """
        Have a command carried out.

        :raise CommandError: It was refused.
        """
        self._last += 1
        self.socket.settimeout(PATIENCE_SECONDS)
        self.socket.send(
            json.dumps({"id": self._last, "method": method, "params": params})
        )
        while True:
            frame: dict[str, Any] = json.loads(self.socket.recv())
            if frame.get("id") == self._last:
                break
            if "id" not in frame:
                self.events.append(frame)
        if "error" in frame:
            raise CommandError(frame["error"]["message"])
        return frame["result"]

    def wait(self, true: Callable[[], bool], seconds: float) -> bool:
        """Read events until something is true; return whether it is."""
        end = time.monotonic() + seconds
        while not true():
            left = end - time.monotonic()
            if left <= 0:
                return False
            self.socket.settimeout(left)
            try:
                self.events.append(json.loads(self.socket.recv()))
            except WebSocketTimeoutException:
                return False
        return True

    def names(self, method: str) -> list[dict[str, Any]]:
        """Return the parameters of every event of a kind."""
        return [e["params"] for e in self.events if e["method"] == method]


@contextmanager
def open_tab(debugger: str) -> Iterator[Tab]:
    """
    Open a tab, and let go of it at the end.

    :param debugger: Where the browser is driven: host and port.
    """
    with urllib.request.urlopen(f"http://{debugger}/json/version") as answer:
        about = json.load(answer)
    with closing(_connect(about["webSocketDebuggerUrl"])) as socket:
        browser = Tab(socket)
        context = browser.call("Target.createBrowserContext")["browserContextId"]
        made = browser.call(
            "Target.createTarget",
            url="about:blank",
            browserContextId=context,
            newWindow=True,
            **SIZE,
        )
        page = f"ws://{debugger}/devtools/page/{made['targetId']}"
        with closing(_connect(page)) as own:
            yield Tab(own)


def _connect(address: str) -> WebSocket:
    # The browser takes commands from programs, which have no origin.
    return create_connection(address, timeout=PATIENCE_SECONDS, suppress_origin=True)
