"""The doubles for parts of operations, and the real parts, by the same contracts."""

from collections.abc import Collection
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, fail
from twisted.trial.unittest import TestCase

from bridge.plugins.bundle.build import Report
from bridge.plugins.clone.history import LogEntry
from bridge.plugins.tree.tree import Tree
from bridge.protocol.errors import BridgeError, Code, clone_failed, forget_traceback

from ..directories import fresh_directory
from .bundle.workshop import Workshop
from .clone.clones import CloneTestCase
from .clone.packs import EMPTY, FILE, blob, commit, line_of, tree
from .clone.remotes import LATEST, FakeRemotes, new_commits
from .operations.bench import COMMIT, FakeBuilder, files_of, url_of, write_tree

LEFT_OUT = "cc is left out: unsigned"
_COMMIT = r"\A[0-9a-f]{40}\Z"


class RemotesContract:
    """
    Facts about ``Repositories`` and their double.

    The test case makes, in ``setUp``, ``self.subject``, the ``self.url`` of a
    repository with the file ``main.ts``, whose ``self.tip`` is 2 commits ahead of
    ``self.older``, the ``self.missing`` of none, and the path ``self.into`` in an empty
    directory; after ``make_slow`` a clone takes longer than the test.
    """

    def cloning(self, url: str, progress: Any = lambda count: None) -> Deferred[str]:
        return Deferred.fromCoroutine(self.subject.clone(url, self.into, progress))

    def looking(self, url: str, current: str) -> Deferred[Any]:
        return Deferred.fromCoroutine(self.subject.behind(url, current))

    async def assert_fails(self, asked: Deferred[Any]) -> str:
        """Check that it fails as it should, and return the message."""
        error = await self.assertFailure(asked, BridgeError)
        forget_traceback(error)
        self.assertEqual(error.code, Code.BAD_REQUEST)
        self.assertTrue(error.message.startswith("clone_failed: "), error.message)
        return str(error.message)

    async def test_clone(self):
        """The files arrive in a directory of our own; the commit is the result."""
        self.assertRegex(await self.cloning(self.url), _COMMIT)
        self.assertTrue((self.into / "main.ts").is_file())
        self.assertEqual(self.into.stat().st_mode & 0o777, 0o700)

    async def test_progress(self):
        """The bytes received so far are reported, and grow."""
        counts: list[int] = []
        await self.cloning(self.url, counts.append)
        self.assertTrue(counts)
        self.assertEqual(counts, sorted(counts))

    async def test_missing(self):
        """A repository that does not exist leaves nothing."""
        for asked in (
            self.cloning(self.missing),
            self.looking(self.missing, self.tip),
            Deferred.fromCoroutine(self.subject.tip(self.missing)),
        ):
            await self.assert_fails(asked)
            self.assertFalse(self.into.exists())

    async def test_cancelled(self):
        """A clone that is cancelled ends at once, and leaves nothing."""
        self.make_slow()
        cloning = self.cloning(self.url)
        self.assertNoResult(cloning)
        cloning.cancel()
        await self.assertFailure(cloning, CancelledError)
        self.assertFalse(self.into.exists())

    async def test_existing_directory(self):
        """What exists already is neither used nor removed."""
        self.into.mkdir()
        (self.into / "kept").touch()
        message = await self.assert_fails(self.cloning(self.url))
        self.assertEqual(
            message, "clone_failed: the files could not be written: File exists"
        )
        self.assertEqual([path.name for path in self.into.iterdir()], ["kept"])

    async def test_behind(self):
        """New commits are counted, and each has an entry."""
        behind = await self.looking(self.url, self.older)
        self.assertEqual((behind.commits, behind.met), (2, True))
        self.assertRegex(behind.latest, _COMMIT)
        self.assertNotEqual(behind.latest, self.older)
        self.assertEqual(list(map(type, behind.changelog)), [LogEntry] * 2)
        for entry in behind.changelog:
            self.assertRegex(entry.commit, _COMMIT)
            self.assertRegex(entry.time, r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")

    async def test_tip(self):
        """The tip is behind by nothing, and can be asked for alone."""
        self.assertIsNone(await self.looking(self.url, self.tip))
        self.assertEqual(await self.subject.tip(self.url), self.tip)


class GitRemotesTests(RemotesContract, CloneTestCase):
    """The real ones, and a real git server."""

    def setUp(self):
        super().setUp()
        content = blob()
        root = tree((FILE, b"main.ts", content))
        line = line_of(3)
        line.append(commit(root, line[-1]))
        self.url = self.publish(EMPTY, content, root, *line)
        self.subject = self.cloner()
        self.missing = self.forge.url("missing")
        self.older, self.tip = (line[at].name.hex() for at in (1, 3))

    def make_slow(self):
        self.url = "https://forge.example/x.git"
        self.patch(self, "look_up", lambda host: Deferred())
        self.subject = self.cloner()


class FakeRemotesTests(RemotesContract, TestCase):
    def setUp(self):
        root = fresh_directory(self)
        write_tree(root / "trees" / "aa", files_of("aa"), None)
        self.into = root / "tree"
        self.url, self.missing = url_of("aa"), url_of("missing")
        self.older, self.tip = COMMIT, LATEST
        self.subject = FakeRemotes(root / "trees", chunks=[1000, 2000])
        self.subject.answers[self.url] = new_commits(2)
        self.subject.answers[self.missing] = clone_failed("not found")

    def make_slow(self):
        self.subject.waits.slow = "clone"


class BuilderContract:
    """
    Facts about ``Builder`` and its double.

    The test case makes it in ``setUp``, as ``self.subject``, for the installed plugins
    ``aa`` and ``bb``.  After ``make_broken`` a build fails for a reason that an author
    can understand, after ``make_defective`` with the ``ZeroDivisionError`` of a defect
    of ours, and after ``make_slow`` it takes longer than the test.
    """

    def tree(self, plugin_id: str) -> Tree:
        """Return the verified tree of a plugin."""
        return Tree({})

    def build(self, *ids: str, needed: Collection[str] = ()) -> Deferred[Report]:
        """Begin to build a bundle of these plugins."""
        trees = {name: self.tree(name) for name in ids}
        faults = {"cc": "unsigned"}
        built = self.subject.build(lambda: (trees, faults), frozenset(needed))
        return Deferred.fromCoroutine(built)

    async def test_report(self):
        """A report names the plugins, sorted, and what was found to be unsound."""
        report = await self.build("bb", "aa")
        self.assertIsInstance(report, Report)
        self.assertEqual((report.ok, report.errors), (True, [LEFT_OUT]))
        self.assertEqual(report.plugins, ["aa", "bb"])
        self.assertIsInstance(report.duration_ms, int)

    async def test_needed(self):
        """A build fails for a plugin that is needed and unsound, and for no other."""
        report = await self.build("aa", needed=["aa"])
        self.assertEqual((report.ok, report.errors), (True, [LEFT_OUT]))
        report = await self.build("aa", needed=["aa", "cc"])
        self.assertEqual((report.ok, report.errors), (False, ["unsigned"]))

    async def test_broken(self):
        """A failed build is a report too, with the plugins that it was to have."""
        self.make_broken()
        report = await self.build("aa")
        self.assertEqual((report.ok, report.plugins), (False, ["aa"]))
        self.assertEqual(list(map(type, report.errors)), [str, str])
        self.assertEqual(report.errors[-1], LEFT_OUT)

    async def test_defect(self):
        """A defect is a failure of the build, and no report."""
        self.make_defective()
        await self.assertFailure(self.build("aa"), ZeroDivisionError)

    async def test_cancelled(self):
        """A cancelled build fails with ``CancelledError``."""
        self.make_slow()
        building = self.build("aa")
        self.assertIsInstance(building, Deferred)
        self.assertFalse(building.called)
        building.cancel()
        await self.assertFailure(building, CancelledError)


class RealBuilderTests(BuilderContract, TestCase):
    """The real one, with the real bundler."""

    def setUp(self):
        self.shop = Workshop(fresh_directory(self)).fill()
        self.shop.plugin("aa")
        self.shop.plugin("bb")
        self.subject = self.shop.builder()

    def tree(self, plugin_id):
        return self.shop.trees(plugin_id)[plugin_id]

    def make_broken(self):
        self.shop.write("plugins/aa/main.ts", "import './gone';")

    def make_defective(self):
        self.subject = self.shop.builder(
            defer_to_thread=lambda *_: fail(ZeroDivisionError())
        )

    def make_slow(self):
        self.shop.put_bundler(b"#!/bin/sh\nexec sleep 600\n")


class FakeBuilderTests(BuilderContract, TestCase):
    def setUp(self):
        self.subject = FakeBuilder()

    def make_broken(self):
        self.subject.outcomes = ["plugins/aa/main.ts imports what is not there"]

    def make_defective(self):
        self.subject.outcomes = [ZeroDivisionError()]

    def make_slow(self):
        self.subject.outcomes = [Deferred()]
