"""Tests of ``bridge.cli.forge``: the system's git as its client."""

import gzip
import os
import ssl
from contextlib import closing
from http import client
from subprocess import CalledProcessError
from urllib.parse import urlsplit

from twisted.internet import reactor
from twisted.internet.defer import Deferred, inlineCallbacks
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from bridge.cli.forge import make_authority, sample_repository, start_forge
from bridge.plugins.tree.tree import read_tree, verify_tree
from bridge.settings.host import load_profile

from ..directories import fresh_directory
from ..plugins.clone.clones import run_git

NOW = 1_700_000_000


class ForgeTests(TestCase):
    def setUp(self) -> None:
        self.base = fresh_directory(self)
        self.ca_file = self.base / "ca.pem"
        self.profile = load_profile("reference")
        repository = sample_repository(self.profile, os.urandom, NOW)
        authority = make_authority(self.ca_file)
        self.patch(reactor, "listenTCP", self.listen_from(reactor.listenTCP))
        self.url = start_forge(reactor, repository, authority)
        self.addCleanup(self.stop)

    def listen_from(self, listen):
        def listening(*where, **how):
            self.port = listen(*where, **how)
            return self.port

        return listening

    def stop(self):
        for connection in [*self.port.factory.protocols]:
            connection.abortConnection()
        return self.port.stopListening()

    def git(self, *words: str) -> Deferred[str]:
        return deferToThread(run_git, self.base, *words, ca_file=self.ca_file)

    @inlineCallbacks
    def test_clone(self):
        """Git clones what is signed, by both addresses of forges, and its branch."""
        for version, url in ("0", self.url), ("2", self.url.removesuffix(".git")):
            into = self.base / version
            option = f"protocol.version={version}"
            yield self.git("-c", option, "clone", url, str(into))
            log = yield self.git("-C", str(into), "log", "--format=%s %an %at")
            self.assertEqual(log, f"Publish Demo Author {NOW}\n")
            branch = yield self.git("-C", str(into), "branch", "--show-current")
            self.assertEqual(branch, "main\n")
            verify_tree(read_tree(into), "hello-bridge", self.profile, NOW)

    @inlineCallbacks
    def test_nothing_else(self):
        """It takes no pushes, and has no other repository."""
        into = self.base / "p"
        yield self.git("clone", self.url, str(into))
        pushing = self.git("-C", str(into), "push", "origin", "HEAD:refs/heads/x")
        error = yield self.assertFailure(pushing, CalledProcessError)
        self.assertIn("403", error.stderr)
        other = self.git("clone", self.url.replace("hello", "other"), f"{into}2")
        error = yield self.assertFailure(other, CalledProcessError)
        self.assertIn("not found", error.stderr)

    @inlineCallbacks
    def test_request_body(self):
        """A request that is gzipped is understood."""
        refs = yield self.git("ls-remote", self.url, "HEAD")
        line = f"want {refs[:40]} side-band-64k\n".encode("ascii")
        body = b"%04x%b00000009done\n" % (len(line) + 4, line)
        answer = yield deferToThread(self.post, gzip.compress(body))
        self.assertIn(b"PACK", answer)

    def post(self, body) -> bytes:
        headers = {
            "Content-Type": "application/x-git-upload-pack-request",
            "Content-Encoding": "gzip",
        }
        context = ssl.create_default_context(cafile=str(self.ca_file))
        address, path = urlsplit(self.url)[1:3]
        with closing(client.HTTPSConnection(address, context=context)) as connection:
            connection.request("POST", f"{path}/git-upload-pack", body, headers)
            return connection.getresponse().read()
