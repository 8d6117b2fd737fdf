"""
Asking the user, outside the page, before something privileged is done.

::

    NobodyApprover      no prompt can be shown: everything is refused
    DevApprover         --dev: everything is approved, and announced

What asks on the desktop is made elsewhere; ``IApprover`` is what it has to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from attrs import Attribute, field, frozen
from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import Logger
from zope.interface import Attribute as Described
from zope.interface import Interface, implementer

from .protocol.errors import BridgeError, Prefix, plugin_error

_NAME_CHARACTERS: Final = 60
_LIST_CHARACTERS: Final = 300
_URL_CHARACTERS: Final = 600
_ELLIPSIS: Final = "..."

# Some notification servers render markup without saying so.
_SHOWABLE: Final = re.compile(r"[ -%'-;=?-~\n]*")


class Operation(StrEnum):
    """What needs a prompt; also the ``op`` of progress records."""

    INSTALL = "install"
    UPDATE = "update"
    UNINSTALL = "uninstall"
    TRUST_KEY = "trust_key"
    ROTATE_KEY = "rotate_key"
    FORGET_KEY = "forget_key"


def _showable(_: Any, attribute: Attribute[str], value: str) -> None:
    if _SHOWABLE.fullmatch(value) is None:
        raise ValueError(f"{attribute.name}: not printable ASCII without markup")


@frozen
class Prompt:
    """
    One question, to be confirmed or denied.

    :ivar title: One line.  Printable ASCII without ``<``, ``>`` and ``&``.
    :ivar body: Lines of the same characters.
    """

    operation: Operation
    title: str = field(validator=_showable)
    body: str = field(validator=_showable)


def shown(text: str, most: int = _NAME_CHARACTERS) -> str:
    """
    A foreign text as a prompt may show it: one line of ASCII, without markup.

    :param most: Characters; what is longer ends in ``...``.
    """
    line = " ".join(text.split())
    visible = re.sub(r"[^ -%'-;=?-~]", "?", line).replace('"', "'")
    if len(visible) <= most:
        return visible
    return visible[: most - len(_ELLIPSIS)] + _ELLIPSIS


def host_of(url: str) -> str:
    """
    The host of a URL, with its port if one is given, and never shortened.

    :param url: Validated, or from a record; of what is no URL it is ``unknown``.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "unknown"
    if not host:
        return "unknown"
    if ":" in host:
        host = f"[{host}]"
    return shown(host if port is None else f"{host}:{port}", _URL_CHARACTERS)


def _origin(url: str) -> str:
    """Two lines, so that a path cannot be taken for a host."""
    host = host_of(url)
    path = "" if host == "unknown" else urlsplit(url).path
    return f"Host: {host}\nPath: {shown(path.replace('&', '%26'), _URL_CHARACTERS)}"


def _listed(names: Iterable[str]) -> str:
    return shown(", ".join(names), _LIST_CHARACTERS) or "none"


@frozen
class Prompts:
    """
    The words of every prompt.

    :ivar application: What users know the host application by.
    """

    application: str

    @property
    def _asks(self) -> str:
        return f"A page of {shown(self.application)} asks to"

    def install(self, url: str, directory: str) -> Prompt:
        """
        Ask whether to install what is at ``url``.

        :param directory: Where plugins are kept.
        """
        return Prompt(
            Operation.INSTALL,
            "Install a plugin?",
            f"{self._asks} install a plugin.\n{_origin(url)}\n"
            f"Kept in: {shown(directory, _LIST_CHARACTERS)}\n"
            f"Its code will run inside {shown(self.application)}.",
        )

    def update(self, plugin_id: str, url: str, version: str, commit: str) -> Prompt:
        """Ask whether to fetch ``plugin_id`` anew; version and commit are today's."""
        return Prompt(
            Operation.UPDATE,
            f"Update the plugin {shown(plugin_id)}?",
            f"{self._asks} update this plugin.\n{_origin(url)}\n"
            f"Installed now: version {shown(version)}, commit {shown(commit)}",
        )

    def uninstall(self, plugin_id: str, url: str) -> Prompt:
        """Ask whether to delete ``plugin_id`` and its settings."""
        return Prompt(
            Operation.UNINSTALL,
            f"Uninstall the plugin {shown(plugin_id)}?",
            f"{self._asks} uninstall this plugin, which came from\n{_origin(url)}\n"
            "Its files and its settings will be deleted.",
        )

    def trust_key(
        self,
        plugin_id: str,
        url: str,
        key_id: str,
        *,
        name: str,
        version: str,
        permissions: Iterable[str],
        optional: Iterable[str],
    ) -> Prompt:
        """
        Ask whether to accept a key that was never accepted before.

        :param optional: The permissions the plugin may ask for later.
        """
        return Prompt(
            Operation.TRUST_KEY,
            f"Trust a new signing key for {shown(plugin_id)}?",
            f"{self._asks} install a plugin signed with a key you have not accepted "
            f"before.\nKey: {shown(key_id)}\n{_origin(url)}\n"
            f'Plugin: "{shown(name)}", version {shown(version)}\n'
            f"Permissions: {_listed(permissions)}\n"
            f"Optional permissions: {_listed(optional)}\n"
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
            "the author's name. Confirm only if the author announced the new key.",
        )

    def forget_key(self, key_id: str, label: str) -> Prompt:
        """
        Ask whether to accept a key no longer.

        :param label: What it was first accepted for.
        """
        return Prompt(
            Operation.FORGET_KEY,
            "Stop trusting a signing key?",
            f"{self._asks} forget a signing key.\nKey: {shown(key_id)}\n"
            f"First accepted for: {shown(label, _URL_CHARACTERS)}\n"
            "No plugin is uninstalled; the next one signed with it will ask again.",
        )


class IApprover(Interface):
    """Puts a question to the user where no page can answer it."""

    description = Described(
        "One line for the banner and ``describe``; starts with ``none`` when no "
        "question is really asked."
    )

    def approve(prompt: Prompt) -> Deferred[None]:  # noqa: N805
        """
        Ask.

        :return: Fires when the user confirmed.  Fails with ``BridgeError``:
            ``denied`` when the user did not, ``approval_unavailable`` when asking
            was not possible.  Cancelling it withdraws the question.
        """


@implementer(IApprover)
@frozen
class NobodyApprover:
    """
    Refuses everything.

    :ivar reason: Why no prompt can be shown.
    """

    reason: str = "no confirmation prompt can be shown on this computer"
    description: str = "none: privileged operations will be refused"

    _log: ClassVar[Logger] = Logger()

    def approve(self, prompt: Prompt) -> Deferred[None]:
        """See ``IApprover.approve``."""
        self._log.warn(
            "{operation} is refused: {reason}",
            operation=prompt.operation,
            reason=self.reason,
        )
        return fail(unavailable(self.reason))


@implementer(IApprover)
@frozen
class DevApprover:
    """
    Approves everything at once, and says so.

    :ivar announce: Shows a notification, from its title and its body.  When it
        fails, that is logged and changes nothing.
    """

    announce: Callable[[str, str], object]
    description: str = (
        "none: --dev approves every privileged operation and only notifies"
    )

    _log: ClassVar[Logger] = Logger()

    def approve(self, prompt: Prompt) -> Deferred[None]:
        """See ``IApprover.approve``."""
        self._log.warn(
            "--dev: {operation} is approved without asking", operation=prompt.operation
        )
        try:
            self.announce(
                f"--dev: {prompt.operation} without asking",
                f"{prompt.title}\n{prompt.body}",
            )
        except Exception:  # noqa: BLE001
            self._log.failure("the announcement could not be shown")
        return succeed(None)


def denied(detail: str) -> BridgeError:
    """Word a refusal by the user: ``denied: <detail>``."""
    return plugin_error(Prefix.DENIED, detail)


def unavailable(detail: str) -> BridgeError:
    """Word that nobody can be asked: ``approval_unavailable: <detail>``."""
    return plugin_error(Prefix.APPROVAL_UNAVAILABLE, detail)
