"""
The ``dev`` service: an author's working trees, in the bundle during development.

Only with ``--dev``, and only over the control socket: it is in no registry that a page
reaches.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from attrs import field
from twisted.internet.defer import Deferred, DeferredList
from twisted.logger import Logger

from ..classes import define, frozen
from ..plugins.dev.linking import Link, Linked, Linking, SourcesRefusedError
from ..plugins.operations.job import reason
from ..plugins.policy.rules.table import Hit
from ..protocol import limits
from ..protocol.errors import BridgeError, Prefix, shutting_down, unavailable
from ..protocol.rules import MaxItems, Text
from ..rpc.caller import Caller
from ..rpc.registry import method

_File = Annotated[str, Text(limits.TREE_PATH_BYTES, like=r"(?s)[^\0]*", least=1)]


@frozen
class WorkTree:
    """
    A tree to be linked.

    :ivar directory: Its absolute path.
    :ivar files: Relative paths with ``/``.
    """

    directory: Annotated[
        str, Text(limits.DEV_DIRECTORY_CHARACTERS, like=r"(?s)/[^\0]*", least=1)
    ]
    files: Annotated[list[_File], MaxItems(limits.TREE_FILES, unique=True)]


@frozen
class LinkResult:
    """
    What became of a tree.

    :ivar linked: The plugin, now in the bundle; not there when it was refused, and the
        tree before it stays linked.
    :ivar message: Why it was refused; a prefix, and a sentence.
    :ivar hits: Each violation of the source policy.
    """

    linked: Linked | None = None
    message: str = ""
    hits: list[Hit] = field(factory=list)


@define(eq=False)
class DevLinks:
    """Puts working trees into the bundle, each for as long as its caller is there."""

    _linking: Linking
    _links: dict[Caller, Link] = field(factory=dict)
    _closed: bool = False

    _log: ClassVar[Logger] = Logger()

    @method(WorkTree, LinkResult)
    async def link(self, tree: WorkTree, caller: Caller) -> LinkResult:
        """
        Put a working tree into the bundle, instead of the caller's one before.

        :raise BridgeError: ``unavailable``: too many are linked, or the daemon ends.
        """
        link = self._link_of(caller)
        try:
            return LinkResult(await link.update(Path(tree.directory), tree.files))
        except SourcesRefusedError as e:
            message = f"{Prefix.POLICY}: {e.hits[0].report}"
            return LinkResult(message=message, hits=e.hits)
        except BridgeError as e:
            return LinkResult(message=e.message)
        except OSError as e:
            why = reason(e)
            if why is None:
                raise
            return LinkResult(message=f"{Prefix.CLONE_FAILED}: {why}")

    def _link_of(self, caller: Caller) -> Link:
        if self._closed:
            raise shutting_down()
        link = self._links.get(caller)
        if link is None:
            if len(self._links) >= limits.DEV_LINKS:
                why = f"{limits.DEV_LINKS} trees are linked; end one of them first"
                raise unavailable(why)
            link = self._links[caller] = Link(self._linking)
            caller.on_close(self._end)
        return link

    def _end(self, *callers: Caller) -> None:
        """End the links of callers together, with one build."""
        links = {
            caller: link
            for caller in callers
            if (link := self._links.get(caller)) is not None and link.ended is None
        }
        ended = Deferred.fromCoroutine(self._unlink(links))
        for link in links.values():
            link.ended = ended

    async def _unlink(self, links: Mapping[Caller, Link]) -> None:
        try:
            await self._linking.unlink(*links.values())
        except Exception:  # noqa: BLE001
            self._log.failure("could not unlink a plugin")
        finally:
            for caller in links:
                del self._links[caller]

    def close(self) -> Deferred[object]:
        """
        End every link.

        :return: Fires when nothing is linked any more.
        """
        self._closed = True
        self._end(*self._links)
        ended = [link.ended for link in self._links.values() if link.ended is not None]
        return DeferredList(ended).addCallback(lambda _: None)
