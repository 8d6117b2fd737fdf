"""What every test of a clone shares: a place to clone to, and nothing left in it."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.cloner import GitCloner
from bridge.plugins.clone.transfer import CloneLimits
from bridge.protocol.errors import BridgeError

from ...directories import fresh_directory
from ...forge import RogueServer, Script, shared_forge
from .packs import Object, make_repository


def open_sockets() -> int:
    """How many sockets this process has open."""
    count = 0
    for fd in os.listdir("/proc/self/fd"):
        try:
            count += os.readlink(f"/proc/self/fd/{fd}").startswith("socket:")
        except FileNotFoundError:
            continue
    return count


def run_git(directory: Path, *arguments: str, ca_file: Path | None = None) -> str:
    """
    Run the system's git in a directory, without any configuration of the user.

    :param ca_file: The authority to trust.
    :return: Its output and its error messages.
    """
    environment = {"PATH": os.defpath, "GIT_CONFIG_NOSYSTEM": "1"}
    environment["HOME"] = str(directory)
    if ca_file is not None:
        environment["GIT_SSL_CAINFO"] = str(ca_file)
    done = subprocess.run(
        ["git", *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout + done.stderr


class CloneTestCase(SynchronousTestCase):
    """Clones, and after each test looks for what a clone may have left behind."""

    def setUp(self) -> None:
        """Make a directory, and remember what is open before the test."""
        self.forge = shared_forge()
        self.base = fresh_directory(self)
        self.into = self.base / "tree"
        self.stop = threading.Event()
        self.progress: list[int] = []
        self.addCleanup(self.assert_nothing_open, open_sockets())

    def assert_nothing_open(self, sockets: int) -> None:
        """No thread and no socket of a clone is left."""
        names = [thread.name for thread in threading.enumerate()]
        self.assertEqual([n for n in names if n.startswith("clone-")], [])
        self.assertEqual(open_sockets(), sockets)

    def cloner(self, ca_file: Path | None = None, **limits: Any) -> GitCloner:
        """A cloner that trusts the forge, or ``ca_file``."""
        trusted = ca_file or self.forge.ca_file
        return GitCloner(trusted, False, time.monotonic, CloneLimits(**limits))

    def clone(self, url: str, cloner: GitCloner | None = None) -> str:
        """Clone ``url`` into ``self.into``."""
        used = cloner or self.cloner()
        return used.clone(url, self.into, self.progress.append, self.stop)

    def refusal(self, url: str, cloner: GitCloner | None = None) -> str:
        """The message a clone of ``url`` is refused with, having left nothing."""
        error = self.assertRaises(BridgeError, self.clone, url, cloner)
        self.assertFalse(os.path.lexists(self.into))
        message = str(error.message)
        self.assertLessEqual(len(message), 300)
        self.assertNotIn("127.0.0.1", message)
        return message

    def hostile(self, made: Sequence[Object], **limits: Any) -> str:
        """The message a repository of these objects is refused with."""
        name = f"hostile-{os.urandom(6).hex()}"
        make_repository(self.forge.root, name, made)
        return self.refusal(self.forge.url(name), self.cloner(**limits))

    def rogue(self, script: Script) -> RogueServer:
        """A server that follows ``script``."""
        server = RogueServer(script, self.base / "rogue.pem")
        self.addCleanup(server.stop)
        return server
