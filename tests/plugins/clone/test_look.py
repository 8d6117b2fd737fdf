"""Looking at upstream, against a real git server and a rogue one."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve
from twisted.internet import reactor
from twisted.internet.defer import CancelledError, Deferred

from bridge.http.client import make_client
from bridge.plugins.clone.history import Behind
from bridge.plugins.clone.repositories import LOOKS, Repositories
from bridge.protocol.errors import BridgeError

from ...forge import respond, serve_pack, start_forge_process
from .clones import CloneTestCase
from .commits import EMPTY, git, line_of, made_commit
from .packs import FILE, Object, blob, make_pack, make_repository, packed, tree


class UpstreamTestCase(CloneTestCase):
    """Publishes histories, and looks at them."""

    def setUp(self) -> None:
        """Choose a name for the repository."""
        super().setUp()
        self.name = f"upstream-{os.urandom(6).hex()}"

    @property
    def repository(self) -> Path:
        """The repository of this test."""
        return self.forge.root / f"{self.name}.git"

    def publish(self, objects: Sequence[Object]) -> None:
        """Make the repository; its branch is the last of ``objects``."""
        make_repository(self.forge.root, self.name, [EMPTY, *objects])

    def move(self, commit: Object, branch: str = "main") -> None:
        """Let a branch name another commit."""
        git(self.repository, "update-ref", f"refs/heads/{branch}", commit.name.hex())

    def upstream(self, ca_file: Path | None = None, **changed: Any) -> Repositories:
        """One that trusts the forge, or ``ca_file``."""
        looks = evolve(LOOKS, **changed)
        return self.repositories(ca_file, looks=looks)

    async def behind(self, current: Object) -> Behind:
        """How far a commit is behind the repository, which it is."""
        found = await self.look(self.forge.url(self.name), current)
        assert found is not None
        return found

    def begin_to_look(
        self, url: str, current: str, upstream: Repositories | None = None
    ) -> Deferred[Behind | None]:
        """Begin to look at ``url``."""
        chosen = upstream or self.upstream()
        return Deferred.fromCoroutine(chosen.behind(url, current))

    async def look(
        self, url: str, current: Object, upstream: Repositories | None = None
    ) -> Behind | None:
        """Look at ``url``."""
        return await self.begin_to_look(url, current.name.hex(), upstream)

    async def refused(
        self, url: str, current: Object = EMPTY, upstream: Repositories | None = None
    ) -> str:
        """The message a look at ``url`` is refused with."""
        looking = self.begin_to_look(url, current.name.hex(), upstream)
        error: Any = await self.assertFailure(looking, BridgeError)
        message = str(error.message)
        self.assertNotIn("127.0.0.1", message)
        return message


def summaries(behind: Behind) -> list[str]:
    """The summaries of a changelog."""
    return [entry.summary for entry in behind.changelog]


class HistoryTests(UpstreamTestCase):
    """What has become of the branch since."""

    async def test_nothing_new(self) -> None:
        """The tip is not behind."""
        line = line_of(2)
        self.publish(line)
        self.assertIsNone(await self.look(self.forge.url(self.name), line[-1]))

    async def test_new_commits(self) -> None:
        """New commits are counted and shown, the newest first."""
        line = line_of(5)
        self.publish(line)
        behind = await self.behind(line[1])
        self.assertEqual(behind.latest, line[-1].name.hex())
        self.assertEqual((behind.commits, summaries(behind)), (3, ["4", "3", "2"]))

    async def test_far_behind(self) -> None:
        """Beyond 50 commits, 50 are shown, and 50 stands for more."""
        line = line_of(120)
        self.publish(line)
        behind = await self.behind(line[0])
        self.assertEqual((behind.commits, len(behind.changelog)), (50, 50))
        self.assertEqual(summaries(behind)[::49], ["119", "70"])
        self.assertEqual((await self.behind(line[70])).commits, 49)

    async def test_force_pushed(self) -> None:
        """A rewritten branch is counted from where the two parted."""
        base = line_of(3)
        ours, theirs = (
            line_of(2, start=base[-1], name=name) for name in ("ours ", "theirs ")
        )
        self.publish([*base, *ours, *theirs])
        behind = await self.behind(ours[-1])
        self.assertEqual(summaries(behind), ["theirs 1", "theirs 0"])
        self.assertEqual(behind.commits, 2)

    async def test_force_pushed_and_forgotten(self) -> None:
        """When the server has forgotten the commit, the branch counts whole."""
        line = line_of(3)
        self.publish(line)
        behind = await self.behind(made_commit(b"gone"))
        self.assertEqual((behind.commits, len(behind.changelog)), (3, 3))

    async def test_far_behind_and_forgotten(self) -> None:
        """An incomplete history without the commit counts as 50."""
        line = line_of(60)
        self.publish(line)
        behind = await self.behind(made_commit(b"gone"))
        self.assertEqual((behind.commits, len(behind.changelog)), (50, 50))

    async def test_moved_back(self) -> None:
        """A branch that was moved back has nothing new."""
        line = line_of(6)
        self.publish(line)
        self.move(line[1])
        behind = await self.behind(line[-1])
        self.assertEqual(behind.latest, line[1].name.hex())
        self.assertEqual((behind.commits, behind.changelog), (0, []))

    async def test_default_branch_renamed(self) -> None:
        """What HEAD names now is what counts."""
        line = line_of(2)
        new = line_of(2, start=line[-1], name="new ")
        self.publish([*line, *new])
        self.move(line[-1])
        self.move(new[-1], "trunk")
        git(self.repository, "symbolic-ref", "HEAD", "refs/heads/trunk")
        self.assertEqual(summaries(await self.behind(line[-1])), ["new 1", "new 0"])
        git(self.repository, "update-ref", "-d", "refs/heads/main")
        self.assertEqual((await self.behind(line[-1])).commits, 2)

    async def test_merge(self) -> None:
        """Both sides of a merge are counted."""
        base = line_of(2)
        left, right = (
            line_of(2, start=base[-1], name=name) for name in ("left ", "right ")
        )
        top = made_commit(b"top", left[-1], right[-1])
        self.publish([*base, *left, *right, top])
        behind = await self.behind(base[-1])
        self.assertEqual(behind.commits, 5)
        reported = git(
            self.repository,
            "rev-list",
            "--date-order",
            "main",
            f"^{base[-1].name.hex()}",
        )
        self.assertEqual([entry.commit for entry in behind.changelog], reported)

    async def test_shallow_remote(self) -> None:
        """A server that has only the end of a history sends what it can."""
        line = line_of(9)
        self.publish(line[5:])
        (self.repository / "shallow").write_text(f"{line[5].name.hex()}\n", "ascii")
        behind = await self.behind(line[1])
        self.assertEqual((behind.commits, len(behind.changelog)), (50, 4))
        self.assertEqual((await self.behind(line[6])).commits, 2)

    async def test_emptied(self) -> None:
        """A repository without a branch is refused."""
        line = line_of(1)
        self.publish(line)
        git(self.repository, "update-ref", "-d", "refs/heads/main")
        message = await self.refused(self.forge.url(self.name), line[0])
        self.assertIn("empty or has no default branch", message)

    async def test_vanished(self) -> None:
        """A repository that is gone is refused."""
        line = line_of(1)
        self.publish(line)
        shutil.rmtree(self.repository)
        self.assertIn("HTTP status 404", await self.refused(self.forge.url(self.name)))

    async def test_only_commits(self) -> None:
        """No file is fetched."""
        base = made_commit(b"base")
        big = blob(os.urandom(300_000))
        files = tree((FILE, b"x", big))
        top = made_commit(b"top", base, root=files)
        self.publish([big, files, base, top])
        limited = self.upstream(received_bytes=50_000)
        found = await self.look(self.forge.url(self.name), base, limited)
        assert found is not None
        self.assertEqual(found.commits, 1)


class OldServerTests(UpstreamTestCase):
    """Servers that speak only version 0 of git's protocol."""

    def setUp(self) -> None:
        """Start such a server."""
        super().setUp()
        self.forge = start_forge_process(old=True)
        self.addCleanup(self.forge.stop)

    async def test_old_server(self) -> None:
        """All is sent, and what the server does not offer is done without."""
        big = blob(bytes(1000))
        files = tree((FILE, b"x", big))
        base = made_commit(b"base", root=files)
        ours = made_commit(b"ours", base, root=files)
        theirs = made_commit(b"theirs", base, root=files)
        self.publish([big, files, base, ours, theirs])
        self.assertEqual((await self.behind(base)).commits, 1)
        self.assertEqual(summaries(await self.behind(ours)), ["theirs", "base"])


class RuleTests(UpstreamTestCase):
    """The rules of a clone hold for a look."""

    async def test_not_https(self) -> None:
        """Only https is spoken."""
        for url in ("http://forge.example/x", "", "file:///etc"):
            self.assertIn("not_https: ", await self.refused(url))

    async def test_no_commit(self) -> None:
        """A record without a commit is refused before anything is asked."""
        for commit in ("", "HEAD", "a" * 39, "A" * 40, "a" * 41):
            looking = self.begin_to_look(self.forge.url("x"), commit)
            error: Any = await self.assertFailure(looking, BridgeError)
            self.assertIn("the record names no commit", error.message)

    async def test_tip(self) -> None:
        """The tip can be asked for alone."""
        line = line_of(2)
        self.publish(line)
        tip = await self.upstream().tip(self.forge.url(self.name))
        self.assertEqual(tip, line[-1].name.hex())

    async def test_private_address(self) -> None:
        """With public hosts only, a private address is not asked."""
        upstream = self.upstream().public()
        message = await self.refused(self.forge.url("x"), upstream=upstream)
        self.assertIn("not on the public internet", message)

    async def test_untrusted_certificate(self) -> None:
        """A certificate nobody vouches for is refused."""
        client = make_client(reactor, self.pool.call)
        upstream = evolve(self.upstream(), client=client)
        message = await self.refused(self.forge.url("x"), upstream=upstream)
        self.assertIn("certificate is not to be trusted", message)

    async def test_redirect_to_another_host(self) -> None:
        """Redirects stay on their host."""

        def script(line: str, body: bytes) -> Iterable[bytes]:
            to = "https://localhost/y.git/info/refs?service=git-upload-pack"
            return [respond("302 Found", Location=to)]

        server = self.rogue(script)
        message = await self.refused(server.url, upstream=self.upstream(server.ca_file))
        self.assertIn("redirect refused: to another host", message)

    async def test_too_many_bytes(self) -> None:
        """Receiving ends at the limit."""
        base = made_commit(b"base")
        top = made_commit(os.urandom(60_000).hex().encode(), base)
        self.publish([base, top])
        limited = self.upstream(received_bytes=30_000)
        message = await self.refused(self.forge.url(self.name), base, limited)
        self.assertIn("more than 30000 bytes received", message)

    async def test_false_pack(self) -> None:
        """A server that sends other commits than it names is refused."""
        pack = make_pack(packed(made_commit(b"other")))
        server = self.rogue(serve_pack(pack, "ab" * 20))
        message = await self.refused(server.url, upstream=self.upstream(server.ca_file))
        self.assertIn("an object is missing", message)

    async def test_nothing_written(self) -> None:
        """A look leaves no file."""
        line = line_of(3)
        self.publish(line)
        before = sorted(self.base.rglob("*"))
        await self.behind(line[0])
        self.assertEqual(sorted(self.base.rglob("*")), before)


class SlowTests(UpstreamTestCase):
    """Servers that take their time."""

    def slow(self, pause: float) -> tuple[str, Repositories]:
        """A server that sends a byte, waits, and so on."""

        def script(line: str, body: bytes) -> Iterator[bytes]:
            yield b"HTTP/1.1 200 OK\r\n"
            while True:
                yield b"X"
                server.pause(pause)

        server = self.rogue(script)
        return server.url, self.upstream(server.ca_file, seconds=0.5)

    async def test_stall(self) -> None:
        """A server that goes silent is cut off at the deadline."""
        url, upstream = self.slow(60)
        message = await self.refused(url, upstream=upstream)
        self.assertEqual(message, "clone_failed: not finished within 0.5 seconds")

    async def test_dribble(self) -> None:
        """A server that sends a byte now and then is cut off, too."""
        url, upstream = self.slow(0.05)
        message = await self.refused(url, upstream=upstream)
        self.assertEqual(message, "clone_failed: not finished within 0.5 seconds")

    async def test_cancelled_while_asking_for_more(self) -> None:
        """A look that is cancelled does not answer with what it had."""
        line = line_of(3)
        pack = make_pack(*map(packed, line))
        honest = serve_pack(pack, line[-1].name.hex())

        def script(first: str, body: bytes) -> Iterable[bytes]:
            if len(server.requests) > 2:
                reactor.callFromThread(looking.cancel)
                server.pause(60)
            return honest(first, body)

        server = self.rogue(script)
        upstream = self.upstream(server.ca_file)
        gone = made_commit(b"gone").name.hex()
        looking = self.begin_to_look(server.url, gone, upstream)
        await self.assertFailure(looking, CancelledError)

    async def test_nobody_listens(self) -> None:
        """A port nobody listens on is refused."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
        message = await self.refused(f"https://127.0.0.1:{port}/x.git")
        self.assertIn("no connection", message)
