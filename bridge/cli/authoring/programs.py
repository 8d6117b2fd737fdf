"""
How programs are run on a tree that a stranger may have made: git, and a compiler.

None of the tree's own is run: that would be to run the plugin.  Nor is what git's
configuration names as a program (filters, hooks, a monitor of files, a transport for
lost objects), except where the author changes the repository.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Final

from ...protocol.limits import GIT_SECONDS
from ...protocol.text import shown
from ..terminal import CommandError

_ELSEWHERE: Final = (
    *("GIT_CONFIG", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"),
)
_COUNT: Final = "GIT_CONFIG_COUNT"
# Not GIT_CONFIG_PARAMETERS, which git reads last.
_OF_AUTHOR: Final = (
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
    *(_COUNT, "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"),
)

_NOTHING_RUN: Final = {"core.fsmonitor": "false", "core.hooksPath": os.devnull}


def search_path(root: Path) -> str:
    """
    Return where programs may be looked for.

    :param root: The author's directory.
    """
    folders = os.environ.get("PATH", "").split(os.pathsep)
    return os.pathsep.join(
        folder
        for folder in folders
        if os.path.isabs(folder) and not _is_inside(folder, root)
    )


def find_program(name: str, root: Path) -> str | None:
    """Return the path of a program on ``PATH``, outside the author's directory."""
    path = shutil.which(name, path=search_path(root))
    return None if path is None or _is_inside(path, root) else path


def _is_inside(path: str, root: Path) -> bool:
    try:
        return Path(path).resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):
        return True  # a loop of links leads nowhere


def run(
    name: str,
    command: Sequence[str],
    folder: Path,
    environ: Mapping[str, str],
    seconds: float | None,
    given: bytes = b"",
) -> subprocess.CompletedProcess[bytes]:
    """
    Run a program, whatever it ends with.

    :param name: Its name in a message.
    :param folder: Where it runs.
    :param given: Its standard input.
    :raise CommandError: It cannot be run, or takes longer.
    """
    try:
        return subprocess.run(  # noqa: S603 - no shell; found outside the tree
            command,
            cwd=folder,
            env=environ,
            input=given,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CommandError(f"{name} took over {seconds:g} s") from None
    except OSError as e:
        raise CommandError(f"{name} cannot be run: {e.strerror}") from None


def git(
    root: Path, *arguments: str, given: bytes = b"", as_author: bool = False
) -> bytes:
    """
    Run git on a work tree; nothing that its configuration names is run.

    :param as_author: Whether to use the author's configuration and hooks, as a change
        of the repository does.
    :raise CommandError: git is missing, or refused.
    """
    if as_author:  # who may be asked, and whose hooks may take long
        environ = {k: text for k, text in os.environ.items() if k not in _ELSEWHERE}
        return _git(root, arguments, environ, None, given)
    return _git(root, arguments, _harmless_environ(root), GIT_SECONDS, given)


def typed_git(root: Path) -> str:
    """Return how git is called for a work tree in a command that the author types."""
    return f"git -C {quote(str(root))}"


def _harmless_environ(root: Path) -> dict[str, str]:
    """
    Return an environment in which git runs nothing of a tree that others have made.

    What the author has configured for every work tree holds: what to ignore, how lines
    end, whom to trust.
    """
    environ = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(_OF_AUTHOR)
    }
    environ["PATH"] = search_path(root)
    # No repository above the tree is taken for it.
    environ["GIT_CEILING_DIRECTORIES"] = str(root.resolve().parent)
    listing = ("config", "--list", "--name-only", "-z")
    names = os.fsdecode(_git(root, listing, environ, GIT_SECONDS)).split("\0")
    filters = [name for name in names if name.startswith("filter.")]
    environ |= {
        # The tree's configuration may name a program to fetch lost objects by.
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        # Else git may look into others, by core.worktree.
        "GIT_WORK_TREE": str(root.resolve()),
    }
    # In variables, whatever is in the names of options; the later ones win.  git has
    # counted by now, and refused what is no number.
    first = int(environ.get(_COUNT) or 0)
    options = {**_NOTHING_RUN, **dict.fromkeys(filters, "")}
    environ[_COUNT] = str(first + len(options))
    for number, (name, text) in enumerate(options.items(), first):
        environ[f"GIT_CONFIG_KEY_{number}"] = name
        environ[f"GIT_CONFIG_VALUE_{number}"] = text
    return environ


def _git(
    root: Path,
    arguments: Sequence[str],
    environ: Mapping[str, str],
    seconds: float | None,
    given: bytes = b"",
) -> bytes:
    program = find_program("git", root)
    if program is None:
        raise CommandError("git is needed for a git work tree")
    name, environ = f"git {arguments[0]}", {**environ, "LC_ALL": "C"}
    done = run(name, [program, *arguments], root.resolve(), environ, seconds, given)
    if done.returncode:
        reported = (done.stderr.strip() or done.stdout.strip()).partition(b"\n")[0]
        # A hook may refuse without a word.
        why = printed(reported) or f"exit status {done.returncode}"
        raise CommandError(f"{name} failed: {why}")
    return done.stdout


def printed(text: bytes) -> str:
    """Return what git says, or the name of a file, as a message may repeat it."""
    return shown(text.decode("utf-8", "replace"))
