"""The attacks, read from the sources of the attacking plugin."""

import re
from pathlib import Path
from typing import Final

from attrs import frozen

ATTACKER: Final = Path(__file__).with_name("attacker")
VICTIM: Final = Path(__file__).with_name("victim")
_ATTACK: Final = re.compile(
    r"^/\*\* (?P<about>[^*]+?) \*/\n"
    r"export (?:(?:async )?function|const) (?P<name>\w+)\b",
    re.MULTILINE,
)


@frozen
class Attack:
    """
    One exported function of a family's module.

    :ivar family: The module's name.
    """

    family: str
    name: str
    about: str

    @property
    def id(self) -> str:
        return f"{self.family}.{self.name}"


def attacks() -> list[Attack]:
    """List them, sorted by id."""
    listed = [
        Attack(path.stem, found["name"], found["about"])
        for path in ATTACKER.glob("*.js")
        for found in _ATTACK.finditer(path.read_text("utf-8"))
    ]
    return sorted(listed, key=lambda attack: attack.id)
