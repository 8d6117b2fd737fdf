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
_ROOM_FOR_COUNT: Final = len(", and 999 more")


Words = Mapping[str, PermissionWords]
"""The words of a host application, by permission; one without is shown by its name."""


def permission_lines(
    words: Words, permissions: Iterable[str], most: int = LIST_CHARACTERS
) -> list[str]:
    """
    Describe permissions, the risky ones first.

    :return: A line for each with what it means for the user; one line of all the
        labels when that would be longer than ``most`` characters.
    """
    found = [words.get(one) or _unknown(one) for one in permissions]
    found.sort(key=lambda one: not one.risky)
    lines = [f"- {one.label}: {one.effect}" for one in found]
    if sum(map(len, lines)) > most:
        return [f"- {listed(one.label for one in found)}"]
    return lines


def _unknown(permission: str) -> PermissionWords:
    name = ascii_line(permission, _NAME_CHARACTERS)
    return PermissionWords(name, "a permission of this app", risky=True)


def gain_lines(
    words: Words, found: Differences, *, new: bool, most: int = LIST_CHARACTERS
) -> list[str]:
    """
    Describe what a plugin gains, the riskiest first.

    :param new: Whether there is an installed version.
    :param most: How many characters a list may have.
    """
    lines = permission_lines(words, found.permissions.gained, most)
    if optional := found.optional_permissions.gained:
        lines += ["It may ask later to:", *permission_lines(words, optional, most)]
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
