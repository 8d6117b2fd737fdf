"""Tests of ``bridge.cli.forge``: the system's git as its client."""

import gzip
import os
import shutil
import ssl
from contextlib import closing
from http import client
from subprocess import CalledProcessError
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred, inlineCallbacks
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.cli import forge
from bridge.cli.forge import address, make_authority, publish, start_forge
from bridge.cli.terminal import CommandError

from ..directories import fresh_directory
from ..plugins.clone.clones import run_git


class ForgeTests(TestCase):
    def setUp(self) -> None:
        self.base = fresh_directory(self)
        self.root = self.base / "repositories"
        self.root.mkdir()
        worktree = self.base / "w"
        worktree.mkdir()
        (worktree / "crlf.txt").write_bytes(b"a\r\n")
        (worktree / ".gitattributes").write_bytes(b"* text eol=lf\n")
        (worktree / "ignored").write_bytes(os.urandom(400_000))
        (worktree / ".gitignore").write_bytes(b"ignored\n")
        # As git 3 does by itself.
        environ = {**forge._GIT_ENVIRONMENT, "GIT_DEFAULT_HASH": "sha256"}
        self.patch(forge, "_GIT_ENVIRONMENT", environ)
        self.first = publish(worktree, self.root, "demo", "First")
        (worktree / "crlf.txt").write_bytes(b"b\r\n")
        self.second = publish(worktree, self.root, "demo", "Second")
        self.ca_file = self.base / "ca.pem"
        authority = make_authority(self.ca_file)
        self.forge: Any = start_forge(reactor, self.root, authority)
        self.url = address(self.forge, "demo")
        self.addCleanup(self.stop)

    def stop(self) -> Any:
        for connection in [*self.forge.factory.protocols]:
            connection.abortConnection()
        return self.forge.stopListening()

    def git(self, *words: str) -> Deferred[str]:
        return deferToThread(run_git, self.base, *words, ca_file=self.ca_file)

    @inlineCallbacks
    def test_clone(self):
        """Git clones what was published, byte for byte, in each protocol version."""
        self.assertRegex(self.first, "^[0-9a-f]{40}$")
        for version in ("0", "2"):
            into = self.base / version
            option = f"protocol.version={version}"
            yield self.git("-c", option, "clone", self.url, str(into))
            self.assertTrue((into / "ignored").exists())
            log = yield self.git("-C", str(into), "log", "--format=%H %s %an")
            self.assertEqual(
                log,
                f"{self.second} Second Demo Author\n{self.first} First Demo Author\n",
            )
            raw = yield self.git("-C", str(into), "show", "HEAD:crlf.txt")
            self.assertEqual(raw, "b\n")

    @inlineCallbacks
    def test_no_pushes(self):
        into = self.base / "p"
        yield self.git("clone", self.url, str(into))
        pushing = self.git("-C", str(into), "push", "origin", "HEAD:refs/heads/x")
        error = yield self.assertFailure(pushing, CalledProcessError)
        self.assertIn("403", error.stderr)

    @inlineCallbacks
    def test_request_body(self):
        """A request that is chunked and gzipped is understood."""
        zipped = gzip.compress(b"0014command=ls-refs\n00010009peel\n0000")
        answer = yield deferToThread(self.post, iter([zipped[:9], zipped[9:]]))
        self.assertIn(self.second.encode("ascii"), answer)

    def post(self, body) -> bytes:
        """Ask for the refs in version 2 of the protocol."""
        headers = {
            "Content-Type": "application/x-git-upload-pack-request",
            "Content-Encoding": "gzip",
            "Git-Protocol": "version=2",
        }
        context = ssl.create_default_context(cafile=str(self.ca_file))
        where = client.HTTPSConnection(
            "127.0.0.1", self.forge.getHost().port, context=context
        )
        with closing(where) as connection:
            connection.request("POST", "/demo.git/git-upload-pack", body, headers)
            return connection.getresponse().read()


class PublishTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.base = fresh_directory(self)

    def test_missing_git(self) -> None:
        """Without git the message has the fix."""
        self.patch(shutil, "which", lambda name: None)
        error = self.assertRaises(CommandError, publish, self.base, self.base, "x")
        self.assertIn("apt-get install git", str(error))

    def test_git_refuses(self) -> None:
        """What git prints is passed on."""
        (self.base / "x.git").write_bytes(b"")
        error = self.assertRaises(CommandError, publish, self.base, self.base, "x")
        self.assertIn("git failed: ", str(error))
