"""
The tree of the last preview, kept for the install or update that may follow.

It stays a temporary one: no record names it, and the next start removes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

from attrs import field
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ...classes import define, frozen
from ...concurrency.threads import InThread
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.limits import PREVIEW_KEPT_SECONDS
from ...protocol.rules import Text
from ..installed.trees import Trees
from ..tree.manifest import Manifest


@frozen
class Pin:
    """
    Exactly one tree, as a preview has shown it.

    :ivar commit: Its commit, in hexadecimal digits.
    :ivar digest: The digest that its author signed, in hexadecimal digits.
    """

    commit: Annotated[str, Text(40, like="[0-9a-f]{40}", least=40)]
    digest: Annotated[str, Text(64, like="[0-9a-f]{64}", least=64)]


def moved(detail: str) -> BridgeError:
    """Return the refusal of another tree than the pinned one: ``moved: <detail>``."""
    return plugin_error(Prefix.MOVED, detail)


@frozen
class _Tree:
    url: str
    pin: Pin
    root: Path
    manifest: Manifest
    expiry: IDelayedCall


@define(eq=False)
class KeptTree:
    """Keeps one tree at most, for ``PREVIEW_KEPT_SECONDS``."""

    _trees: Trees
    _clock: IReactorTime
    _in_thread: InThread
    _tree: _Tree | None = field(default=None, init=False)
    _closed: bool = field(default=False, init=False)

    _log: ClassVar[Logger] = Logger()

    def keep(self, url: str, pin: Pin, root: Path, manifest: Manifest) -> int:
        """
        Keep a tree, instead of the one before.

        :param root: Its directory; it is removed unless it is taken.
        :param manifest: The one that was checked.
        :return: Until when, in milliseconds since the epoch.
        """
        self.drop()
        expiry = self._clock.callLater(PREVIEW_KEPT_SECONDS, self.drop)
        self._tree = _Tree(url, pin, root, manifest, expiry)
        if self._closed:
            self.drop()
        return int((self._clock.seconds() + PREVIEW_KEPT_SECONDS) * 1000)

    def manifest(self, url: str, pin: Pin | None) -> Manifest | None:
        """Return the manifest of a tree; ``None`` when it is not kept."""
        tree = self._of(url, pin)
        return None if tree is None else tree.manifest

    def take(self, url: str, pin: Pin) -> Path | None:
        """
        Take the tree out; from now on the caller removes it.

        Nothing is known of what has happened to its files since.

        :return: Its directory; ``None`` when another tree is kept, or none.
        """
        tree = self._of(url, pin)
        if tree is None:
            return None
        tree.expiry.cancel()
        self._tree = None
        return tree.root

    def _of(self, url: str, pin: Pin | None) -> _Tree | None:
        tree = self._tree
        return tree if tree and (tree.url, tree.pin) == (url, pin) else None

    def drop(self) -> Deferred[Any]:
        """
        Remove the tree, if one is kept.

        :return: Fires when that is done; a failure is only logged, as the next start
            removes what is left.
        """
        tree, self._tree = self._tree, None
        if tree is None:
            return succeed(None)
        if tree.expiry.active():
            tree.expiry.cancel()
        removing = self._in_thread(self._trees.remove, tree.root)
        return removing.addErrback(
            lambda failure: self._log.failure("a previewed tree stays", failure)
        )

    def close(self) -> Deferred[Any]:
        """Keep nothing from now on; see ``drop``."""
        self._closed = True
        return self.drop()
