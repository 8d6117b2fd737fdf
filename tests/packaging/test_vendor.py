"""Tests for ``debian/vendor``: what it reports before it downloads anything."""

from pathlib import Path

from ..programs import run
from .debian import ROOT


def refused(*arguments: str, status: int, variables: dict[str, str]) -> str:
    """Run it where it must not start; return what it prints to standard error."""
    done = run("/bin/bash", ROOT / "debian" / "vendor", *arguments, env=variables)
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    return done.stderr


def test_everything_that_is_missing(tmp_path: Path) -> None:
    """It names all of it at once, each with the command that installs it."""
    for name in ("dirname", "grep"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}")
    reported = refused(
        "--for", "2.7", "no/python", status=1, variables={"PATH": str(tmp_path)}
    )
    assert reported.splitlines() == [
        "debian/vendor needs:",
        "  no/python, Python 3.11 or newer: make docs",
        "  a release of Python, 3.11 or newer: name it with --for",
        "  npm: apt-get install npm",
        "  sha256sum: apt-get install coreutils",
    ]


def test_missing_modules(tmp_path: Path) -> None:
    """A Python without the project and its extra is not enough."""
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\ncase "$2" in "import sys"*) ;; *) exit 1;; esac\n')
    python.chmod(0o755)
    reported = refused("--for", "3.13", str(python), status=1, variables=_PATH)
    for module in ("pip", "sphinx", "myst_parser", "furo", "klein"):
        assert f"  {module} in {python}: make docs\n" in reported


def test_usage() -> None:
    """Too few or too many arguments are wrong usage."""
    for arguments in (("--for",), ("a", "b")):
        reported = refused(*arguments, status=2, variables=_PATH)
        assert reported == "usage: debian/vendor [--for RELEASE] [PYTHON]\n"


_PATH = {"PATH": "/usr/bin:/bin"}
