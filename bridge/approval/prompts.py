"""The texts of all prompts, the characters that one may hold, and refusals."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final

from attrs import Attribute, field

from ..classes import frozen
from ..http.target import read_url
from ..protocol.errors import BridgeError, Prefix, plugin_error
from ..protocol.text import ELLIPSIS, ascii_line, shortened
from .wording import (
    LIST_CHARACTERS,
    Differences,
    Words,
    detail_lines,
    listed,
    permission_labels,
)

DESKTOP_ENTRY: Final = "plugin-bridge"

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


def _host(url: str) -> str:
    return f"Host: {host_of(url)}"


def _path(url: str) -> str:
    """A line of its own, so that a path cannot be taken for a host."""
    line = _place(url)[1].replace("&", "%26")
    if len(line) > _PATH_CHARACTERS:
        # The end of a path decides as much as its beginning does.
        half = (_PATH_CHARACTERS - len(ELLIPSIS)) // 2
        line = line[:half] + ELLIPSIS + line[-half:]
    return f"Path: {line}"


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
    def lines(self) -> str:
        """Which plugin it is; what its author wrote is in quotes."""
        by = f'\nby "{named(self.author)}"' if self.author else ""
        return (
            f"Plugin: {shown(self.plugin_id)}, version {shown(self.version)}\n"
            f'named "{named(self.name)}"{by}'
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

    @property
    def _runs(self) -> str:
        return f"Its code will run inside {shown(self.application)}.\n"

    def _can(self, offer: Offer) -> str:
        return permission_labels(self.words, offer.declared, new=False)

    def _details(self, offer: Offer, places: str) -> str:
        """Lines: all that a plugin wants to do, and then which one it is."""
        wants = detail_lines(self.words, offer.declared, new=False)
        return "\n".join([*wants, places, offer.lines])

    def install(self, url: str, directory: str, offer: Offer | None = None) -> Prompt:
        """
        Ask whether to install what is at ``url``.

        :param directory: Where plugins are kept.
        :param offer: What is there, when a preview has checked it.
        """
        which, can, places = "a plugin", "", self._runs + _path(url)
        places += f"\nKept in: {shown(directory, LIST_CHARACTERS)}"
        if offer is not None:
            which, can = f"the plugin {shown(offer.plugin_id)}", f"\n{self._can(offer)}"
            places = self._details(offer, places)
        return Prompt(
            Operation.INSTALL,
            f"Install {which}?",
            f"{_host(url)}{can}\n{self._asks} install a plugin.",
            _CAUTION,
            places,
        )

    def declared(self, url: str, offer: Offer) -> Prompt:
        """Ask whether to install a plugin that wants to do all this."""
        return Prompt(
            Operation.MORE_PERMISSIONS,
            f"Install {shown(offer.plugin_id)} with these permissions?",
            f"{_host(url)}\n{self._can(offer)}\n{self._asks} install this plugin.",
            "Confirm only if you want all of this. If not, nothing is installed.",
            self._details(offer, _path(url)),
        )

    def update(self, plugin_id: str, url: str, version: str, commit: str) -> Prompt:
        """Ask whether to fetch ``plugin_id`` again, over this version and commit."""
        return Prompt(
            Operation.UPDATE,
            f"Update the plugin {shown(plugin_id)}?",
            f"{_host(url)}\n{self._asks} update this plugin.",
            _CAUTION,
            f"{self._runs}{_path(url)}\n"
            f"Installed now: version {shown(version)}, commit {shown(commit)}",
        )

    def uninstall(self, plugin_id: str, url: str) -> Prompt:
        """Ask whether to delete ``plugin_id`` and its settings."""
        return Prompt(
            Operation.UNINSTALL,
            f"Uninstall the plugin {shown(plugin_id)}?",
            f"{_host(url)}\n{self._asks} uninstall this plugin, which came from there. "
            "Its files and its settings will be deleted.",
            _CAUTION,
            _path(url),
        )

    def trust_key(
        self, url: str, key_id: str, offer: Offer, *, is_known: bool = False
    ) -> Prompt:
        """
        Ask whether to accept a key that was never accepted before.

        :param is_known: Whether an earlier prompt of this operation has shown what the
            plugin wants to do.
        """
        can = "" if is_known else f"\n{self._can(offer)}"
        path = _path(url)
        return Prompt(
            Operation.TRUST_KEY,
            f"Trust a new signing key for {shown(offer.plugin_id)}?",
            f"{_host(url)}\nKey: {shown(key_id)}{can}\n{self._asks} accept this "
            "new key.",
            "Confirm only if the author published this fingerprint. You will not be "
            "asked about it again.",
            f"{path}\n{offer.lines}" if is_known else self._details(offer, path),
        )

    def rotate_key(self, plugin_id: str, url: str, old: str, new: str) -> Prompt:
        """Ask whether ``plugin_id`` may change from the key ``old`` to ``new``."""
        return Prompt(
            Operation.ROTATE_KEY,
            f"Accept another signing key for {shown(plugin_id)}?",
            f"{_host(url)}\nIts author may have changed keys, or somebody else may be "
            f"publishing in the author's name.\nOld key: {shown(old)}\n"
            f"New key: {shown(new)}\n{self._asks} update this plugin.",
            "Confirm only if the author announced the new key.",
            _path(url),
        )

    def forget_key(self, key_id: str, label: str) -> Prompt:
        """
        Ask whether to stop accepting a key.

        :param label: What it was first accepted for.
        """
        return Prompt(
            Operation.FORGET_KEY,
            "Stop trusting a signing key?",
            f"Key: {shown(key_id)}\n{self._asks} forget this key. No plugin is "
            "uninstalled; the next one signed with it will ask again.",
            _CAUTION,
            f"First accepted for: {shown(label, _LABEL_CHARACTERS)}",
        )

    def grow(
        self, plugin_id: str, url: str, *, old: str, new: str, gains: Differences
    ) -> Prompt:
        """
        Ask whether an update of ``plugin_id`` may have more than the installed one.

        :param old: The installed version.
        :param new: The version it would be updated to.
        """
        can = permission_labels(self.words, gains, new=True)
        lines = detail_lines(self.words, gains, new=True)
        versions = f"Update from version {shown(old)} to {shown(new)}"
        return Prompt(
            Operation.MORE_PERMISSIONS,
            f"Let {shown(plugin_id)} do more?",
            f"{_host(url)}\n{can}\n{self._asks} update this plugin.",
            "Confirm only if you want all of this. If you do not, the installed "
            "version stays as it is.",
            "\n".join([*lines, _path(url), versions]),
        )

    def reach_host(self, url: str, addresses: Iterable[str]) -> Prompt:
        """
        Ask whether a preview may connect to a private network, this one time.

        :param addresses: What the host's name stands for; none when it is a private
            name itself.
        """
        found = list(addresses)
        address = f"Address: {listed(found)}\n" if found else ""
        return Prompt(
            Operation.PRIVATE_HOST,
            "Connect to your own network?",
            f"{_host(url)}\n{self._asks} look at a plugin on this host, which is not "
            "on the public internet. It may connect for this preview only, and nothing "
            "is installed.",
            _CAUTION,
            f"{address}{_path(url)}",
        )


def denied(detail: str) -> BridgeError:
    """Return the refusal by the user: ``denied: <detail>``."""
    return plugin_error(Prefix.DENIED, detail)


def unavailable(detail: str) -> BridgeError:
    """Return the error without a prompt: ``approval_unavailable: <detail>``."""
    return plugin_error(Prefix.APPROVAL_UNAVAILABLE, detail)
