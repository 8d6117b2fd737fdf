"""
Git's protocol, as a client: dulwich over our own HTTPS.

Importing this loads dulwich, so only a clone under way does.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from http.client import IncompleteRead
from typing import Any, Final, Literal

from attrs import define, frozen
from dulwich.client import AbstractHttpGitClient
from dulwich.errors import GitProtocolError, HangupException
from dulwich.object_store import ObjectStoreGraphWalker

from ...protocol.errors import BridgeError
from .https import DISCOVERY, Server
from .transfer import Transfer, clone_failed

_ADVERTISEMENT: Final = "application/x-git-upload-pack-advertisement"
_BROKEN_OFF: Final = (OSError, EOFError, HangupException, IncompleteRead)
_HEX: Final = re.compile(rb"[0-9a-f]{40}")


@frozen
class Fetched:
    """
    What a server sent.

    :ivar commit: The tip of its default branch, 40 hexadecimal digits.
    :ivar pack: The pack, not yet validated; empty when the tip was known.
    """

    commit: str
    pack: bytes


class _Client(AbstractHttpGitClient):
    """Sends requests to a ``Server``; without credentials or dumb repositories."""

    def __init__(self, url: str, server: Server) -> None:
        super().__init__(url, thin_packs=False, quiet=True)
        self._server = server

    def _http_request(
        self,
        url: str,
        headers: dict[str, str] | None = None,
        data: bytes | Iterator[bytes] | None = None,
        raise_for_status: bool = True,
    ) -> tuple[Any, Callable[[int], bytes]]:
        body = data if data is None or isinstance(data, bytes) else b"".join(data)
        answer = self._server.request(url, headers or {}, body)
        if url.endswith(DISCOVERY) and answer.content_type != _ADVERTISEMENT:
            raise clone_failed("not a git repository")
        return answer, answer.read

    @staticmethod
    def _warn_filter_objects() -> None:
        """Do nothing; dulwich would write to standard error."""


@define
class _Tip:
    """
    Chooses what to ask for: the commit that HEAD points to.

    :ivar known: A commit that is not asked for.
    :ivar also: A commit that is asked for, too.
    """

    known: bytes | None
    also: bytes | None
    commit: bytes | None = None

    def wants(self, refs: Any, depth: int | None = None) -> list[Any]:
        """See ``DetermineWantsFunc`` of dulwich."""
        self.commit = refs.get(b"HEAD")
        if self.commit is None or self.commit == b"0" * 40:
            raise clone_failed("the repository is empty or has no default branch")
        if _HEX.fullmatch(self.commit) is None:
            raise clone_failed("the repository's object format is not SHA-1")
        if self.commit == self.known:
            return []
        return [self.commit] if self.also is None else [self.commit, self.also]


def fetch(
    url: str,
    server: Server,
    transfer: Transfer,
    *,
    depth: int = 1,
    filter_spec: Literal[b"tree:0"] | None = None,
    known: str | None = None,
    also: str | None = None,
) -> Fetched:
    """
    Fetch the tip of the default branch into memory.

    :param depth: How many commits of its history to ask for.
    :param filter_spec: Which objects to leave out, if the server can.
    :param known: Nothing is fetched when the tip is this commit.
    :param also: Another commit to ask for; a server may refuse.
    :raise BridgeError: ``clone_failed: …``, whatever went wrong.
    """
    pack = io.BytesIO()
    tip = _Tip(_encoded(known), _encoded(also))
    try:
        _Client(url, server).fetch_pack(
            "",
            tip.wants,
            ObjectStoreGraphWalker([], lambda commit: []),
            pack.write,
            depth=depth,
            ref_prefix=[b"HEAD"],
            filter_spec=filter_spec,
        )
    except BridgeError:
        raise
    except Exception as e:  # noqa: BLE001 - a server chooses how dulwich fails
        transfer.check()
        raise clone_failed(_failure_text(e)) from None
    assert tip.commit is not None  # noqa: S101 - for mypy
    return Fetched(tip.commit.decode("ascii"), pack.getvalue())


def _encoded(commit: str | None) -> bytes | None:
    return None if commit is None else commit.encode("ascii")


def _failure_text(error: Exception) -> str:
    if isinstance(error, GitProtocolError) and not isinstance(error, HangupException):
        return "the host refused, or broke git's protocol"
    if isinstance(error, _BROKEN_OFF):
        return "the connection broke off"
    return "the host's answer is not git's protocol"
