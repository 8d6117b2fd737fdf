"""
What a prompt is, and how it is refused; and what permissions mean, in its words.

The words of permissions, which the host's profile has, are ASCII without markup, so
that every notification server shows them as they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final

from attrs import Attribute, field, fields

from ..classes import frozen
from ..http.target import read_url
from ..protocol.errors import BridgeError, Prefix, plugin_error
from ..protocol.steps import Operation
from ..protocol.text import ELLIPSIS, ascii_line, shortened
from ..settings.host import PermissionWords

DESKTOP_ENTRY: Final = "plugin-bridge"

_NAME_CHARACTERS: Final = 60
# So that a long path leaves room on the screen for what follows it.
_PATH_CHARACTERS: Final = 120
LIST_CHARACTERS: Final = 300
"""How long a list in a prompt may get."""

# KDE Plasma shows eight lines of 38 without scrolling.
_PLACES_CHARACTERS: Final = 120
_ROOM_FOR_COUNT: Final = len(", and 999 more")

# Some notification servers render markup without saying so.
_MARKUP: Final = "<>&"
# Persian and emoji need these between two others.
_JOINERS: Final = "\u200c\u200d"
_ISOLATES: Final = "\u2068\u2069"
# More would be drawn over the lines around; a letter of Burmese has four, and spacing
# marks as well.
_MARKS_AT_ONCE: Final = 4
# Desktops make links of these: dunst puts them into the menu to answer in.
_LINK: Final = re.compile(r"(?i)(://|mailto:|www\.)(?=\S)")
# A prompt has a name in quotes.
_QUOTES: Final = re.compile('["\u201c-\u201f\u00ab\u00bb\u2033\uff02\u301d-\u301f]')


def _showable(_: Any, attribute: Attribute[str], value: str) -> None:
    more = _JOINERS + _ISOLATES + "\n" * (attribute.name in ("body", "details"))
    if not _is_plain(value.translate(dict.fromkeys(map(ord, more)))):
        raise ValueError(f"{attribute.name}: not printable, or markup")


def _is_plain(text: str) -> bool:
    return text.isprintable() and not any(mark in text for mark in _MARKUP)


@frozen
class Prompt:
    """
    One question, to be confirmed or denied.

    :ivar title: One line.  Printable characters without ``<``, ``>`` and ``&``.
    :ivar body: Lines of the same characters: who asks for what.
    :ivar caution: One line: when not to confirm.
    :ivar details: Lines of the same characters, which many desktops cut off.  All text
        of a plugin's author but its id is here, after ours.
    """

    operation: Operation
    title: str = field(validator=_showable)
    body: str = field(validator=_showable)
    caution: str = field(default="", validator=_showable)
    details: str = field(default="", validator=_showable)

    @property
    def text(self) -> str:
        """The text of the prompt, below the title."""
        return "\n".join(filter(None, (self.body, self.caution, self.details)))


def shown(text: str, most: int = _NAME_CHARACTERS) -> str:
    """
    A foreign text as a prompt may show it: one line of ASCII, no markup and no links.

    :param most: Characters; what is longer ends in ``...``.
    """
    return ascii_line(_unlinked(text), most)


def _unlinked(text: str) -> str:
    return _LINK.sub(r"\1 ", text)


def named(text: str) -> str:
    """A name in its own letters, which do not move those around them."""
    if text.isascii():
        return shown(text)
    line, marks = "", 0
    for each in " ".join(_unlinked(_QUOTES.sub("'", text)).split()):
        if each not in _JOINERS:  # they end no letter
            kind = unicodedata.category(each)
            marks = marks + (kind != "Mc") if kind.startswith("M") else 0
        if marks <= _MARKS_AT_ONCE:
            line += each if _is_plain(each) or each in _JOINERS else "?"
    return f"{_ISOLATES[0]}{shortened(line, _NAME_CHARACTERS)}{_ISOLATES[1]}"


def sender(application: str) -> str:
    """Name the sender of a prompt: the bridge, not the application."""
    name = shown(application)
    return name if name.lower().endswith("bridge") else f"{name} Bridge"


def host_of(url: str) -> str:
    """
    The host of a URL as it is dialled, with its port unless that is 443; never cut.

    :param url: Validated, or from a record; of what is no URL it is ``unknown``.
    """
    return _place(url)[0]


def _place(url: str) -> tuple[str, str]:
    """Return the host and the path, in which percent signs stand for what is odd."""
    try:
        target = read_url(url)
    except BridgeError:
        return "unknown", ""
    host = f"[{target.host}]" if ":" in target.host else target.host
    return host if target.port == 443 else f"{host}:{target.port}", target.path


def host_line(url: str) -> str:
    """Name the host of a URL in a line; see ``host_of``."""
    return f"Host: {host_of(url)}"


def path_line(url: str) -> str:
    """Name the path, without links, in a line that cannot be taken for a host's."""
    path = _place(url)[1].replace("&", "%26")
    line = _LINK.sub(lambda found: f"{found[0][:-1]}%{ord(found[0][-1]):02X}", path)
    if len(line) > _PATH_CHARACTERS:
        # The end of a path decides as much as its beginning does.
        half = (_PATH_CHARACTERS - len(ELLIPSIS)) // 2
        line = line[:half] + ELLIPSIS + line[-half:]
    return f"Path: {line}"


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
    return PermissionWords(shown(permission), "a permission of this app", risky=True)


def permission_labels(words: Words, found: Differences, *, new: bool) -> str:
    """
    Name all permissions, in lines short enough to be seen in any prompt.

    :param new: Whether there is an installed version.
    """
    named = [
        f"{lead}: {listed(one.label for one in _risky_first(words, each.gained))}"
        for lead, each in (
            ("It can also" if new else "It can", found.permissions),
            ("If you allow it later", found.optional_permissions),
        )
        if each.gained
    ]
    return "\n".join(named) or f"It asks for no {'more ' * new}permissions."


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


def denied(detail: str) -> BridgeError:
    """Return the refusal by the user: ``denied: <detail>``."""
    return plugin_error(Prefix.DENIED, detail)


def unavailable(detail: str) -> BridgeError:
    """Return the error without a prompt: ``approval_unavailable: <detail>``."""
    return plugin_error(Prefix.APPROVAL_UNAVAILABLE, detail)
