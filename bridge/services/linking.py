"""
The ``dev`` service: an author's working trees, in the bundle during development.

Only with ``--dev``, and only over the control socket: it is in no registry that a page
reaches.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from attrs import field

from ..classes import frozen
from ..plugins.dev.linking import Linked, Linking
from ..plugins.operations.jobs import reason
from ..plugins.policy.rules.table import Hit
from ..plugins.policy.scan import SourcesRefusedError
from ..protocol import limits
from ..protocol.errors import BridgeError, Prefix
from ..protocol.rules import MaxItems, Text
from ..rpc.registry import Caller, method

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


@frozen(eq=False)
class DevLinks:
    """Puts working trees into the bundle, each for as long as its caller is there."""

    _linking: Linking

    @method(WorkTree, LinkResult)
    async def link(self, tree: WorkTree, caller: Caller) -> LinkResult:
        """
        Put a working tree into the bundle, instead of the caller's one before.

        :raise BridgeError: ``unavailable``: too many are linked, or the daemon ends.
        """
        self._linking.admit(caller)
        directory = Path(tree.directory)
        try:
            return LinkResult(await self._linking.update(caller, directory, tree.files))
        except SourcesRefusedError as e:
            return LinkResult(message=e.message, hits=e.hits)
        except BridgeError as e:
            return LinkResult(message=e.message)
        except OSError as e:
            why = reason(e)
            if why is None:
                raise
            return LinkResult(message=f"{Prefix.CLONE_FAILED}: {why}")
