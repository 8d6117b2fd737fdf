"""The model: what requests change, and what they may be answered."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import permutations, product
from typing import Any, Final, Self

from attrs import define, field, frozen

from bridge.protocol.limits import SIGNED_AHEAD_SECONDS

from ..plugins.operations.bench import url_of
from .published import KEYS, Forge, Version

OPERATIONS: Final = ("install", "update", "uninstall")
OK: Final = "ok"


@frozen
class Ask:
    """
    One request of a page.

    :ivar what: ``set``, ``delete``, ``build``, ``forget`` or one of ``OPERATIONS``.
    :ivar target: A namespace, a plugin id or a key id.
    """

    what: str
    target: str = ""
    key: str = ""
    value: Any = None
    page: int = 0

    def frame(self) -> dict[str, Any]:
        """Return the request, as a page sends it."""
        place = {"ns": self.target, "key": self.key}
        service, method, params = {
            "set": ("state", "set", {**place, "value": self.value}),
            "delete": ("state", "delete", place),
            "build": ("plugins", "build", {}),
            "forget": ("plugins", "forget_key", {"keyId": self.target}),
            "install": ("plugins", "install", {"url": url_of(self.target)}),
            "update": ("plugins", "update", {"id": self.target}),
            "uninstall": ("plugins", "uninstall", {"id": self.target}),
        }[self.what]
        return {"service": service, "method": method, "params": params}

    @property
    def is_setting(self) -> bool:
        """Whether it changes the page's settings only."""
        return self.what in ("set", "delete")

    @property
    def is_one_write(self) -> bool:
        """Whether it is nothing but one write of the state file."""
        return self.is_setting or self.what == "forget"


@frozen
class Answer:
    """
    The answer to one request.

    :ivar number: Which request, by its place.
    :ivar outcome: ``OK``, or the code or the prefix of a refusal.
    """

    number: int
    outcome: str
    result: Any = None

    @property
    def is_ok(self) -> bool:
        return self.outcome == OK


def read_answer(frame: dict[str, Any]) -> Answer:
    """Read a response, whose id is the number of its request."""
    number = int(frame["id"])
    if frame["ok"]:
        return Answer(number, OK, frame["result"])
    error = frame["error"]
    prefix, colon, _ = error["message"].partition(": ")
    has_prefix = colon and error["code"] == "bad_request" and " " not in prefix
    return Answer(number, prefix if has_prefix else error["code"], error["message"])


@define
class Model:
    """
    What a daemon has.

    :ivar settings: By namespace and key; no namespace is empty.
    :ivar marks: By plugin id and key id: the highest ``signedAt`` there was.
    """

    installed: dict[str, Version] = field(factory=dict)
    settings: dict[str, dict[str, Any]] = field(factory=dict)
    keys: set[str] = field(factory=set)
    marks: dict[tuple[str, str], int] = field(factory=dict)

    def apply(self, ask: Ask, forge: Forge) -> None:
        """Change as a request does that succeeds."""
        if ask.what == "set":
            self.settings.setdefault(ask.target, {})[ask.key] = ask.value
        elif ask.what == "delete":
            self.settings.get(ask.target, {}).pop(ask.key, None)
            if not self.settings.get(ask.target, {1: 1}):
                del self.settings[ask.target]
        elif ask.what in ("install", "update"):
            if not self._is_latest(ask, forge):
                self._put(forge.latest[ask.target])
        elif ask.what == "uninstall":
            self.installed.pop(ask.target, None)
            self.settings.pop(f"plugin:{ask.target}", None)
        elif ask.what == "forget":
            self.keys.discard(ask.target)
            self.marks = {
                of: at for of, at in self.marks.items() if of[1] != ask.target
            }

    def _is_latest(self, ask: Ask, forge: Forge) -> bool:
        """Whether it is an update that finds nothing new, and so changes nothing."""
        here = self.installed.get(ask.target)
        return ask.what == "update" and here == forge.latest[ask.target]

    def _put(self, version: Version) -> None:
        key = KEYS[version.author]
        self.installed[version.plugin_id] = version
        self.keys.add(key)
        mark = self.marks.get((version.plugin_id, key), 0)
        self.marks[version.plugin_id, key] = max(mark, version.signed_at)

    def allowed(self, ask: Ask, forge: Forge, now: float, mood: str) -> set[str]:
        """
        Return what one request may be answered that nothing else interferes with.

        :return: ``OK``, or the prefixes of refusals, of which any may come first.
        """
        if ask.is_setting or ask.what == "build":
            return {OK}
        why = self._refusals(ask, forge, now)
        if why & {"not_installed", "not_trusted"}:
            return why  # nobody is asked
        if self._is_latest(ask, forge):
            return {OK}
        if mood == "confirm":
            return why or {OK}
        return {"denied" if mood == "deny" else "approval_unavailable"}

    def _refusals(self, ask: Ask, forge: Forge, now: float) -> set[str]:
        here = self.installed.get(ask.target)
        if ask.what == "forget":
            return set() if ask.target in self.keys else {"not_trusted"}
        if ask.what != "install" and here is None:
            return {"not_installed"}
        if ask.what == "uninstall":
            return set()
        why = {"already_installed"} if ask.what == "install" and here else set()
        new = forge.latest[ask.target]
        lower = here is not None and ask.what == "update" and _is_older(new, here)
        marked = self.marks.get((ask.target, KEYS[new.author]), 0)
        if lower or new.signed_at < marked:
            why.add("downgrade")
        if new.signed_at > now + SIGNED_AHEAD_SECONDS:
            why.add("unsigned")
        if new.is_broken:
            why.add("build_failed")
        return why

    def after(
        self, asks: Sequence[Ask], answers: Sequence[Answer], forge: Forge, killed: bool
    ) -> Iterator[Self]:
        """
        Yield everything that may be there after requests.

        :param asks: In the order in which they arrived.
        :param answers: In the order in which they were given.
        :param killed: Whether what was not answered was interrupted.
        """
        effective = [answer.number for answer in answers if answer.is_ok]
        answered = {answer.number for answer in answers}
        unknown = [n for n in range(len(asks)) if n not in answered]
        for chosen in product((False, True), repeat=len(unknown)):
            more = [
                n for n, is_chosen in zip(unknown, chosen, strict=True) if is_chosen
            ]
            settings = [n for n in unknown if asks[n].is_setting]
            done = [n for n in more if asks[n].is_setting]
            # They become durable in the order in which they arrived.
            if killed and done != settings[: len(done)]:
                continue
            yield from self._in_every_order(asks, effective, more, forge)

    def _in_every_order(
        self, asks: Sequence[Ask], effective: list[int], more: list[int], forge: Forge
    ) -> Iterator[Self]:
        both = [*effective, *more]
        settings = sorted(n for n in both if asks[n].is_setting)
        others = [n for n in both if not asks[n].is_setting]
        for order in permutations(others):
            kept = [n for n in order if n in effective]
            if kept != [n for n in effective if n in kept]:
                continue
            model = deepcopy(self)
            for n in (*settings, *order):
                model.apply(asks[n], forge)
            yield model


def _is_older(new: Version, old: Version) -> bool:
    return new.number < old.number or new.signed_at < old.signed_at
