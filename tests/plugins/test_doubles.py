"""The doubles for parts of operations, and the real parts, by the same contracts."""

from typing import Any

from twisted.internet.defer import Deferred, fail
from twisted.trial.unittest import TestCase

from bridge.plugins.clone.transfer import clone_failed

from ..directories import fresh_directory
from .bundle.workshop import Workshop
from .clone.clones import CloneTestCase
from .clone.packs import EMPTY, FILE, blob, commit, line_of, tree
from .clone.remotes import LATEST, FakeRemotes, new_commits
from .contracts import BuilderContract, RemotesContract
from .operations.bench import COMMIT, FakeBuilder, files_of, url_of, write_tree


class GitRemotesTests(RemotesContract, CloneTestCase):
    """The real ones, and a real git server."""

    def setUp(self):
        """See ``RemotesContract``."""
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
        """See ``RemotesContract``."""
        self.url = "https://forge.example/x.git"
        self.patch(self, "look_up", lambda host: Deferred())
        self.subject = self.cloner()


class FakeRemotesTests(RemotesContract, TestCase):
    """The double."""

    def setUp(self):
        """See ``RemotesContract``."""
        root = fresh_directory(self)
        write_tree(root / "trees" / "aa", files_of("aa"), None)
        self.into = root / "tree"
        self.url, self.missing = url_of("aa"), url_of("missing")
        self.older, self.tip = COMMIT, LATEST
        self.subject = FakeRemotes(root / "trees", chunks=[1000, 2000])
        self.subject.answers[self.url] = new_commits(2)
        self.subject.answers[self.missing] = clone_failed("not found")

    def make_slow(self):
        """See ``RemotesContract``."""
        self.subject.waits.slow = "clone"

    def make_same(self):
        """See ``RemotesContract``."""
        self.subject.answers[self.url] = None


class RealBuilderTests(BuilderContract, TestCase):
    """The real one, with the real bundler."""

    def setUp(self):
        """See ``BuilderContract``."""
        self.shop = Workshop(fresh_directory(self)).fill()
        self.shop.plugin("aa")
        self.shop.plugin("bb")
        self.subject = self.shop.builder()

    def tree(self, plugin_id):
        """See ``BuilderContract``."""
        return self.shop.trees(plugin_id)[plugin_id]

    def make_broken(self):
        """See ``BuilderContract``."""
        self.shop.write("plugins/aa/main.ts", "import './gone';")

    def make_defective(self):
        """See ``BuilderContract``."""

        def defective(*_: Any) -> Deferred[Any]:
            return fail(ZeroDivisionError())

        self.subject = self.shop.builder(defer_to_thread=defective)

    def make_slow(self):
        """See ``BuilderContract``."""
        self.shop.put_bundler(b"#!/bin/sh\nexec sleep 600\n")


class FakeBuilderTests(BuilderContract, TestCase):
    """The double."""

    def setUp(self):
        """See ``BuilderContract``."""
        self.subject = FakeBuilder()

    def make_broken(self):
        """See ``BuilderContract``."""
        self.subject.outcomes = ["plugins/aa/main.ts imports what is not there"]

    def make_defective(self):
        """See ``BuilderContract``."""
        self.subject.outcomes = [ZeroDivisionError()]

    def make_slow(self):
        """See ``BuilderContract``."""
        self.subject.outcomes = [Deferred()]
