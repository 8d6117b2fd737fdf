"""Commits made by hand, so that their shape and their times can be anything."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bridge.plugins.clone.objects.pack import PackedObject, Unpacked

from .packs import Object, tree

EMPTY = tree()
START = 1_700_000_000


def made_commit(
    message: bytes, *parents: Object, at: int | bytes = START, root: Object = EMPTY
) -> Object:
    """A commit; ``at`` is its committer's time, which may be nonsense."""
    when = at if isinstance(at, bytes) else b"%d" % at
    lines = [b"tree " + root.name.hex().encode("ascii")]
    lines += [b"parent " + parent.name.hex().encode("ascii") for parent in parents]
    lines += [b"author A <a@example.invalid> 1 +0000"]
    lines += [b"committer B <b@example.invalid> " + when + b" +0000", b"", message]
    return Object("commit", b"\n".join(lines))


def line_of(
    length: int, *, start: Object | None = None, name: str = ""
) -> list[Object]:
    """Commits one after another, a minute apart; the first is the oldest."""
    made: list[Object] = []
    for number in range(length):
        parents = made[-1:] or ([start] if start is not None else [])
        message = f"{name}{number}".encode("ascii")
        made.append(made_commit(message, *parents, at=START + 60 * number))
    return made


def unpacked_of(objects: Sequence[Object]) -> Unpacked:
    """What unpacking a pack of these gives."""
    found = {one.name: PackedObject(one.kind, one.content) for one in objects}
    return Unpacked(found, [], b"")


def git(repository: Path, *arguments: str) -> list[str]:
    """The lines git prints."""
    done = subprocess.run(
        ["git", f"--git-dir={repository}", *arguments],
        check=True,
        capture_output=True,
        text=True,
        env={
            "PATH": os.defpath,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        },
    )
    return done.stdout.split()
