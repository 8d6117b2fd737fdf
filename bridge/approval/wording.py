"""
What permissions mean, in the words of a prompt.

The words are ASCII without markup, so that every notification server shows them as
they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..classes import frozen
from ..protocol.text import ascii_line
from .growth import Differences

LIST_CHARACTERS: Final = 300
"""How long a list in a prompt may get."""

_NAME_CHARACTERS: Final = 60
_ROOM_FOR_COUNT: Final = len(", and 999 more")


@frozen
class Meaning:
    """
    What a permission allows.

    :ivar label: What the plugin can do: a few words that begin with a verb.
    :ivar effect: What that means for the user.
    :ivar risky: Whether it is listed first.
    """

    label: str
    effect: str
    risky: bool = False


MEANINGS: Final[dict[str, Meaning]] = {
    "host:events": Meaning(
        "See what the app does",
        "receives the named events; some hold personal details",
    ),
    "host:actions": Meaning(
        "Act in the app",
        "does the named things as if you clicked, even signing in",
        risky=True,
    ),
    "host:intercept": Meaning(
        "Change what the app does", "can alter or block actions", risky=True
    ),
    "network": Meaning(
        "Go online", "can send what it knows to the named sites", risky=True
    ),
    "notifications": Meaning("Show messages in the app", "can distract you"),
    "native": Meaning(
        "Show desktop and VR notifications", "can cover your view in the headset"
    ),
    "osc": Meaning(
        "Control your avatar",
        "sees and changes its parameters through this computer",
        risky=True,
    ),
    "sql": Meaning(
        "Read the app's saved data", "all of it, but it can't change it", risky=True
    ),
    "gamelog": Meaning(
        "Read the game log", "sees where you were and whom you met", risky=True
    ),
    "vrchat": Meaning(
        "Use your VRChat session",
        "sees what your account sees, such as friends",
        risky=True,
    ),
    "context-menu": Meaning("Add menu entries", "they can look like the app's own"),
    "routes": Meaning("Add pages", "they can look like the app's own"),
    "clipboard": Meaning(
        "Use the clipboard",
        "reads what you copied, passwords too, and can replace it",
        risky=True,
    ),
}
"""By permission, as the shipped profiles name them."""


def permission_lines(permissions: Iterable[str]) -> list[str]:
    """
    Describe permissions, the risky ones first.

    :return: A line for each with what it means for the user; one line of all the
        labels when that would be longer than ``LIST_CHARACTERS``.
    """
    names = sorted(permissions, key=lambda name: not _meaning(name).risky)
    meanings = [_meaning(name) for name in names]
    lines = [f"- {one.label}: {one.effect}" for one in meanings]
    if sum(map(len, lines)) > LIST_CHARACTERS:
        return [f"- {listed(one.label for one in meanings)}"]
    return lines


def gain_lines(found: Differences, *, new: bool) -> list[str]:
    """
    Describe what a plugin gains, the riskiest first.

    :param new: Whether there is an installed version.
    """
    lines = permission_lines(found.permissions.gained)
    if optional := found.optional_permissions.gained:
        lines += ["It may ask later to:", *permission_lines(optional)]
    for what, difference in (
        ("sites", found.hosts),
        ("things it does in the app", found.actions),
        ("events it receives", found.events),
    ):
        if difference.gained:
            label = f"New {what}" if new else what.capitalize()
            lines.append(f"{label}: {listed(difference.gained)}")
    return lines


def _meaning(permission: str) -> Meaning:
    name = ascii_line(permission, _NAME_CHARACTERS)
    # The vocabulary is the host profile's, so there may be others.
    unknown = Meaning(name, "a permission of this app", risky=True)
    return MEANINGS.get(permission, unknown)


def listed(names: Iterable[str]) -> str:
    """
    List names in one line; what does not fit is counted, so that it isn't hidden.

    :return: At most ``LIST_CHARACTERS`` of printable ASCII; ``none`` of nothing.
    """
    plain = [ascii_line(name, LIST_CHARACTERS - _ROOM_FOR_COUNT) for name in names]
    whole = ", ".join(plain)
    if len(whole) <= LIST_CHARACTERS:
        return whole or "none"
    fitting = 0
    length = 0
    for name in plain:
        length += len(name) + len(", ")
        if length > LIST_CHARACTERS - _ROOM_FOR_COUNT:
            break
        fitting += 1
    fitting = max(1, fitting)
    return f"{', '.join(plain[:fitting])}, and {len(plain) - fitting} more"
