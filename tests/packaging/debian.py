"""The Debian package: built from this tree, and installed in a clean system."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
SESSION = Path(__file__).with_name("session")
SUITE = "bookworm"

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
    """Run a command; gives its output, which is told when it fails."""
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
    inside = f"/tmp/{package.name}"  # noqa: S108 (in the new system)
    apt = "apt-get install --yes --quiet=2 --no-install-recommends"
    ran(
        [
            "mmdebstrap",
            "--quiet",
            "--variant=minbase",
            "--include=systemd,dbus-user-session",
            f"--customize-hook=copy-in {package} /tmp",
            f'--customize-hook=chroot "$1" {apt} {inside}',
            SUITE,
            root,
        ]
    )


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
        said: list[str] = []
        for text in self._process.stdout:
            if text.startswith("exit "):
                return int(text.split()[1]), "".join(said)
            said.append(text)
        raise AssertionError("the session ended:\n" + "".join(said))

    def do(self, line: str) -> str:
        """Run a command line that must succeed; gives its output."""
        status, said = self.ask(line)
        if status:
            journal = self.ask("systemctl --user status --lines=0 plugin-bridge")[1]
            raise AssertionError(f"{line}: status {status}\n{said}\n{journal}")
        return said


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
