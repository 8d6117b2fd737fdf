"""Looking at upstream, against a real git server and a rogue one."""

import os
import threading
import time
from collections.abc import Iterable

from twisted.internet.defer import CancelledError, Deferred, gatherResults

from bridge.plugins.clone import repositories

from ...forge import serve_pack, start_forge_process
from ...reactors import reactor
from .clones import CloneTestCase
from .packs import EMPTY, FILE, blob, line_of, made_commit, make_pack, packed, tree
from .test_history import names


class UpstreamTestCase(CloneTestCase):
    async def behind(self, url, current, upstream=None):
        """How far a commit is behind a repository, which it is."""
        return await self.begin_to_look(url, current.name.hex(), upstream)

    def begin_to_look(self, url, current, upstream=None):
        chosen = upstream or self.cloner()
        return Deferred.fromCoroutine(chosen.behind(url, current))


class HistoryTests(UpstreamTestCase):
    """What has become of the branch since."""

    async def test_histories(self) -> None:
        """New commits are counted and shown, whatever has become of the branch."""
        line, gone = line_of(120), made_commit(b"gone")
        ours, theirs = (line_of(2, start=line[2], name=n) for n in ("ours ", "theirs "))
        newest = [str(number) for number in range(119, 69, -1)]
        for objects, current, count, shown in (
            (line[:5], line[1], 3, ["4", "3", "2"]),
            # 50 stands for more.
            (line, line[0], 50, newest),
            (line, line[70], 49, newest[:-1]),
            # The branch was rewritten: it counts from where the two parted.
            ([*line[:3], *ours, *theirs], ours[-1], 2, ["theirs 1", "theirs 0"]),
            # The server has forgotten the commit: what is known counts whole.
            (line[:3], gone, 3, ["2", "1", "0"]),
            (line[:60], gone, 50, [str(number) for number in range(59, 9, -1)]),
            # The branch was moved back.
            ([*line[2:6], *line[:2]], line[5], 0, []),
        ):
            behind = await self.behind(self.publish(EMPTY, *objects), current)
            found = (behind.latest, behind.commits, names(behind))
            self.assertEqual(found, (objects[-1].name.hex(), count, shown))
        self.assertEqual(list(self.base.iterdir()), [])

    async def test_only_commits(self) -> None:
        """No file is fetched."""
        base = made_commit(b"base")
        big = blob(os.urandom(300_000))
        files = tree((FILE, b"x", big))
        top = made_commit(b"top", base, root=files)
        url = self.publish(EMPTY, big, files, base, top)
        limited = self.cloner(received_bytes=50_000)
        self.assertEqual((await self.behind(url, base, limited)).commits, 1)

    async def test_old_server(self) -> None:
        """One that speaks version 0 sends all, and offers less."""
        self.forge = start_forge_process(old=True)
        self.addCleanup(self.forge.stop)
        big = blob(bytes(1000))
        files = tree((FILE, b"x", big))
        base = made_commit(b"base", root=files)
        ours = made_commit(b"ours", base, root=files)
        theirs = made_commit(b"theirs", base, root=files)
        url = self.publish(big, files, base, ours, theirs)
        self.assertEqual((await self.behind(url, base)).commits, 1)
        self.assertEqual(names(await self.behind(url, ours)), ["theirs", "base"])

    async def test_cancelled_while_asking_for_more(self) -> None:
        """What is cancelled does not answer with what it had; what is late does."""
        line = line_of(3)
        honest = serve_pack(make_pack(*map(packed, line)), line[-1].name.hex())

        def script(first: str, body: bytes) -> Iterable[bytes]:
            if len(server.requests) > 2:
                if cancels:
                    reactor.callFromThread(looking.cancel)
                server.pause(60)
            return honest(first, body)

        gone = made_commit(b"gone").name.hex()
        for cancels in (True, False):
            server = self.rogue(script)
            upstream = self.cloner(server.ca_file, seconds=2)
            looking = self.begin_to_look(server.url, gone, upstream)
            if cancels:
                await self.assertFailure(looking, CancelledError)
        self.assertEqual((await looking).commits, 3)


class RuleTests(UpstreamTestCase):
    """The rules of a clone hold for a look."""

    async def test_attack_no_commit(self) -> None:
        """A record without a commit is refused before anything is asked."""
        for commit in ("", "HEAD", "a" * 39, "A" * 40, "a" * 41):
            looking = self.begin_to_look(self.forge.url("x"), commit)
            refusal = await self.refusal_of(looking)
            self.assertIn("the record names no commit", refusal)

    async def test_attack_rules(self) -> None:
        """Only https, public hosts where that is wanted, and so many bytes."""
        base = made_commit(b"base")
        large = made_commit(os.urandom(60_000).hex().encode(), base)
        url, current = self.publish(EMPTY, base, large), base.name.hex()
        public, limited = self.cloner().public(), self.cloner(received_bytes=30_000)
        for at, upstream, words in (
            ("http://forge.example/x", public, "not_https: "),
            (url, public, "not on the public internet"),
            (url, limited, "more than 30000 bytes received"),
        ):
            looking = self.begin_to_look(at, current, upstream)
            self.assertIn(words, await self.refusal_of(looking))
        asking = Deferred.fromCoroutine(self.cloner(received_bytes=10).tip(url))
        self.assertIn("more than 10 bytes received", await self.refusal_of(asking))

    async def test_attack_many_packs_at_once(self) -> None:
        """Of many repositories, the memory for one pack is taken."""
        line = line_of(3)
        url, unpack = self.publish(EMPTY, *line), repositories.unpack
        unpacking = threading.Lock()

        def alone(*given):
            self.assertTrue(unpacking.acquire(blocking=False))
            try:
                time.sleep(0.05)
                return unpack(*given)
            finally:
                unpacking.release()

        self.patch(repositories, "unpack", alone)
        upstream, current = self.cloner(), line[0].name.hex()
        looking = [self.begin_to_look(url, current, upstream) for _ in range(4)]
        for behind in await gatherResults(looking, consumeErrors=True):
            self.assertEqual(behind.commits, 2)
