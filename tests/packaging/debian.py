"""The Debian package: built and installed in clean systems, for each release."""

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from attrs import frozen

from ..npm import locked
from ..programs import program

ROOT = Path(__file__).parents[2]
SESSION = Path(__file__).with_name("session")
SYSTEMS = ROOT / ".cache" / "systems"
"""Archives of systems, each named after what it is made of; kept between runs."""
KEYRING: Final = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


@frozen
class Release:
    """
    A release of Debian that the package is for.

    :ivar suite: Its name among those that apt knows.
    :ivar python: The release of Python that is its own.
    """

    number: str
    suite: str
    python: str

    def __str__(self) -> str:
        return f"debian{self.number}"


RELEASES: Final = (Release("12", "bookworm", "3.11"), Release("13", "trixie", "3.13"))
"""Those that docs/support.md calls tested."""

PROGRAMS = {
    "lintian": "lintian",
    "mmdebstrap": "mmdebstrap",
    "desktop-file-validate": "desktop-file-utils",
    "appstreamcli": "appstream",
    "npm": "npm",
}


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


def build(release: Release, scratch: Path) -> Path:
    """Build the packages as users do; return the directory with them."""
    for name, needed in PROGRAMS.items():
        program(name, needed)
    assert os.geteuid() == 0, "the package is tested in a root directory: run as root"
    root = scratch / "root"
    extract(clean_system(release), root)
    satisfy = "apt-get satisfy --yes --quiet=2 --no-install-recommends"
    control = (ROOT / "debian" / "control").read_text("utf-8")
    found = re.search(r"^Build-Depends:((?:.|\n )*)$", control, re.MULTILINE)
    needed = shlex.quote(" ".join(found[1].split()) + ", dpkg-dev")
    inside(root, f"apt-get update --quiet=2 && {satisfy} {needed}")
    tree = copy_of_the_tree(root / "build" / "plugin-bridge")
    ran([tree / "debian" / "vendor", "--for", release.python, sys.executable], tree)
    # build-essential is missing, and nothing needs it: there is no C to compile.
    inside(root, "cd /build/plugin-bridge && dpkg-buildpackage -us -uc -b -d")
    built = scratch / "built"
    built.mkdir()
    for package in (root / "build").glob("*.deb"):
        shutil.move(package, built)
    shutil.rmtree(root)
    return built


def contents(package: Path) -> set[str]:
    """Return the paths of what a package installs."""
    listed = ran(["dpkg-deb", "--contents", package]).splitlines()
    return {line.split(maxsplit=5)[5].split(" -> ")[0][2:] for line in listed}


def field(package: Path, name: str) -> str:
    """Return a field of a package's control file."""
    return ran(["dpkg-deb", "--field", package, name]).strip()


def install(release: Release, package: Path, root: Path) -> None:
    """Install the package into a clean system below ``root``."""
    extract(clean_system(release), root)
    shutil.copy(package, root / "tmp")
    inside(root, f"dpkg --install /tmp/{package.name}")


def extract(system: Path, root: Path) -> None:
    """Make a root directory of an archive."""
    root.mkdir()
    # A container may make no devices; what runs there has the machine's.
    ran(["tar", "-xpf", system, "--numeric-owner", "--exclude=./dev/*", "-C", root])


def inside(root: Path, line: str) -> str:
    """Run a command line as root in a root directory; return its output."""
    return ran(["unshare", "--mount", "sh", "-euc", _INSIDE, line, root])


_INSIDE: Final = """\
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
chroot "$1" sh -euc "$0"
"""


def clean_system(release: Release) -> Path:
    """
    Return the archive of a system for the package, and for a user's session.

    Installing fails if it lacks anything that the package depends on.
    """
    names = ("ca-certificates", "dbus-user-session", "python3", "systemd")
    include = f"--include={','.join(names)}"
    command = ["mmdebstrap", "--quiet", "--variant=minbase", include, release.suite]
    made_of = hashlib.sha256("\0".join(command).encode()).hexdigest()
    archive = SYSTEMS / release.suite / f"{made_of[:16]}.tar"
    with locked(archive.parent):
        if not archive.exists():
            for old in archive.parent.glob("*.tar"):
                old.unlink()
            # Only a whole one has the name.
            unfinished = archive.parent / "unfinished.tar"
            ran([*command, unfinished, *mirrors(release)])
            unfinished.replace(archive)
    return archive


def mirrors(release: Release) -> list[str]:
    """
    Return apt's sources of a release, on the mirrors that this system uses.

    None, when this is not Debian: then mmdebstrap uses its own.
    """
    own = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    asked = "$(ORIGIN) $(REPO_URI) $(RELEASE)"
    listed = ran(["apt-get", "indextargets", "--format", asked, "Identifier: Packages"])
    found = (line.split() for line in listed.splitlines())
    signed = f"[signed-by={KEYRING}] " if KEYRING.exists() else ""
    return sorted(
        {
            f"deb {signed}{words[1]} {words[2].replace(own, release.suite)} main"
            for words in found
            if len(words) == 3 and words[0] == "Debian" and own and own in words[2]
        }
    )


class Session:
    """``systemd --user`` of an ordinary user of that system."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, line: str) -> tuple[int, str]:
        """Run a command line as that user; return its exit status and output."""
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        reported: list[str] = []
        for text in self._process.stdout:
            if text.startswith("exit "):
                return int(text.split()[1]), "".join(reported)
            reported.append(text)
        raise AssertionError("the session ended:\n" + "".join(reported))

    def do(self, line: str) -> str:
        """Run a command line that must succeed; return its output."""
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
        process.stdin.close()
        process.wait(60)
        process.stdout.close()
