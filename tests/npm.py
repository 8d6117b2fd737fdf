"""Packages from npm that only tests need, fetched once into the checkout's cache."""

import fcntl
import json
import platform
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bridge.provision.setup import LIBRARY, library_files

from .directories import write_files
from .programs import program, run

ROOT: Final = Path(__file__).resolve().parent.parent
CACHE: Final = ROOT / ".cache" / "npm"
INSTALL_SECONDS: Final = 300.0
RUN_SECONDS: Final = 60.0

TYPESCRIPT: Final = "typescript@5.9.3"
STRICT: Final = {"target": "ES2022", "strict": True, "types": [], "noEmit": True}
"""Options of a compiler that only checks, and knows no types but the program's."""

ESBUILD_VERSION: Final = "0.28.2"
_ESBUILD_PLATFORMS: Final = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}


def npm_package(spec: str) -> Path:
    """
    The directory of an npm package, installed when it is absent.

    :param spec: Name and exact version, such as ``typescript@5.9.3``.
    :raise AssertionError: npm is missing, or could not install it.
    """
    name, _, version = spec.rpartition("@")
    package = CACHE / "node_modules" / name
    # npm may be killed half-way, so what is on disk proves nothing without this.
    done = CACHE / f"{name.replace('/', '+')}.installed"
    with locked(CACHE):
        if not (done.exists() and done.read_text("utf-8") == version):
            _install(spec)
            done.write_text(version, "utf-8")
    return package


def pack_reports(printed: str) -> list[dict[str, Any]]:
    """
    Return what ``npm pack --json`` reports of each package.

    A list, after what the package's own scripts print; from npm 12 on an object.
    """
    start = re.search(r"(?m)^[\[{]", printed)
    assert start is not None, printed
    reports = json.loads(printed[start.start() :])
    return list(reports.values()) if isinstance(reports, dict) else reports


def node() -> str:
    """The path of Node.js; an ``AssertionError`` has the fix."""
    return program("node", "nodejs")


def run_node(*arguments: str | Path) -> str:
    """
    Run Node.js; return what it prints.

    :raise CalledProcessError: It failed.
    """
    return run(node(), *arguments, check=True, timeout=RUN_SECONDS).stdout


def npm() -> str:
    """The path of npm; an ``AssertionError`` has the fix."""
    return program("npm", "npm")


def esbuild() -> Path:
    """The bundler's binary for this machine, in the version the daemon pins."""
    suffix = _ESBUILD_PLATFORMS.get(platform.machine())
    assert suffix is not None, "the tests know no bundler for this machine"
    return npm_package(f"@esbuild/{suffix}@{ESBUILD_VERSION}") / "bin" / "esbuild"


def packed(spec: str) -> Path:
    """
    The file that ``npm pack`` makes of a package, made when it is absent.

    :param spec: Name and exact version.
    """
    made = CACHE / f"{spec.replace('/', '+')}.tgz"
    with locked(CACHE):
        if not made.exists():
            command = (npm(), "pack", "--silent", "--ignore-scripts", spec)
            done = run(*command, cwd=CACHE, timeout=INSTALL_SECONDS)
            assert done.returncode == 0, f"npm could not pack {spec}:\n{done.stderr}"
            (CACHE / done.stdout.strip()).rename(made)
    return made


def library() -> Path:
    """The npm package of the reference page's library."""
    return packed(LIBRARY.spec)


def modules() -> Path:
    """A ``node_modules`` that has the library and its types."""
    top = CACHE / "library"
    with locked(top):
        write_files(top, library_files(library().read_bytes()))
    return top / "node_modules"


def setup_options() -> list[str]:
    """What ``plugin-bridge setup`` needs so that it downloads nothing."""
    return [f"--bundler={esbuild()}", f"--library={library()}"]


def tsc(project: Path) -> subprocess.CompletedProcess[str]:
    """Type-check the TypeScript project in the file ``project``."""
    compiler = npm_package(TYPESCRIPT) / "bin" / "tsc"
    options = ("--noEmit", "-p", project)
    return run(node(), compiler, *options, timeout=INSTALL_SECONDS)


def extract(archive: Path, directory: Path, *unused: str) -> None:
    """
    Unpack an archive of npm, which is pinned or was made here.

    :param unused: Patterns of files to leave out.
    """
    directory.mkdir(parents=True)
    options = ("--no-same-owner", *(f"--exclude={one}" for one in unused))
    run("tar", *options, "-xzf", archive, "-C", directory, check=True)


@contextmanager
def locked(cache: Path) -> Iterator[None]:
    """Keep other processes out of a directory, which is made if it is absent."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(spec: str) -> None:
    own = CACHE / "package.json"
    if not own.exists():
        # Without one npm would use the next further up.
        own.write_text('{"private": true}\n', "utf-8")
    flags = ["--save-exact", "--no-audit", "--no-fund", "--ignore-scripts"]
    command = (npm(), "install", *flags, "--prefix", str(CACHE), spec)
    done = run(*command, timeout=INSTALL_SECONDS)
    assert done.returncode == 0, f"npm could not install {spec}:\n{done.stderr}"
