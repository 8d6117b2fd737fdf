"""A tab in which one page after the other is attacked."""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from attrs import define, field, frozen

from .corpus import Attack
from .modes import Mode
from .servers import LOOT, Elsewhere, Line
from .tab import CommandError, Tab

CONTROL: Final = Attack("none", "none", "Does nothing.")
"""What is run like an attack, and takes nothing."""

_HERE: Final = Path(__file__).parent
_WORLD: Final = "outside"
_SHOWN_SECONDS: Final = 20.0
_WORKED_SECONDS: Final = 4.0
_TAKEN_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.05
# The page's address may be another, or it may be left later.
_LEAVING: Final = "navigation"
_ENDS: Final = ("over", "stopped")
_CONTEXT: Final = "Runtime.executionContextCreated"
_CHANGES: Final = 'globalThis[Symbol.for("outside")]()'


@frozen
class Secrets:
    """What there is to take."""

    token: str
    cookie: str
    data: str

    def taken(self, words: str) -> set[str]:
        """Name those that are in a text."""
        return {
            name for name in ("token", "cookie", "data") if getattr(self, name) in words
        }


@frozen
class Seen:
    """
    What was seen of a page after an attack.

    :ivar loot: Without what can be known only at the end.
    :ivar changes: What the page's scripts share and that is another than before.
    :ivar note: What the attacker's card shows, for people.
    :ivar worked: Whether the other plugin went on.
    """

    loot: set[str]
    changes: set[str]
    note: str
    worked: bool


@define(eq=False)
class Attacked:
    """
    A tab whose page is attacked, and loaded again when anything has become of that.

    :ivar page: The address of the page.
    :ivar other: The address of the server of another origin.
    """

    tab: Tab
    line: Line
    page: str
    other: str
    elsewhere: Elsewhere
    secrets: Secrets
    _frame: str = field(default="", init=False)
    _shown: Mode | None = field(default=None, init=False)
    _parts: int = field(default=0, init=False)
    _changed: set[str] = field(factory=set, init=False)
    _serial: int = field(default=0, init=False)

    def prepare(self) -> None:
        """Have the browser watch each page."""
        stand = {
            "origin": self.page,
            "endpoint": f"http://127.0.0.1:{self.line.port}",
            "token": self.secrets.token,
            "cookie": self.secrets.cookie,
        }
        outside = (_HERE / "outside.js").read_text("utf-8")
        source = outside.replace("STAND", json.dumps(stand))
        shared = (_HERE / "shared.js").read_text("utf-8")
        for method, params in (
            ("Page.enable", {}),
            ("Runtime.enable", {}),
            ("Runtime.addBinding", {"name": "noted", "executionContextName": _WORLD}),
            ("Page.addScriptToEvaluateOnNewDocument", {"source": shared}),
            (
                "Page.addScriptToEvaluateOnNewDocument",
                {"source": source, "worldName": _WORLD},
            ),
        ):
            self.tab.call(method, **params)
        tree = self.tab.call("Page.getFrameTree")["frameTree"]
        self._frame = tree["frame"]["id"]

    def attack(self, mode: Mode, attack: Attack, expected: Collection[str]) -> Seen:
        """
        Run an attack, wait until it is over, and look.

        :param expected: Loot to be patient for: a busy machine may be slow.
        """
        if self._shown is not mode:
            self._load(mode)
        tab = self.tab
        loot = f"{self.other}{LOOT}{mode.name}/{attack.id}"
        self._begin(f"{attack.id} {loot}")
        tab.wait(lambda: self._has("drop", *_ENDS) or self._left(), _SHOWN_SECONDS)
        if self._has("drop"):
            self.line.drop()
            tab.wait(lambda: self._has(*_ENDS), _SHOWN_SECONDS)
        worked = tab.wait(lambda: self._has("worked") or self._left(), _WORKED_SECONDS)
        seen = self._look(worked)
        end = time.monotonic() + _TAKEN_SECONDS
        while not self._is_all(expected, seen, mode, attack) and time.monotonic() < end:
            tab.wait(lambda: False, _LOOK_SECONDS)
            seen = self._look(worked)
        can_stay = self._has("stopped") or attack.family != _LEAVING
        is_kept = can_stay and worked and self._undo(seen) and self._is_as_before()
        self._shown = mode if is_kept else None
        return seen

    def _is_all(
        self, expected: Collection[str], seen: Seen, mode: Mode, attack: Attack
    ) -> bool:
        is_sent = (mode.name, attack.id) in self.elsewhere.seen
        return seen.loot.union({"request"} if is_sent else ()).issuperset(expected)

    def _begin(self, words: str) -> None:
        self._forget()
        self._evaluate(f"begin({json.dumps(words)})", self._world())

    def _undo(self, seen: Seen) -> bool:
        """Undo what an attack changed; return whether that is over."""
        # Everything else is undone when the next attack begins.
        if not seen.changes:
            return True
        self._begin(CONTROL.id)
        return self.tab.wait(lambda: self._has("worked"), _WORKED_SECONDS)

    def _load(self, mode: Mode) -> None:
        self._serial += 1
        self.tab.events.clear()
        address = f"{self.page}/{mode.name}/{id(self)}-{self._serial}/"
        self.tab.call("Page.navigate", url=address)
        ready = self.tab.wait(lambda: self._has("ready"), _SHOWN_SECONDS)
        assert ready, f"the page does not start: {mode.name}"
        self._shown = mode
        self._parts = self._evaluate("look()", self._world())["parts"]
        self._changed = set()
        self._changed = self._changes()

    def _look(self, worked: bool) -> Seen:
        seen = None if self._left() else self._evaluate("look()", self._world())
        if seen is None:
            return Seen(set(), set(), "The page was left.", worked=False)
        loot = self.secrets.taken(seen["taken"])
        changes = self._changes()
        if seen["defaced"] or not worked or changes:
            loot.add("host")
        return Seen(loot, changes, seen["taken"], worked)

    def _is_as_before(self) -> bool:
        if self._left():
            return False
        now = self._evaluate("clean(), look()", self._world())
        return now is not None and (
            now["parts"] == self._parts
            and not now["defaced"]
            and not self._changes()
            and self._has("worked")
        )

    def _changes(self) -> set[str]:
        found = set((self._evaluate(_CHANGES) or "").splitlines())
        return found - self._changed

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
        """Whether the page was replaced."""
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
