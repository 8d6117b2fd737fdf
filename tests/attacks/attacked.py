"""A tab in which one page after the other is attacked."""

import json
from pathlib import Path
from typing import Any, Final

from attrs import define, field, frozen

from ..webserver import Relay
from .corpus import Attack
from .servers import LOOT
from .tab import CommandError, Tab

CONTROL: Final = Attack("none", "none", "Does nothing.")
"""What is run like an attack, and takes nothing."""

_HERE: Final = Path(__file__).parent
_WORLD: Final = "outside"
_SHOWN_SECONDS: Final = 20.0
_ENDED_SECONDS: Final = 4.0
_WORKED_SECONDS: Final = 4.0
_ENDS: Final = ("over", "stopped")
_CONTEXT: Final = "Runtime.executionContextCreated"


@frozen
class Secrets:
    """What there is to take."""

    token: str
    cookie: str
    data: str

    def taken(self, words: str) -> set[str]:
        return {
            name for name in ("token", "cookie", "data") if getattr(self, name) in words
        }


@frozen
class Seen:
    """
    What was seen of a page after an attack.

    :ivar loot: What was taken: a secret, or ``host`` when the page or the other plugin
        is not as it was.
    :ivar note: What the attacker's card shows, for people.
    """

    loot: frozenset[str]
    note: str


@define(eq=False)
class Attacked:
    """
    A tab whose page is attacked, and loaded again when anything has become of that.

    :ivar page: The address of the page's server.
    :ivar other: The address of the server of another origin.
    """

    tab: Tab
    line: Relay
    page: str
    other: str
    secrets: Secrets
    _frame: str = field(default="", init=False)
    _shown: str = field(default="", init=False)
    _parts: int = field(default=0, init=False)
    _serial: int = field(default=0, init=False)

    def prepare(self) -> None:
        fixture = {
            "origin": self.page,
            "endpoint": f"http://127.0.0.1:{self.line.port}",
            "token": self.secrets.token,
            "cookie": self.secrets.cookie,
        }
        outside = (_HERE / "outside.js").read_text("utf-8")
        source = outside.replace("FIXTURE", json.dumps(fixture))
        for method, params in (
            ("Page.enable", {}),
            ("Runtime.enable", {}),
            ("Runtime.addBinding", {"name": "noted", "executionContextName": _WORLD}),
            (
                "Page.addScriptToEvaluateOnNewDocument",
                {"source": source, "worldName": _WORLD},
            ),
        ):
            self.tab.call(method, **params)
        tree = self.tab.call("Page.getFrameTree")["frameTree"]
        self._frame = tree["frame"]["id"]

    def attack(self, page: str, attack: Attack) -> Seen:
        """Run an attack; look when it is over and the other plugin went on."""
        self.load(page)
        tab = self.tab
        self._forget()
        begin = json.dumps(f"{attack.id} {self.loot_address(page, attack)}")
        self._evaluate(f"begin({begin})", self._world())
        tab.wait(lambda: self._has("drop", *_ENDS) or self._left(), _ENDED_SECONDS)
        if self._has("drop"):
            self.line.drop()
            tab.wait(lambda: self._has(*_ENDS), _ENDED_SECONDS)
        self._evaluate("given_up()", self._world())
        worked = tab.wait(lambda: self._has("worked") or self._left(), _WORKED_SECONDS)
        seen = self.look(worked=worked)
        if seen.loot or not self._has(*_ENDS) or not self._is_as_before():
            self._shown = ""
        return seen

    def loot_address(self, page: str, attack: Attack) -> str:
        """Return where an attack sends what it takes."""
        return f"{self.other}{LOOT}{page}/{attack.id}"

    def load(self, page: str) -> None:
        """Load a page, unless it is there and as it was."""
        if self._shown == page:
            return
        self._serial += 1
        self.tab.events.clear()
        address = f"{self.page}/{page}/?{id(self)}-{self._serial}"
        self.tab.call("Page.navigate", url=address)
        ready = self.tab.wait(lambda: self._has("ready"), _SHOWN_SECONDS)
        assert ready, f"the page does not start: {page}"
        # That it was loaded is no attack.
        self._forget()
        self._shown = page
        self._parts = self._evaluate("look()", self._world())["parts"]

    def look(self, *, worked: bool) -> Seen:
        """See what was taken; without a page, or when another went on, the host."""
        seen = None if self._left() else self._evaluate("look()", self._world())
        if seen is None:
            return Seen(frozenset({"host"}), "The page was left.")
        loot = self.secrets.taken(seen["taken"])
        if seen["defaced"] or not worked:
            loot.add("host")
        return Seen(frozenset(loot), seen["taken"])

    def in_the_page(self, expression: str) -> None:
        """Evaluate something where the page's own scripts run."""
        self._evaluate(expression)

    def _is_as_before(self) -> bool:
        now = self._evaluate("clean(), look()", self._world())
        return now is not None and now["parts"] == self._parts and not now["defaced"]

    def _forget(self) -> None:
        """Forget what was reported, except where scripts run."""
        kept = [e for e in self.tab.events if e["method"] == _CONTEXT]
        self.tab.events[:] = kept

    def _has(self, *notes: str) -> bool:
        return any(
            called["payload"] in notes
            for called in self.tab.names("Runtime.bindingCalled")
        )

    def _left(self) -> bool:
        return any(
            "parentId" not in event["frame"]
            for event in self.tab.names("Page.frameNavigated")
        )

    def _world(self) -> dict[str, Any]:
        made = [m["context"] for m in self.tab.names(_CONTEXT)]
        ids = [
            context["id"]
            for context in made
            if (context["name"], context["auxData"]["frameId"]) == (_WORLD, self._frame)
        ]
        return {"contextId": ids[-1]}

    def _evaluate(self, expression: str, where: dict[str, Any] | None = None) -> Any:
        """Return a value; ``None`` when the page is not there any more."""
        try:
            answer = self.tab.call(
                "Runtime.evaluate",
                expression=expression,
                returnByValue=True,
                **(where or {}),
            )
        except CommandError:
            return None
        return answer["result"].get("value")
