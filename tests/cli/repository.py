"""Repositories of plugins' authors."""

import os
from pathlib import Path
from typing import Final

from ..programs import program, run

AUTHOR: Final = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"))
    },
}
"""The environment of somebody who has configured nothing."""


def git(root: Path, *arguments: str) -> str:
    """Run git in a directory as that author; gives what it prints."""
    env = {"PATH": os.environ["PATH"], **AUTHOR}
    done = run(program("git", "git"), *arguments, cwd=root, env=env, check=True)
    return done.stdout.strip()


def commit(root: Path) -> None:
    """Commit everything in a directory, made a repository if it is none."""
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "Change")


def clone(root: Path, target: Path) -> Path:
    """Clone what was committed, byte for byte as it was."""
    git(root, "clone", "--quiet", "--no-checkout", str(root), str(target))
    (target / ".git" / "info" / "attributes").write_text("* -text -filter\n")
    git(target, "checkout", "--quiet", "HEAD")
    return target
