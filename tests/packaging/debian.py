"""The Debian package: built from this tree, and installed in a clean system."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ..npm import locked

ROOT = Path(__file__).parents[2]
SESSION = Path(__file__).with_name("session")
SUITE = "bookworm"
SYSTEMS = ROOT / ".cache" / "systems"
"""Archives of systems, each named after what it is made of; kept between runs."""

PROGRAMS = {
    "dpkg-buildpackage": "dpkg-dev",
    "dh": "debhelper",
    "dh_python3": "dh-python",
    "lintian": "lintian",
    "mmdebstrap": "mmdebstrap",
    "desktop-file-validate": "desktop-file-utils",
    "appstreamcli": "appstream",
    "man": "man-db",
}
MORE_PACKAGES = ("python3-pip", "python3-setuptools", "python3-wheel")


def need_programs() -> None:
    """Fail with the command that installs what is missing."""
    missing = [PROGRAMS[name] for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        packages = " ".join((*missing, *MORE_PACKAGES))
        raise AssertionError(f"run: apt-get install --no-install-recommends {packages}")
    if os.geteuid() != 0:
        raise AssertionError("the package is tested in a root directory: run as root")


def ran(command: Sequence[str | Path], cwd: Path = ROOT) -> str:
    """Run a command; return its output, which is shown when it fails."""
    done = subprocess.run(
        command,
        cwd=cwd,
        # What is built and installed must not find this tree by it.
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command[0]}:\n{done.stdout[-8000:]}"
    return done.stdout


def copy_of_the_tree(to: Path) -> Path:
    """Copy what git would commit, so that building leaves nothing here."""
    names = ran(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    return to


def build(scratch: Path) -> Path:
    """Build the package; gives the ``.deb``."""
    need_programs()
    tree = copy_of_the_tree(scratch / "plugin-bridge")
    ran([tree / "debian" / "vendor", sys.executable], tree)
    ran(["dpkg-buildpackage", "-us", "-uc", "-b"], tree)
    [package] = scratch.glob("*.deb")
    return package


def install(package: Path, root: Path) -> None:
    """Install the package into a clean system below ``root``."""
    root.mkdir()
    system = clean_system(ran(["dpkg-deb", "--field", package, "Depends"]).strip())
    # A container may make no devices; the session and what follows have the machine's.
    ran(["tar", "-xpf", system, "--numeric-owner", "--exclude=./dev/*", "-C", root])
    shutil.copy(package, root / "tmp")
    ran(["unshare", "--mount", "sh", "-euc", _INSTALL, package.name, root])


_INSTALL: Final = """\
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
export DEBIAN_FRONTEND=noninteractive
chroot "$1" dpkg --install "/tmp/$0"
"""


def clean_system(depends: str) -> Path:
    """
    Return the archive of a minimal system, made when there is none of just this.

    :param depends: The package's dependencies, as ``debian/control`` writes them.
    """
    satisfy = "apt-get satisfy --yes --quiet=2 --no-install-recommends"
    command = [
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        "--include=systemd,dbus-user-session",
        f'--customize-hook=chroot "$1" {satisfy} {shlex.quote(depends)}',
        SUITE,
    ]
    made_of = hashlib.sha256("\0".join(command).encode()).hexdigest()
    with locked(SYSTEMS):
        archive = SYSTEMS / f"{made_of[:16]}.tar"
        if not archive.exists():
            for old in SYSTEMS.glob("*.tar"):
                old.unlink()
            # Only a whole one has the name.
            unfinished = SYSTEMS / "unfinished.tar"
            ran([*command, unfinished])
            unfinished.replace(archive)
    return archive


class Session:
    """``systemd --user`` of an ordinary user of that system."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, line: str) -> tuple[int, str]:
        """Run a command line as that user; gives its exit status and output."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        reported: list[str] = []
        for text in self._process.stdout:
            if text.startswith("exit "):
                return int(text.split()[1]), "".join(reported)
            reported.append(text)
        raise AssertionError("the session ended:\n" + "".join(reported))

    def do(self, line: str) -> str:
        """Run a command line that must succeed; gives its output."""
        status, reported = self.ask(line)
        if status:
            journal = self.ask("systemctl --user status --lines=0 plugin-bridge")[1]
            raise AssertionError(f"{line}: status {status}\n{reported}\n{journal}")
        return reported


@contextmanager
def session(root: Path) -> Iterator[Session]:
    """Run it until the block ends."""
    process = subprocess.Popen(
        [SESSION, root],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    try:
        yield Session(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)
        assert process.stdout is not None
        process.stdout.close()
