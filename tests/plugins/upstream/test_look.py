"""Looking at upstream, against a real git server and a rogue one."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from bridge.plugins.upstream.history import Behind
from bridge.plugins.upstream.look import GitUpstream
from bridge.protocol.errors import BridgeError

from ...forge import respond, serve_pack, start_forge_process
from ..clone.clones import CloneTestCase
from ..clone.commits import EMPTY, git, line_of, made_commit
from ..clone.packs import FILE, Object, blob, make_pack, make_repository, packed, tree


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

    def upstream(self, ca_file: Path | None = None, **changed: Any) -> GitUpstream:
        """One that trusts the forge, or ``ca_file``."""
        return GitUpstream(
            ca_file or self.forge.ca_file,
            False,
            time.monotonic,
            evolve(GitUpstream.default_limits(), **changed),
        )

    def behind(self, current: Object) -> Behind:
        """How far a commit is behind the repository, which it is."""
        found = self.look(self.forge.url(self.name), current)
        assert found is not None
        return found

    def look(
        self, url: str, current: Object, upstream: GitUpstream | None = None
    ) -> Behind | None:
        """Look at ``url``."""
        chosen = upstream or self.upstream()
        return chosen.behind(url, current.name.hex(), self.stop)

    def refused(
        self, url: str, current: Object = EMPTY, upstream: GitUpstream | None = None
    ) -> str:
        """The message a look at ``url`` is refused with."""
        error = self.assertRaises(BridgeError, self.look, url, current, upstream)
        message = str(error.message)
        self.assertNotIn("127.0.0.1", message)
        return message


def summaries(behind: Behind) -> list[str]:
    """The summaries of a changelog."""
    return [entry.summary for entry in behind.changelog]


class HistoryTests(UpstreamTestCase):
    """What has become of the branch since."""

    def test_nothing_new(self) -> None:
        """The tip is not behind."""
        line = line_of(2)
        self.publish(line)
        self.assertIsNone(self.look(self.forge.url(self.name), line[-1]))

    def test_new_commits(self) -> None:
        """New commits are counted and shown, the newest first."""
        line = line_of(5)
        self.publish(line)
        behind = self.behind(line[1])
        self.assertEqual(behind.latest, line[-1].name.hex())
        self.assertEqual((behind.commits, summaries(behind)), (3, ["4", "3", "2"]))

    def test_far_behind(self) -> None:
        """Beyond 50 commits, 50 are shown, and 50 stands for more."""
        line = line_of(120)
        self.publish(line)
        behind = self.behind(line[0])
        self.assertEqual((behind.commits, len(behind.changelog)), (50, 50))
        self.assertEqual(summaries(behind)[::49], ["119", "70"])
        self.assertEqual(self.behind(line[70]).commits, 49)

    def test_force_pushed(self) -> None:
        """A rewritten branch is counted from where the two parted."""
        base = line_of(3)
        ours, theirs = (
            line_of(2, start=base[-1], name=name) for name in ("ours ", "theirs ")
        )
        self.publish([*base, *ours, *theirs])
        behind = self.behind(ours[-1])
        self.assertEqual(summaries(behind), ["theirs 1", "theirs 0"])
        self.assertEqual(behind.commits, 2)

    def test_force_pushed_and_forgotten(self) -> None:
        """When the server has forgotten the commit, the branch counts whole."""
        line = line_of(3)
        self.publish(line)
        behind = self.behind(made_commit(b"gone"))
        self.assertEqual((behind.commits, len(behind.changelog)), (3, 3))

    def test_far_behind_and_forgotten(self) -> None:
        """An incomplete history without the commit counts as 50."""
        line = line_of(60)
        self.publish(line)
        behind = self.behind(made_commit(b"gone"))
        self.assertEqual((behind.commits, len(behind.changelog)), (50, 50))

    def test_moved_back(self) -> None:
        """A branch that was moved back has nothing new."""
        line = line_of(6)
        self.publish(line)
        self.move(line[1])
        behind = self.behind(line[-1])
        self.assertEqual(behind.latest, line[1].name.hex())
        self.assertEqual((behind.commits, behind.changelog), (0, []))

    def test_default_branch_renamed(self) -> None:
        """What HEAD names now is what counts."""
        line = line_of(2)
        new = line_of(2, start=line[-1], name="new ")
        self.publish([*line, *new])
        self.move(line[-1])
        self.move(new[-1], "trunk")
        git(self.repository, "symbolic-ref", "HEAD", "refs/heads/trunk")
        self.assertEqual(summaries(self.behind(line[-1])), ["new 1", "new 0"])
        git(self.repository, "update-ref", "-d", "refs/heads/main")
        self.assertEqual(self.behind(line[-1]).commits, 2)

    def test_merge(self) -> None:
        """Both sides of a merge are counted."""
        base = line_of(2)
        left, right = (
            line_of(2, start=base[-1], name=name) for name in ("left ", "right ")
        )
        top = made_commit(b"top", left[-1], right[-1])
        self.publish([*base, *left, *right, top])
        behind = self.behind(base[-1])
        self.assertEqual(behind.commits, 5)
        reported = git(
            self.repository,
            "rev-list",
            "--date-order",
            "main",
            f"^{base[-1].name.hex()}",
        )
        self.assertEqual([entry.commit for entry in behind.changelog], reported)

    def test_shallow_remote(self) -> None:
        """A server that has only the end of a history sends what it can."""
        line = line_of(9)
        self.publish(line[5:])
        (self.repository / "shallow").write_text(f"{line[5].name.hex()}\n", "ascii")
        behind = self.behind(line[1])
        self.assertEqual((behind.commits, len(behind.changelog)), (50, 4))
        self.assertEqual(self.behind(line[6]).commits, 2)

    def test_emptied(self) -> None:
        """A repository without a branch is refused."""
        line = line_of(1)
        self.publish(line)
        git(self.repository, "update-ref", "-d", "refs/heads/main")
        message = self.refused(self.forge.url(self.name), line[0])
        self.assertIn("empty or has no default branch", message)

    def test_vanished(self) -> None:
        """A repository that is gone is refused."""
        line = line_of(1)
        self.publish(line)
        shutil.rmtree(self.repository)
        self.assertIn("HTTP status 404", self.refused(self.forge.url(self.name)))

    def test_only_commits(self) -> None:
        """No file is fetched."""
        base = made_commit(b"base")
        big = blob(os.urandom(300_000))
        files = tree((FILE, b"x", big))
        top = made_commit(b"top", base, root=files)
        self.publish([big, files, base, top])
        limited = self.upstream(received_bytes=50_000)
        found = self.look(self.forge.url(self.name), base, limited)
        assert found is not None
        self.assertEqual(found.commits, 1)


class OldServerTests(UpstreamTestCase):
    """Servers that speak only version 0 of git's protocol."""

    def setUp(self) -> None:
        """Start such a server."""
        super().setUp()
        self.forge = start_forge_process(old=True)
        self.addCleanup(self.forge.stop)

    def test_old_server(self) -> None:
        """All is sent, and what the server does not offer is done without."""
        big = blob(bytes(1000))
        files = tree((FILE, b"x", big))
        base = made_commit(b"base", root=files)
        ours = made_commit(b"ours", base, root=files)
        theirs = made_commit(b"theirs", base, root=files)
        self.publish([big, files, base, ours, theirs])
        self.assertEqual(self.behind(base).commits, 1)
        self.assertEqual(summaries(self.behind(ours)), ["theirs", "base"])


class RuleTests(UpstreamTestCase):
    """The rules of a clone hold for a look."""

    def test_not_https(self) -> None:
        """Only https is spoken."""
        for url in ("http://forge.example/x", "", "file:///etc"):
            self.assertIn("not_https: ", self.refused(url))

    def test_no_commit(self) -> None:
        """A record without a commit is refused before anything is asked."""
        for commit in ("", "HEAD", "a" * 39, "A" * 40, "a" * 41):
            error = self.assertRaises(
                BridgeError,
                self.upstream().behind,
                self.forge.url("x"),
                commit,
                self.stop,
            )
            self.assertIn("the record names no commit", error.message)

    def test_private_address(self) -> None:
        """With public hosts only, a private address is not asked."""
        upstream = evolve(self.upstream(), public_only=True)
        message = self.refused(self.forge.url("x"), upstream=upstream)
        self.assertIn("not on the public internet", message)

    def test_untrusted_certificate(self) -> None:
        """A certificate nobody vouches for is refused."""
        upstream = evolve(self.upstream(), ca_file=None)
        message = self.refused(self.forge.url("x"), upstream=upstream)
        self.assertIn("certificate is not trusted", message)

    def test_redirect_to_another_host(self) -> None:
        """Redirects stay on their host."""

        def script(line: str, body: bytes) -> Iterable[bytes]:
            to = "https://localhost/y.git/info/refs?service=git-upload-pack"
            return [respond("302 Found", Location=to)]

        server = self.rogue(script)
        message = self.refused(server.url, upstream=self.upstream(server.ca_file))
        self.assertIn("redirect refused: to another host", message)

    def test_too_many_bytes(self) -> None:
        """Receiving ends at the limit."""
        base = made_commit(b"base")
        top = made_commit(os.urandom(60_000).hex().encode(), base)
        self.publish([base, top])
        limited = self.upstream(received_bytes=30_000)
        message = self.refused(self.forge.url(self.name), base, limited)
        self.assertIn("more than 30000 bytes received", message)

    def test_false_pack(self) -> None:
        """A server that sends other commits than it names is refused."""
        pack = make_pack(packed(made_commit(b"other")))
        server = self.rogue(serve_pack(pack, "ab" * 20))
        message = self.refused(server.url, upstream=self.upstream(server.ca_file))
        self.assertIn("an object is missing", message)

    def test_nothing_written(self) -> None:
        """A look leaves no file."""
        line = line_of(3)
        self.publish(line)
        before = sorted(self.base.rglob("*"))
        self.behind(line[0])
        self.assertEqual(sorted(self.base.rglob("*")), before)


class SlowTests(UpstreamTestCase):
    """Servers that take their time."""

    def slow(self, pause: float) -> tuple[str, GitUpstream]:
        """A server that sends a byte, waits, and so on."""

        def script(line: str, body: bytes) -> Iterator[bytes]:
            yield b"HTTP/1.1 200 OK\r\n"
            while True:
                yield b"X"
                server.pause(pause)

        server = self.rogue(script)
        return server.url, self.upstream(server.ca_file, seconds=0.5)

    def test_stall(self) -> None:
        """A server that goes silent is cut off at the deadline."""
        url, upstream = self.slow(60)
        message = self.refused(url, upstream=upstream)
        self.assertEqual(message, "clone_failed: not finished within 0.5 seconds")

    def test_dribble(self) -> None:
        """A server that sends a byte now and then is cut off, too."""
        url, upstream = self.slow(0.05)
        message = self.refused(url, upstream=upstream)
        self.assertEqual(message, "clone_failed: not finished within 0.5 seconds")

    def test_stopped(self) -> None:
        """Another thread can end a look."""
        url, upstream = self.slow(60)
        timer = threading.Timer(0.1, self.stop.set)
        timer.start()
        message = self.refused(
            url, upstream=evolve(upstream, limits=GitUpstream.default_limits())
        )
        timer.join()
        self.assertEqual(message, "clone_failed: stopped before it was finished")

    def test_stopped_while_asking_for_more(self) -> None:
        """A look that is stopped does not answer with what it had."""
        line = line_of(3)
        pack = make_pack(*map(packed, line))
        honest = serve_pack(pack, line[-1].name.hex())

        def script(first: str, body: bytes) -> Iterable[bytes]:
            if len(server.requests) > 2:
                self.stop.set()
            return honest(first, body)

        server = self.rogue(script)
        upstream = self.upstream(server.ca_file)
        message = self.refused(server.url, made_commit(b"gone"), upstream)
        self.assertEqual(message, "clone_failed: stopped before it was finished")

    def test_nobody_listens(self) -> None:
        """A port nobody listens on is refused."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
        message = self.refused(f"https://127.0.0.1:{port}/x.git")
        self.assertIn("could not connect", message)
