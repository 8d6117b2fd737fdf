"""
Repositories of plugins: fetched, or looked at for what is new.

In process, within limits.  No git program, configuration, hook, filter or credential
takes part.  The ``.git`` of a clone is written file by file, as ``dulwich`` has the
formats, so nothing of the machine's git configuration, templates or hooks can get into
it.
"""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Self, TypeVar

from attrs import evolve, field
from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from ...classes import frozen
from ...concurrency.threads import Check, InThread, stoppable
from ...datadir.paths import write_files
from ...http.client import HttpClient
from ...http.target import AddressPolicy
from ...protocol import limits
from ...protocol.errors import BridgeError, clone_failed, forget_traceback
from .files import Snapshot, read_snapshot
from .history import Behind, compare, read_commits
from .pack import Unpacked, unpack
from .server import Fetched, Server, check_url

_COMMIT: Final = re.compile("[0-9a-f]{40}")


@frozen
class FetchLimits:
    """
    How much a server may send, and how long that may take.

    :ivar objects: How many there may be in a pack.
    """

    seconds: float
    received_bytes: int
    objects: int


CLONES: Final = FetchLimits(
    limits.CLONE_SECONDS, limits.CLONE_RECEIVED_BYTES, limits.CLONE_OBJECTS
)
"""The limits of a clone."""

LOOKS: Final = FetchLimits(
    limits.UPDATE_SECONDS, limits.UPDATE_RECEIVED_BYTES, limits.UPDATE_OBJECTS
)
"""The limits of a look: commits are small, but some servers send more."""

_LOOK_MARGIN_SECONDS: Final = 0.5

T = TypeVar("T")


@frozen
class Repositories:
    """
    Repositories over https.  Each method can be cancelled.

    :ivar clock: Measures the time they may take.
    :ivar in_thread: Where what they send is read and unpacked.
    :ivar policy: Which addresses may be dialled.
    :ivar clones: The limits of a clone.
    :ivar looks: Those of a look.
    """

    client: HttpClient
    clock: IReactorTime
    in_thread: InThread
    policy: AddressPolicy
    clones: FetchLimits = CLONES
    looks: FetchLimits = LOOKS
    _comparing: DeferredLock = field(factory=DeferredLock)

    def public(self, also: frozenset[tuple[str, int]] = frozenset()) -> Self:
        """Return the same for public hosts, and these private ones with their port."""
        return evolve(self, policy=AddressPolicy(public_only=True, also=also))

    async def clone(self, url: str, into: Path, progress: Callable[[int], None]) -> str:
        """
        Clone the default branch of ``url`` at depth 1.

        :param into: The work tree to make; it must not exist, its parent must.  After
            a failure it does not exist; when it was cancelled at the end, it may.
        :param progress: Called with the bytes received so far, at most 5 times a
            second.
        :return: The commit, 40 hexadecimal digits.
        :raise BridgeError: ``not_https``, ``policy`` (a symlink or a submodule), or
            ``clone_failed`` for everything else.
        """

        async def cloned(server: Server) -> str:
            fetched = await server.fetch()
            await server.close()
            await stoppable(
                self.in_thread, lambda check: self._write(url, into, fetched, check)
            )
            return fetched.commit

        return await self.opened(self.clones, url, cloned, progress)

    async def tip(self, url: str) -> str:
        """
        Return the commit of the default branch of ``url``, 40 hexadecimal digits.

        :raise BridgeError: ``not_https``, or ``clone_failed`` for everything else.
        """
        return await self.opened(self.looks, url, Server.tip)

    async def behind(self, url: str, current: str) -> Behind | None:
        """
        Count how far a commit is behind the default branch of ``url``.

        :param current: The commit, 40 hexadecimal digits.
        :return: ``None`` when it is the branch's tip.
        :raise BridgeError: ``not_https``, or ``clone_failed`` for everything else.
        """
        if _COMMIT.fullmatch(current) is None:
            raise clone_failed("the record names no commit")
        return await self.opened(
            self.looks, url, lambda server: self._look(server, current)
        )

    async def _look(self, server: Server, current: str) -> Behind | None:
        end = self.clock.seconds() + self.looks.seconds - _LOOK_MARGIN_SECONDS
        found = await self._compared(server, current)
        if found is None or found.met:
            return found
        # Far behind, or the branch was rewritten.  Most servers also give a commit
        # that no branch leads to, and then it is known where the two parted.
        again = Deferred.fromCoroutine(self._compared(server, current, also=current))
        again.addTimeout(max(0.0, end - self.clock.seconds()), self.clock, _too_late)
        try:
            return await again
        except BridgeError as e:
            forget_traceback(e)
            return found

    async def _compared(
        self, server: Server, current: str, also: str = ""
    ) -> Behind | None:
        fetched = await server.fetch(
            history=limits.UPDATE_COMMITS, known=current, also=also
        )
        if fetched.commit == current:
            return None

        def compared(check: Check) -> Behind:
            unpacked = unpack(fetched.pack, self.looks.objects, check)
            commits = read_commits(unpacked, check)
            return compare(fetched.commit, current, commits, check)

        # At once they would take no less time, and the memory of each.
        async with self._comparing:
            return await stoppable(self.in_thread, compared)

    def _write(self, url: str, into: Path, fetched: Fetched, check: Check) -> None:
        commit = fetched.commit
        unpacked = unpack(fetched.pack, self.clones.objects, check)
        snapshot = read_snapshot(commit, unpacked, check)
        try:
            into.mkdir(mode=0o700)
            try:
                write_files(into, snapshot.tree.files, check)
                _write_repository(into, url, commit, fetched.pack, unpacked, snapshot)
                check()
            except BaseException:
                shutil.rmtree(into, ignore_errors=True)
                raise
        except OSError as e:
            why = f": {e.strerror}" if e.strerror else ""
            raise clone_failed(f"the files could not be written{why}") from e

    async def opened(
        self,
        limits: FetchLimits,
        url: str,
        work: Callable[[Server], Awaitable[T]],
        progress: Callable[[int], None] = lambda count: None,
    ) -> T:
        """
        Do something with a repository's server, within the limits.

        Cancelling it ends it at once, wherever it is.

        :param progress: Called with the bytes received so far, at most 5 times a
            second.
        :raise BridgeError: ``not_https``, ``clone_failed``, or what ``work`` raises.
        """
        check_url(url)
        # As git asks: browsers show an address with a slash at its end.
        url = url.removesuffix("/")
        server = Server(
            url,
            self.client,
            self.policy,
            limits.received_bytes,
            self.in_thread,
            self.clock.seconds,
            progress,
        )

        async def working() -> T:
            try:
                return await work(server)
            finally:
                await server.close()

        limited = Deferred.fromCoroutine(working())
        limited.addTimeout(limits.seconds, self.clock, _too_late)
        return await limited


def _too_late(result: object, seconds: float) -> object:
    if isinstance(result, Failure):
        forget_traceback(result.value)
        raise clone_failed(f"not finished within {seconds:g} seconds")
    return result


# The URL has been checked: it holds neither quotes nor backslashes.
_CONFIG: Final = """\
[core]
\trepositoryformatversion = 0
\tfilemode = false
\tbare = false
\tautocrlf = false
[remote "origin"]
\turl = "{url}"
\tfetch = +HEAD:refs/remotes/origin/HEAD
"""

# No attribute of the repository makes a git program change a file, or run one.
_ATTRIBUTES: Final = b"* -text -filter -ident -working-tree-encoding\n"
_REGULAR: Final = 0o100644


def _write_repository(
    root: Path,
    url: str,
    commit: str,
    pack: bytes,
    unpacked: Unpacked,
    snapshot: Snapshot,
) -> None:
    """
    Make ``root`` the work tree of a clone of depth 1.

    :param root: Holds the files of ``snapshot`` already.
    :raise OSError: Something could not be written.
    """
    name = f"objects/pack/pack-{unpacked.checksum.hex()}"
    line = f"{commit}\n".encode("ascii")
    files = {
        f"{name}.pack": pack,
        f"{name}.idx": _pack_index(unpacked),
        "refs/heads/main": line,
        "refs/remotes/origin/HEAD": line,
        "config": _CONFIG.format(url=url).encode("ascii"),
        "info/attributes": _ATTRIBUTES,
        "HEAD": b"ref: refs/heads/main\n",
    }
    if snapshot.shallow:
        files["shallow"] = line
    write_files(root / ".git", files)
    _write_stage(root / ".git" / "index", snapshot.names)


def _pack_index(unpacked: Unpacked) -> bytes:
    from dulwich.objects import RawObjectID
    from dulwich.pack import write_pack_index_v2

    entries = sorted((RawObjectID(name), at, crc) for name, at, crc in unpacked.index)
    made = io.BytesIO()
    write_pack_index_v2(made, entries, unpacked.checksum)
    return made.getvalue()


def _write_stage(path: Path, names: dict[str, bytes]) -> None:
    """
    Write git's list of the files it tracks.

    The times and sizes are left out; git reads the files when it needs them.
    """
    from dulwich.index import Index, IndexEntry
    from dulwich.objects import ObjectID

    index = Index(path, read=False)
    for path_in_tree, name in names.items():
        blob = ObjectID(name.hex().encode("ascii"))
        entry = IndexEntry(0, 0, 0, 0, _REGULAR, 0, 0, 0, blob)
        index[path_in_tree.encode("utf-8")] = entry
    index.write()
