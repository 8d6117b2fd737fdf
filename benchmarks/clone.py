"""
The cost of a careful clone: ours against ``git clone --depth 1``.

Both fetch 200 files, 4 MB, over TLS from the same
git server on this machine, in turn.
"""

import os
import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from twisted.internet.threads import deferToThread

from bridge.http.client import HttpClient
from bridge.http.target import AddressPolicy
from bridge.plugins.clone.repositories import Repositories
from tests.forge import start_forge_process

from .table import Row

ROUNDS = 5
FILES = 200
FILE_BYTES = 20_000


def by_git(url: str, ca_file: Path, into: Path) -> None:
    """Clone with the system's git, reading nothing of the user's."""
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_SSL_CAINFO": str(ca_file),
    }
    subprocess.run(
        ["git", "clone", "--quiet", "--depth=1", url, str(into)],
        env=environment,
        check=True,
    )


def make_cloner(reactor: Any, ca_file: Path) -> Repositories:
    """Make ours."""
    client = HttpClient(reactor, deferToThread).trusting(ca_file)
    policy = AddressPolicy(public_only=False)
    return Repositories(client, reactor, deferToThread, policy)


async def rows(reactor: Any) -> list[Row]:
    """Clone by ours and by git, in turns; return the best of both."""
    forge = start_forge_process()
    cloner = make_cloner(reactor, forge.ca_file)
    ours, theirs = [], []
    try:
        with tempfile.TemporaryDirectory() as directory:
            here = Path(directory)
            source = here / "source"
            source.mkdir()
            noise = random.Random(1)  # noqa: S311 (incompressible, and repeatable)
            for index in range(FILES):
                (source / f"file{index}").write_bytes(noise.randbytes(FILE_BYTES))
            forge.publish(source, "sample")
            url = forge.url("sample")
            for _ in range(ROUNDS):
                into = here / "cloned"
                begun = time.perf_counter()
                by_git(url, forge.ca_file, into)
                theirs.append(time.perf_counter() - begun)
                shutil.rmtree(into)
                begun = time.perf_counter()
                await cloner.clone(url, into, lambda _: None)
                ours.append(time.perf_counter() - begun)
                shutil.rmtree(into)
    finally:
        forge.stop()
    return [Row("clone, 4 MB", min(ours), "s", 1.1, min(theirs), "git")]
