"""Compares what a simulated daemon has with the model."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from attrs import define, field

from ..directories import read_files
from ..web.stack import Page
from .expected import Answer, Model, read_answer
from .published import NAMESPACES
from .simulation import Simulation

PAGES: Final = 2
BUNDLE: Final = "reference-host.js"
PUBLISHED: Final = {"info.json", BUNDLE, f"{BUNDLE}.map"}
KEPT: Final = {
    "address",
    "bin",
    "build",
    "control.socket",
    "host",
    "icons",
    "lock",
    "logs",
    "package.json",
    "plugins",
    "state.json",
    "state.json.bak",
    "token",
}
DEFECTS: Final = (
    "Unhandled",
    "AlreadyCalled",
    "AssertionError",
    "AttributeError",
    "InvalidStateError",
    "KeyError",
    "TypeError",
    "ValueError",
)
"""In what is logged after a failure that no code was prepared for."""


class MismatchError(AssertionError):
    """The daemon differs from the model."""


def expect(holds: object, *what: object) -> None:
    """
    Compare with the model.

    :raise MismatchError: It does not hold.
    """
    if not holds:
        raise MismatchError(" ".join(str(one) for one in what))


@define
class Excuses:
    """
    What need not hold, because calls have failed.

    :ivar stale: The bundle may be that of an earlier set, until the next build.
    :ivar litter: Files may be left, until the next start.
    """

    stale: bool = False
    litter: bool = False


@define(eq=False)
class Observer:
    """Looks at a daemon: as a page does, and at its files."""

    simulation: Simulation
    pages: list[Page | None] = field(factory=lambda: [None] * PAGES)
    _number: int = 0

    @property
    def unsettled(self) -> str:
        """The plugin whose operation a journal has, as not over; empty without one."""
        journal = self.simulation.data / "journal"
        return json.loads(journal.read_bytes())["pluginId"] if journal.exists() else ""

    # As a page.

    def connect(self) -> None:
        """Open the pages that are not; forget what was pushed to the others."""
        for number, page in enumerate(self.pages):
            if page is None or page.closed is not None:
                new = self.simulation.open_page(self.simulation.token)
                kinds = [frame["type"] for frame in new.take()]
                expect("welcome" in kinds, "a page was not welcomed:", new.closed)
                self.pages[number] = new
        for page in self.pages:
            page.take()

    def leave(self, number: int) -> None:
        page = self.pages[number]
        if page is not None:
            page.raw.socket.close()
            self.pages[number] = None

    def received(self) -> Iterator[Answer]:
        """Read the responses that have arrived."""
        for page in self.pages:
            for frame in [] if page is None else page.take():
                if frame["type"] == "response":
                    yield read_answer(frame)

    def call(self, service: str, method: str, params: Any = None) -> Any:
        self.connect()
        page = self.pages[0]
        self._number += 1
        frame = {"type": "request", "id": str(self._number), "service": service}
        page.send({**frame, "method": method, "params": params or {}})
        answers: list[Answer] = []
        self.simulation.run(
            lambda: bool(answers), lambda: answers.extend(self.received())
        )
        expect(len(answers) == 1 and answers[0].is_ok, service, method, answers)
        return answers[0].result

    def found(self, before: Model) -> Model:
        """Return what the daemon has, as its answers show it."""
        listed = self.call("plugins", "list")
        broken = {one["id"] for one in listed["broken"]}
        # If its trees could not be put back it is refused, until they are.
        expected = {self.unsettled} & set(before.installed)
        expect(broken <= expected, "broken:", listed["broken"])
        version = self.simulation.forge.version
        installed = {one: before.installed[one] for one in broken}
        for entry in listed["plugins"]:
            installed[entry["id"]] = version(entry["commit"])
        settings = {
            ns: self.call("state", "list", {"ns": ns})["entries"] for ns in NAMESPACES
        }
        return Model(
            installed,
            {ns: entries for ns, entries in settings.items() if entries},
            {key["keyId"] for key in self.call("plugins", "keys")["keys"]},
            self.marks(),
        )

    # In its files.

    def marks(self) -> dict[tuple[str, str], int]:
        """Return the marks that the daemon keeps; no page can read them."""
        return {
            (plugin_id, key): at
            for plugin_id, marks in self._state().get("bridge.plugin-marks", {}).items()
            for key, at in marks.items()
        }

    def _state(self) -> dict[str, dict[str, Any]]:
        path = self.simulation.data / "state.json"
        if not path.exists():
            return {}
        return json.loads(path.read_bytes())

    def check(self, model: Model, excuses: Excuses) -> None:
        """Compare everything that no page can read with the model."""
        expect(self.simulation.health()["ok"], "not healthy")
        self._check_log(excuses)
        self._check_trees(model)
        # What was taken back is in files until it is settled.
        if not self.unsettled:
            self._check_state(model)
            if not excuses.stale:
                self._check_bundle(model)
            if not excuses.litter:
                self._check_left(model)

    def _check_log(self, excuses: Excuses) -> None:
        for line in self.simulation.errors:
            is_defect = any(name in line for name in DEFECTS)
            expect(excuses.litter and not is_defect, "logged:", line)

    def _check_trees(self, model: Model) -> None:
        for plugin_id, version in model.installed.items():
            if plugin_id != self.unsettled:
                files = read_files(self.simulation.data / "plugins" / plugin_id)
                expect(files == version.files, plugin_id, "is not", version)

    def _check_state(self, model: Model) -> None:
        state = self._state()
        found = {ns: v for ns, v in state.items() if not ns.startswith("bridge.")}
        expect(found == model.settings, "in the file:", found, "not", model.settings)

    def _check_bundle(self, model: Model) -> None:
        path = self.simulation.theme / BUNDLE
        if not (path.exists() or model.installed):
            return
        code = {
            plugin_id: version.files["main.ts"].decode()
            for plugin_id, version in model.installed.items()
        }
        found = json.loads(path.read_text())
        expect(found == code, "the bundle has", found, "instead of", code)

    def _check_left(self, model: Model) -> None:
        data, theme = self.simulation.data, self.simulation.theme
        expect(not _names(data) - KEPT, "left:", _names(data) - KEPT)
        names = _names(data / "plugins")
        expect(names == set(model.installed), "in plugins:", names)
        if theme.exists():
            left = _names(theme) - PUBLISHED
            expect(not left, "left of a build:", left)


def _names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}
