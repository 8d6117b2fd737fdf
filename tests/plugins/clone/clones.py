"""What every test of a clone shares: a place to clone to, and nothing left in it."""

import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import TestCase

from bridge.concurrency.threads import Pool
from bridge.http.client import HttpClient, SystemNames
from bridge.http.target import AddressPolicy
from bridge.plugins.clone.repositories import CLONES, LOOKS, Repositories
from bridge.plugins.clone.server import Fetched
from bridge.protocol.errors import BridgeError, forget_traceback

from ...directories import fresh_directory
from ...forge import RogueServer, Script, shared_forge
from ...programs import run
from ...reactors import reactor
from ...waiting import expect_freed, until
from .packs import Object, make_repository


def open_sockets() -> int:
    """How many sockets of the internet this process has open."""
    count = 0
    for fd in os.listdir("/proc/self/fd"):
        try:
            if not os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(fd))) as one:
                # Twisted's reactor begins to have one of the other kind.
                count += one.family in (socket.AF_INET, socket.AF_INET6)
        except FileNotFoundError:
            continue
    return count


def run_git(directory: Path, *arguments: str, ca_file: Path | None = None) -> str:
    """
    Run the system's git in a directory, without any configuration of the user.

    :return: Its output and its error messages.
    """
    environment = {"PATH": os.defpath, "GIT_CONFIG_NOSYSTEM": "1"}
    environment["HOME"] = str(directory)
    if ca_file is not None:
        environment["GIT_SSL_CAINFO"] = str(ca_file)
    done = run("git", *arguments, cwd=directory, env=environment, check=True)
    return done.stdout + done.stderr


class CloneTestCase(TestCase):
    """Clones, and after each test looks for what a clone may have left behind."""

    timeout = 60

    def setUp(self) -> None:
        """Make a directory, and remember what is open before the test."""
        self.forge = shared_forge()
        self.base = fresh_directory(self)
        self.into = self.base / "tree"
        self.progress: list[int] = []
        self.pool = Pool(reactor, "clone-test", 4)
        self.pool.start()
        self.names: dict[str, list[str]] = {}
        expect_freed(self, Fetched)
        # A thread that looks a name up has one meanwhile, also for an earlier test.
        left, sockets = "a socket is left open", open_sockets()
        self.addCleanup(until, lambda: open_sockets() <= sockets, left, 20)
        self.addCleanup(self.pool.stop)

    def look_up(self, host: str) -> Deferred[Sequence[str]]:
        """Look a name up in ``names``, or in the system."""
        if host in self.names:
            return succeed(self.names[host])
        return SystemNames(reactor.callFromThread).look_up(host)

    def cloner(self, ca_file: Path | None = None, **limits: Any) -> Repositories:
        """Repositories within limits, through what trusts the forge, or ``ca_file``."""
        client = HttpClient(reactor, self.pool.call, self.look_up)
        client = client.trusting(ca_file or self.forge.ca_file)
        policy = AddressPolicy(public_only=False)
        clones, looks = (evolve(usual, **limits) for usual in (CLONES, LOOKS))
        return Repositories(client, reactor, self.pool.call, policy, clones, looks)

    def cloning(self, url: str, cloner: Repositories | None = None) -> Deferred[str]:
        """Begin to clone ``url`` into ``self.into``."""
        used = cloner or self.cloner()
        return Deferred.fromCoroutine(used.clone(url, self.into, self.progress.append))

    async def refusal(self, url: str, cloner: Repositories | None = None) -> str:
        """The message a clone of ``url`` is refused with, having left nothing."""
        return await self.refusal_of(self.cloning(url, cloner))

    async def refusal_of(self, cloning: Deferred[Any]) -> str:
        """The message a clone, or a look, is refused with, having left nothing."""
        error = await self.assertFailure(cloning, BridgeError)
        self.assertFalse(os.path.lexists(self.into))
        forget_traceback(error)
        message = str(error.message)
        self.assertLessEqual(len(message), 300)
        self.assertNotIn("127.0.0.1", message)
        return message

    def publish(self, *made: Object) -> str:
        """The URL of a repository whose branch is the last of these objects."""
        name = f"made-{os.urandom(6).hex()}"
        make_repository(self.forge.root, name, made)
        return self.forge.url(name)

    def rogue(self, script: Script) -> RogueServer:
        server = RogueServer(script, self.base / "rogue.pem")
        self.addCleanup(server.stop)
        return server
