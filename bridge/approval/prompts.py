"""The texts of all prompts, and the characters that a prompt may hold."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final

from attrs import Attribute, field

from ..classes import frozen
from ..http.target import read_url
from ..protocol.errors import BridgeError
from ..protocol.text import ELLIPSIS, ascii_line, shortened
from .wording import LIST_CHARACTERS, Differences, Words, gain_lines, listed

_NAME_CHARACTERS: Final = 60
_LABEL_CHARACTERS: Final = 600
# So that a long path leaves room on the screen for what follows it.
_PATH_CHARACTERS: Final = 120
_CAUTION: Final = "If you did not start this yourself, do not confirm it."

# Some notification servers render markup without saying so.
_MARKUP: Final = "<>&"
# Persian and emoji need these between two others.
_JOINERS: Final = "\u200c\u200d"
_ISOLATES: Final = "\u2068\u2069"
# More would be drawn over the lines around.
_MARKS_AT_ONCE: Final = 3
# A prompt has a name in quotes.
_QUOTES: Final = re.compile('["\u201c-\u201f\u00ab\u00bb\u2033\uff02\u301d-\u301f]')


class Operation(StrEnum):
    """What is done, or asked about in a prompt: the ``op`` of progress records."""

    INSTALL = "install"
    UPDATE = "update"
    UNINSTALL = "uninstall"
    TRUST_KEY = "trust_key"
    ROTATE_KEY = "rotate_key"
    FORGET_KEY = "forget_key"
    PREVIEW = "preview"
    PRIVATE_HOST = "reach_host"
    MORE_PERMISSIONS = "grow"
    BUILD = "build"


def _showable(_: Any, attribute: Attribute[str], value: str) -> None:
    more = _JOINERS + _ISOLATES + "\n" * (attribute.name == "body")
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
    """

    operation: Operation
    title: str = field(validator=_showable)
    body: str = field(validator=_showable)
    caution: str = field(default="", validator=_showable)

    @property
    def text(self) -> str:
        """The text of the prompt, below the title."""
        return f"{self.body}\n{self.caution}".rstrip("\n")


def shown(text: str, most: int = _NAME_CHARACTERS) -> str:
    """
    A foreign text as a prompt may show it: one line of ASCII, without markup.

    :param most: Characters; what is longer ends in ``...``.
    """
    return ascii_line(text, most)


def named(text: str, most: int = _NAME_CHARACTERS) -> str:
    """
    A name in its own letters, which do not move those around them.

    :param most: Characters; what is longer ends in ``...``.
    """
    if text.isascii():
        return shown(text, most)
    line, marks = "", 0
    for each in " ".join(_QUOTES.sub("'", text).split()):
        if each not in _JOINERS:  # they end no letter
            marks = marks + 1 if unicodedata.category(each).startswith("M") else 0
        if marks <= _MARKS_AT_ONCE:
            line += each if _is_plain(each) or each in _JOINERS else "?"
    return f"{_ISOLATES[0]}{shortened(line, most)}{_ISOLATES[1]}"


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


def _origin(url: str) -> str:
    """Two lines, so that a path cannot be taken for a host."""
    host, path = _place(url)
    line = path.replace("&", "%26")
    if len(line) > _PATH_CHARACTERS:
        # The end of a path decides as much as its beginning does.
        half = (_PATH_CHARACTERS - len(ELLIPSIS)) // 2
        line = line[:half] + ELLIPSIS + line[-half:]
    return f"Host: {host}\nPath: {line}"


@frozen
class Offer:
    """
    A checked plugin, as a prompt shows it.

    :ivar author: Empty when it names none.
    :ivar declared: All that it declares.
    """

    plugin_id: str
    name: str
    version: str
    author: str
    declared: Differences

    @property
    def title(self) -> str:
        """One line: which plugin it is."""
        by = f", by {named(self.author)}" if self.author else ""
        return (
            f'Plugin: {shown(self.plugin_id)}, "{named(self.name)}", version '
            f"{shown(self.version)}{by}"
        )


@frozen
class Prompts:
    """
    The texts of all prompts.

    :ivar application: What users know the host application by.
    :ivar words: What its permissions mean.
    :ivar from_page: Whether a page asks; else it is a command in a terminal.
    """

    application: str
    words: Words = field(factory=dict)
    from_page: bool = True

    @property
    def _asks(self) -> str:
        if self.from_page:
            return f"A page of {shown(self.application)} asks to"
        return "A command in a terminal asks to"

    def _wishes(self, offer: Offer) -> str:
        """Lines: all that a plugin wants to do."""
        lines = gain_lines(self.words, offer.declared, new=False)
        if not lines:
            return "It asks for no permissions."
        return "\n".join(["It wants to:", *lines])

    def install(self, url: str, directory: str, offer: Offer | None = None) -> Prompt:
        """
        Ask whether to install what is at ``url``.

        :param directory: Where plugins are kept.
        :param offer: What is there, when a preview has checked it.
        """
        what = "" if offer is None else f"{offer.title}\n{self._wishes(offer)}\n"
        return Prompt(
            Operation.INSTALL,
            "Install a plugin?",
            f"{self._asks} install a plugin.\n{what}{_origin(url)}\n"
            f"Kept in: {shown(directory, LIST_CHARACTERS)}\n"
            f"Its code will run inside {shown(self.application)}.",
            _CAUTION,
        )

    def declared(self, url: str, offer: Offer) -> Prompt:
        """Ask whether to install a plugin that wants to do all this."""
        return Prompt(
            Operation.MORE_PERMISSIONS,
            f"Install {shown(offer.plugin_id)} with these permissions?",
            f"{self._asks} install this plugin.\n{offer.title}\n{self._wishes(offer)}\n"
            f"{_origin(url)}",
            "Confirm only if you want all of this. If not, nothing is installed.",
        )

    def update(self, plugin_id: str, url: str, version: str, commit: str) -> Prompt:
        """Ask whether to fetch ``plugin_id`` again, over this version and commit."""
        return Prompt(
            Operation.UPDATE,
            f"Update the plugin {shown(plugin_id)}?",
            f"{self._asks} update this plugin.\n{_origin(url)}\n"
            f"Installed now: version {shown(version)}, commit {shown(commit)}\n"
            f"Its new code will run inside {shown(self.application)}.",
            _CAUTION,
        )

    def uninstall(self, plugin_id: str, url: str) -> Prompt:
        """Ask whether to delete ``plugin_id`` and its settings."""
        return Prompt(
            Operation.UNINSTALL,
            f"Uninstall the plugin {shown(plugin_id)}?",
            f"{self._asks} uninstall this plugin, which came from\n{_origin(url)}\n"
            "Its files and its settings will be deleted.",
            _CAUTION,
        )

    def trust_key(
        self, url: str, key_id: str, offer: Offer, *, is_known: bool = False
    ) -> Prompt:
        """
        Ask whether to accept a key that was never accepted before.

        :param is_known: Whether an earlier prompt of this operation has shown what the
            plugin wants to do.
        """
        wishes = "" if is_known else f"\n{self._wishes(offer)}"
        return Prompt(
            Operation.TRUST_KEY,
            f"Trust a new signing key for {shown(offer.plugin_id)}?",
            f"{self._asks} install or update a plugin signed with a key you have not "
            f"accepted before.\nKey: {shown(key_id)}\n{_origin(url)}\n"
            f"{offer.title}{wishes}",
            "Confirm only if this key is the fingerprint the author published. You "
            "will not be asked about it again.",
        )

    def rotate_key(self, plugin_id: str, url: str, old: str, new: str) -> Prompt:
        """Ask whether ``plugin_id`` may change from the key ``old`` to ``new``."""
        return Prompt(
            Operation.ROTATE_KEY,
            f"Accept another signing key for {shown(plugin_id)}?",
            f"{self._asks} update a plugin that is now signed with another key.\n"
            f"Old key: {shown(old)}\nNew key: {shown(new)}\n{_origin(url)}\n"
            "Its author may have changed keys, or somebody else may be publishing in "
            "the author's name.",
            "Confirm only if the author announced the new key.",
        )

    def forget_key(self, key_id: str, label: str) -> Prompt:
        """
        Ask whether to stop accepting a key.

        :param label: What it was first accepted for.
        """
        return Prompt(
            Operation.FORGET_KEY,
            "Stop trusting a signing key?",
            f"{self._asks} forget a signing key.\nKey: {shown(key_id)}\n"
            f"First accepted for: {shown(label, _LABEL_CHARACTERS)}\n"
            "No plugin is uninstalled; the next one signed with it will ask again.",
            _CAUTION,
        )

    def grow(
        self, plugin_id: str, url: str, *, old: str, new: str, gains: Differences
    ) -> Prompt:
        """
        Ask whether an update of ``plugin_id`` may have more than the installed one.

        :param old: The installed version.
        :param new: The version it would be updated to.
        """
        lines = "\n".join(gain_lines(self.words, gains, new=True))
        return Prompt(
            Operation.MORE_PERMISSIONS,
            f"Let {shown(plugin_id)} do more?",
            f"{self._asks} update {shown(plugin_id)} from version {shown(old)} to "
            f"{shown(new)}, which asks for more:\n{lines}\n{_origin(url)}",
            "Confirm only if you want all of this. If you do not, the installed "
            "version stays as it is.",
        )

    def reach_host(self, url: str, addresses: Iterable[str]) -> Prompt:
        """
        Ask whether a preview may connect to a private network, this one time.

        :param addresses: What the host's name stands for; none when it is a private
            name itself.
        """
        found = list(addresses)
        address = f"\nAddress: {listed(found)}" if found else ""
        return Prompt(
            Operation.PRIVATE_HOST,
            "Connect to your own network?",
            f"{self._asks} look at a plugin on a host that is not on the public "
            f"internet.\n{_origin(url)}{address}\n"
            "It may connect for this preview only, and nothing is installed.",
            _CAUTION,
        )
