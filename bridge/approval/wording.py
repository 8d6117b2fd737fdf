"""
What permissions mean, in the words of a prompt, which the host's profile has.

The words are ASCII without markup, so that every notification server shows them as
they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import fields

from ..classes import frozen
from ..protocol.text import ascii_line
from ..settings.host import PermissionWords


@frozen
class Difference:
    """
    How one list of a manifest differs from the installed version's.

    :ivar gained: What is new, in the manifest's order.
    :ivar lost: What is no longer there.
    """

    gained: list[str]
    lost: list[str]


@frozen
class Differences:
    """
    How a manifest differs from the installed version's.

    :ivar permissions: Required ones; one that was optional is gained, too.
    :ivar optional_permissions: Optional ones; one that was required is not gained.
    :ivar hosts: The hosts it declares.
    :ivar actions: The host's actions it declares.
    :ivar events: The host's events it declares.
    """

    permissions: Difference
    optional_permissions: Difference
    hosts: Difference
    actions: Difference
    events: Difference

    @property
    def grows(self) -> bool:
        """Whether anything is gained."""
        return any(getattr(self, each.name).gained for each in fields(Differences))


LIST_CHARACTERS: Final = 300
"""How long a list in a prompt may get."""

_NAME_CHARACTERS: Final = 60
# KDE Plasma shows eight lines of 38 without scrolling.
_PLACES_CHARACTERS: Final = 120
_ROOM_FOR_COUNT: Final = len(", and 999 more")


Words = Mapping[str, PermissionWords]
"""The words of a host application, by permission; one without is shown by its name."""


def _meanings(words: Words, permissions: Iterable[str]) -> list[str]:
    """Describe permissions, the risky ones first, each with what it means."""
    found = _risky_first(words, permissions)
    return [f"- {one.label}: {one.effect}" for one in found]


def _risky_first(words: Words, permissions: Iterable[str]) -> list[PermissionWords]:
    found = [words.get(one) or _unknown(one) for one in permissions]
    return sorted(found, key=lambda one: not one.risky)


def _unknown(permission: str) -> PermissionWords:
    name = ascii_line(permission, _NAME_CHARACTERS)
    return PermissionWords(name, "a permission of this app", risky=True)


def permission_labels(words: Words, found: Differences, *, new: bool) -> str:
    """
    Name all permissions in one line, which is short enough to be seen in any prompt.

    :param new: Whether there is an installed version.
    """
    named = [
        f"{lead}: {listed(one.label for one in _risky_first(words, each.gained))}"
        for lead, each in (
            ("it can also" if new else "it can", found.permissions),
            ("if you allow it later", found.optional_permissions),
        )
        if each.gained
    ]
    line = "; ".join(named) or f"it asks for no {'more ' * new}permissions."
    return f"I{line[1:]}"


def gain_lines(words: Words, found: Differences, most: int) -> list[str]:
    """
    Describe what a plugin declares, for a terminal, the riskiest first.

    :param most: How many characters a list may have.
    """
    lines = _meanings(words, found.permissions.gained)
    if optional := found.optional_permissions.gained:
        lines += ["It may ask later to:", *_meanings(words, optional)]
    return [*lines, *_place_lines(found, new=False, most=most)]


def detail_lines(words: Words, found: Differences, *, new: bool) -> list[str]:
    """
    Describe what a prompt's line of permissions does not say.

    :param new: Whether there is an installed version.
    :return: Short lists; then what required permissions mean, and optional ones, each
        unless that is longer than ``LIST_CHARACTERS``.
    """
    lines = _place_lines(found, new=new, most=_PLACES_CHARACTERS)
    for each in (found.permissions, found.optional_permissions):
        meant = _meanings(words, each.gained)
        if sum(map(len, meant)) <= LIST_CHARACTERS:
            lines += meant
    return lines


def _place_lines(found: Differences, *, new: bool, most: int) -> list[str]:
    lines = []
    for what, difference in (
        ("sites", found.hosts),
        ("things it does in the app", found.actions),
        ("events it receives", found.events),
    ):
        if difference.gained:
            label = f"New {what}" if new else what.capitalize()
            lines.append(f"{label}: {listed(difference.gained, most)}")
    return lines


def listed(names: Iterable[str], most: int = LIST_CHARACTERS) -> str:
    """
    List names in one line; what does not fit is counted, so that it isn't hidden.

    :return: At most so many characters of printable ASCII; ``none`` of nothing.
    """
    plain = [ascii_line(name, most - _ROOM_FOR_COUNT) for name in names]
    whole = ", ".join(plain)
    if len(whole) <= most:
        return whole or "none"
    fitting = 0
    length = 0
    for name in plain:
        length += len(name) + len(", ")
        if length > most - _ROOM_FOR_COUNT:
            break
        fitting += 1
    fitting = max(1, fitting)
    return f"{', '.join(plain[:fitting])}, and {len(plain) - fitting} more"
