"""
Git's protocol, as a client of one shallow fetch: versions 2 and 0 of smart HTTP.

What a server sends is read in threads: it may be megabytes, in packets of five bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import chain
from typing import Final

from ...classes import frozen
from ...concurrency.threads import Check, InThread, stoppable
from ...protocol.errors import BridgeError
from ...protocol.limits import SERVER_ERROR_CHARACTERS
from ...protocol.text import one_line
from .bounds import clone_failed
from .server import Server

_FLUSH: Final = b"0000"
_DELIMITER: Final = b"0001"
_PACK, _ERROR = 1, 3
_HEX: Final = re.compile(rb"[0-9a-f]{40}")
_NO_COMMIT: Final = b"0" * 40


@frozen
class Fetched:
    """
    What a server sent.

    :ivar commit: The tip of its default branch, 40 hexadecimal digits.
    :ivar pack: The pack, not yet validated; empty when the tip was known.
    """

    commit: str
    pack: bytes


@frozen
class _Offer:
    """
    What a server offers.

    :ivar tip: The line of ``HEAD``; empty when there is none, or in version 2.
    :ivar features: What it can do about a fetch.
    """

    version: int
    tip: bytes
    features: frozenset[bytes]


async def fetch(
    server: Server,
    in_thread: InThread,
    *,
    depth: int = 1,
    only_commits: bool = False,
    known: str = "",
    also: str = "",
) -> Fetched:
    """
    Fetch the tip of the default branch into memory.

    :param depth: How many commits of its history to ask for.
    :param only_commits: Leave out directories and files, if the server can.
    :param known: Nothing is fetched when the tip is this commit.
    :param also: Another commit to ask for; a server may refuse.
    :raise BridgeError: ``clone_failed: …``, whatever went wrong.
    """
    offer, commit = await _discovered(server, in_thread)
    if commit == known:
        return Fetched(commit, b"")
    asked = _request(offer, [commit, *filter(None, [also])], depth, only_commits)
    answer = await server.upload_pack(asked)
    pack = await stoppable(in_thread, lambda check: _read_pack(answer, check))
    return Fetched(commit, pack)


async def tip(server: Server, in_thread: InThread) -> str:
    """
    Return the tip of the default branch, 40 hexadecimal digits.

    :raise BridgeError: ``clone_failed: …``, whatever went wrong.
    """
    return (await _discovered(server, in_thread))[1]


async def _discovered(server: Server, in_thread: InThread) -> tuple[_Offer, str]:
    answer = await server.discover()
    offer = await stoppable(in_thread, lambda check: _read_offer(answer, check))
    line = offer.tip
    if offer.version == 2:
        refs = await server.upload_pack(_LS_REFS)
        line = await stoppable(in_thread, lambda check: _head_of(_packets(refs, check)))
    return offer, _commit(line)


def _packet(text: str) -> bytes:
    return b"%04x%s\n" % (len(text) + 5, text.encode("ascii"))


_LS_REFS: Final = (
    _packet("command=ls-refs") + _DELIMITER + _packet("ref-prefix HEAD") + _FLUSH
)


def _packets(data: bytes, check: Check) -> Iterator[bytes]:
    """Yield the content of each packet; empty for one that only separates."""
    # Loaded when it is needed, in a thread.
    from dulwich.errors import GitProtocolError, HangupException
    from dulwich.protocol import Protocol as Packets

    stream = BytesIO(data)
    packets = Packets(stream.read, stream.write)
    while True:
        check()
        try:
            content = packets.read_pkt_line() or b""
        except HangupException:
            return
        except GitProtocolError:
            raise clone_failed("the host's answer is not git's protocol") from None
        if content.startswith(b"ERR "):
            raise _refused(content[4:])
        yield content


def _read_offer(answer: bytes, check: Check) -> _Offer:
    # One after the other: a list of all could take ten times what was received.
    lines = (one for one in _packets(answer, check) if one and not one.startswith(b"#"))
    first = next(lines, b"")
    if first == b"version 2\n":
        fetching = b""
        for one in lines:
            # Such a server would send no refs to who asks for SHA-1.
            if one == b"object-format=sha256\n":
                raise _not_sha1()
            if one.startswith(b"fetch="):
                fetching = one.removeprefix(b"fetch=")
        return _Offer(2, b"", frozenset(fetching.split()))
    features = first.partition(b"\0")[2]
    return _Offer(0, _head_of(chain((first,), lines)), frozenset(features.split()))


def _head_of(lines: Iterable[bytes]) -> bytes:
    """Return the line that names what ``HEAD`` is."""
    for line in lines:
        name = line.partition(b"\0")[0].split()
        if name[1:2] == [b"HEAD"]:
            return line
    return b""


def _commit(line: bytes) -> str:
    name = line.split(b" ")[0]
    if name in (b"", b"unborn", _NO_COMMIT):
        raise clone_failed("the repository is empty or has no default branch")
    if _HEX.fullmatch(name) is None:
        raise _not_sha1()
    return name.decode("ascii")


def _not_sha1() -> BridgeError:
    return clone_failed("the repository's object format is not SHA-1")


def _request(
    offer: _Offer, commits: list[str], depth: int, only_commits: bool
) -> bytes:
    needed = {b"shallow"} if offer.version == 2 else {b"shallow", b"side-band-64k"}
    if not needed <= offer.features:
        raise clone_failed("the host's git cannot send a single commit")
    limits = _packet(f"deepen {depth}")
    filtered = only_commits and b"filter" in offer.features
    if filtered:
        limits += _packet("filter tree:0")
    wants = [f"want {commit}" for commit in commits]
    if offer.version == 2:
        options = ["no-progress", "ofs-delta", *wants]
        head = _packet("command=fetch") + _DELIMITER + b"".join(map(_packet, options))
        return head + limits + _packet("done") + _FLUSH
    options = ["side-band-64k", "ofs-delta", "no-progress", *["filter"] * filtered]
    wants[0] += " " + " ".join(options)
    return b"".join(map(_packet, wants)) + limits + _FLUSH + _packet("done")


def _read_pack(answer: bytes, check: Check) -> bytes:
    pack = bytearray()
    for one in _packets(answer, check):
        if one[:1] == bytes([_PACK]):
            pack += one[1:]
        elif one[:1] == bytes([_ERROR]):
            raise _refused(one[1:])
    return bytes(pack)


def _refused(said: bytes) -> BridgeError:
    """Return the refusal of a server that has said why, in its words."""
    text = said.decode("ascii", "replace").replace("`", "'")
    shown = one_line(text, SERVER_ERROR_CHARACTERS)
    return clone_failed(f'the host refused: "{shown}"')
