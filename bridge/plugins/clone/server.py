"""
The server of one repository: which URLs it may have, and one shallow fetch from it.

It is asked over the daemon's HTTP client, in git's protocol: versions 2 and 0 of smart
HTTP.  What it sends is read in threads: it may be megabytes, in packets of five bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from io import BytesIO
from itertools import chain
from typing import Final, TypeVar
from urllib.parse import unquote, urljoin

from attrs import evolve, field

from ... import __version__
from ...classes import define, frozen
from ...concurrency.threads import Check, InThread, stoppable
from ...http.client import HttpClient
from ...http.exchange import Connections, Head
from ...http.target import AddressPolicy, CheckedRequest, NotPublicError, read_url
from ...protocol.errors import BridgeError, Prefix, clone_failed, plugin_error
from ...protocol.limits import (
    CLONE_REDIRECTS,
    PROGRESS_PER_SECOND,
    SERVER_ERROR_CHARACTERS,
    URL_CHARACTERS,
)
from ...protocol.text import one_line

T = TypeVar("T")

# RFC 3986's characters, without the number sign that starts a fragment.
_ALLOWED = re.compile(r"[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=%-]*", re.ASCII)


def check_url(url: str) -> str:
    """
    Check the URL of a plugin's repository.

    :return: The URL as it was given.
    :raise BridgeError: ``not_https: …``, naming the rule that is broken.
    """
    rule = _broken_rule(url)
    if rule is not None:
        raise plugin_error(Prefix.NOT_HTTPS, f"url: {rule}")
    return url


def _broken_rule(url: str) -> str | None:
    if not url.startswith("https://"):
        return "must start with https://"
    if len(url) > URL_CHARACTERS:
        return f"at most {URL_CHARACTERS} characters"
    if "#" in url:
        return "no fragment"
    if "?" in url:
        return "no query"
    if _ALLOWED.fullmatch(url) is None:
        return "only the characters of a URL, without spaces or control characters"
    try:
        target = read_url(url)
    except BridgeError as e:
        return e.message.removeprefix("url: ")
    if any(unquote(part) in (".", "..") for part in target.path.split("/")):
        # Git clients leave them out: the prompt would show another repository.
        return "no . or .. between the slashes of its path"
    return None


_SERVICE: Final = "git-upload-pack"
_ADVERTISEMENT: Final = f"application/x-{_SERVICE}-advertisement"
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_OF_NO_REPOSITORY: Final = frozenset({401, 403, 404})

# The one request a redirect may answer, and its target must be the same request.
_DISCOVERY: Final = f"/info/refs?service={_SERVICE}"

_NOT_HTTPS: Final = "redirect refused: not to an https URL"

_HEADERS: Final = (
    # Some forges distinguish git from browsers by the first word.
    ("User-Agent", f"git/plugin-bridge-{__version__}"),
    # What is counted is then what is read: there is nothing to inflate.
    ("Accept-Encoding", "identity"),
    ("Git-Protocol", "version=2"),
)
_OF_A_REQUEST: Final = ("Content-Type", f"application/x-{_SERVICE}-request")

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


@define(eq=False, repr=False)
class Server:
    """
    The one host a clone talks to; close it when done.

    :ivar _url: The repository's, checked.
    :ivar _policy: Which addresses may be dialled.
    :ivar _most_bytes: How many it may send.
    :ivar _in_thread: Where what it sends is read.
    :ivar _now: A monotonic clock, in seconds.
    :ivar _progress: Called with the bytes received so far, a few times a second.
    """

    _url: str
    _client: HttpClient
    _policy: AddressPolicy
    _most_bytes: int
    _in_thread: InThread
    _now: Callable[[], float]
    _progress: Callable[[int], None]
    _connections: Connections | None = field(default=None, init=False)
    _bytes: int = field(default=0, init=False)
    _report_from: float = field(default=float("-inf"), init=False)

    async def fetch(
        self, *, history: int = 0, known: str = "", also: str = ""
    ) -> Fetched:
        """
        Fetch the tip of the default branch into memory.

        :param history: How many commits to ask for, without directories and files if
            the server can leave them out; 0: the tip alone, with its files.
        :param known: Nothing is fetched when the tip is this commit.
        :param also: Another commit to ask for; a server may refuse.
        :raise BridgeError: ``clone_failed: …``, whatever went wrong.
        """
        offer, commit = await self._discovered()
        if commit == known:
            return Fetched(commit, b"")
        commits = [commit, *filter(None, [also])]
        answer = await self._upload_pack(_request(offer, commits, history))
        return Fetched(commit, await self._read(_read_pack, answer))

    async def tip(self) -> str:
        """
        Return the tip of the default branch, 40 hexadecimal digits.

        :raise BridgeError: ``clone_failed: …``, whatever went wrong.
        """
        return (await self._discovered())[1]

    async def close(self) -> None:
        """Close its connections."""
        if self._connections is not None:
            await self._connections.close()
        self._connections = None

    def received(self, count: int) -> None:
        """
        Count bytes that came from the network.

        :raise BridgeError: They are too many.
        """
        self._bytes += count
        if self._bytes > self._most_bytes:
            raise clone_failed(f"more than {self._most_bytes} bytes received")
        now = self._now()
        if now >= self._report_from:
            self._report_from = now + 1 / PROGRESS_PER_SECOND
            self._progress(self._bytes)

    async def _discovered(self) -> tuple[_Offer, str]:
        offer = await self._read(_read_offer, await self._discover())
        line = offer.tip
        if offer.version == 2:
            refs = await self._upload_pack(_LS_REFS)
            line = await self._read(_read_head, refs)
        return offer, _commit(line)

    async def _read(self, read: Callable[[bytes, Check], T], answer: bytes) -> T:
        return await stoppable(self._in_thread, lambda check: read(answer, check))

    async def _discover(self) -> bytes:
        """Ask what the server offers; a redirect may lead to another path or port."""
        for _ in range(CLONE_REDIRECTS + 1):
            head, answer = await self._ask("GET", _DISCOVERY, b"")
            if head.status not in _REDIRECTS:
                content_type = _header(head, "content-type")
                # RFC 9110, 8.3.1: parameters may follow, and case plays no part.
                if content_type.partition(";")[0].strip().lower() != _ADVERTISEMENT:
                    raise clone_failed("not a git repository")
                return answer
            self._url = self._followed(_header(head, "location"))
            # Some servers end a connection with a redirect, and do not say so.
            await self.close()
        raise clone_failed("redirect refused: too many")

    async def _upload_pack(self, body: bytes) -> bytes:
        """Send the service a request, and return its answer."""
        head, answer = await self._ask("POST", f"/{_SERVICE}", body)
        if head.status in _REDIRECTS:
            raise clone_failed("redirect refused: not to a git repository")
        return answer

    async def _ask(self, method: str, path: str, body: bytes) -> tuple[Head, bytes]:
        target = read_url(self._url + path)
        headers = (*_HEADERS, *[_OF_A_REQUEST] * bool(body))
        request = CheckedRequest(target, method, headers, body)
        try:
            if self._connections is None:
                self._connections = await self._client.connect(
                    target, self._policy, self.received, keep=True
                )
            head, answer = await self._connections.ask(request, _received)
        except NotPublicError as e:
            failed = clone_failed("the host is not on the public internet")
            raise evolve(e, code=failed.code, message=failed.message) from None
        except BridgeError as e:
            is_named = e.message.startswith(f"{Prefix.CLONE_FAILED}:")
            raise e if is_named else clone_failed(e.message) from None
        return head, bytes(answer)

    def _followed(self, location: str) -> str:
        try:
            target = urljoin(self._url + _DISCOVERY, location)
        except ValueError:
            raise clone_failed(_NOT_HTTPS) from None
        if not (location and target.endswith(_DISCOVERY)):
            raise clone_failed("redirect refused: not to a git repository")
        target = target.removesuffix(_DISCOVERY)
        try:
            check_url(target)
        except BridgeError:
            raise clone_failed(_NOT_HTTPS) from None
        if read_url(target).host != read_url(self._url).host:
            raise clone_failed("redirect refused: to another host")
        return target


def _received(head: Head) -> bytearray:
    """Return what a body goes into, unless the response is of no use."""
    if head.status in _OF_NO_REPOSITORY:
        why = "no such repository, or a private one"
        raise clone_failed(f"the host answered HTTP status {head.status}: {why}")
    if head.status != HTTPStatus.OK and head.status not in _REDIRECTS:
        raise clone_failed(f"the host answered HTTP status {head.status}")
    if head.coding:
        raise clone_failed("the host's answer is compressed unasked")
    return bytearray()


def _header(head: Head, name: str) -> str:
    return head.headers.get(name, [""])[0]


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


def _read_head(answer: bytes, check: Check) -> bytes:
    return _head_of(_packets(answer, check))


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


def _request(offer: _Offer, commits: list[str], history: int) -> bytes:
    needed = {b"shallow"} if offer.version == 2 else {b"shallow", b"side-band-64k"}
    if not needed <= offer.features:
        raise clone_failed("the host's git cannot send a single commit")
    limits = _packet(f"deepen {history or 1}")
    filtered = history > 0 and b"filter" in offer.features
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
