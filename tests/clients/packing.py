"""Building the TypeScript client, as its authors and its users do."""

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from .. import programs
from ..npm import (
    ROOT,
    STRICT,
    TYPESCRIPT,
    esbuild,
    extract,
    node,
    npm,
    npm_package,
    pack_reports,
)

PACKAGE: Final = ROOT / "clients" / "typescript"
SOURCE: Final = ROOT / "bridge" / "reference" / "packages" / "client" / "src"
NODE_TYPES: Final = "@types/node@20.19.25"
RUN_SECONDS: Final = 120.0

# What the package's own scripts need: its sources, and what they extend.
_NEEDED: Final = ("clients/typescript", "bridge/reference")
_IGNORED: Final = shutil.ignore_patterns("node_modules", "dist", "build")


def run(
    *command: str | Path, cwd: Path, path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """
    Run a command to its end.

    :param path: A directory of programs that are found first.
    """
    found = f"{path}{os.pathsep}{os.environ['PATH']}" if path else os.environ["PATH"]
    env = {**os.environ, "PATH": found}
    return programs.run(*command, cwd=cwd, env=env, timeout=RUN_SECONDS)


def checkout(to: Path) -> Path:
    """Copy what the package is made of; return the package's directory."""
    for name in _NEEDED:
        shutil.copytree(ROOT / name, to / name, ignore=_IGNORED)
    shutil.copy(ROOT / "LICENSE", to)
    return to / "clients" / "typescript"


def tools(to: Path) -> Path:
    """Make a directory with the programs that ``npm install`` would have installed."""
    to.mkdir()
    (to / "esbuild").symlink_to(esbuild())
    (to / "tsc").symlink_to(npm_package(TYPESCRIPT) / "bin" / "tsc")
    npm_package(NODE_TYPES)
    return to


class Packed:
    """
    The package as ``npm pack`` makes it, installed for a program.

    :ivar home: A directory whose ``node_modules`` has it, and the types of Node.js.
    """

    def __init__(self) -> None:
        self._directory = TemporaryDirectory(prefix="bridge-client-")
        scratch = Path(self._directory.name)
        programs = tools(scratch / "bin")
        package = checkout(scratch / "checkout")
        done = run(npm(), "pack", "--json", "--silent", cwd=package, path=programs)
        assert done.returncode == 0, done.stdout + done.stderr
        self.warnings = done.stderr
        (self.report,) = pack_reports(done.stdout)
        self.home = scratch / "home"
        modules = self.home / "node_modules"
        archive = package / str(self.report["filename"])
        extract(archive, modules / "@plugin-bridge")
        (modules / "@plugin-bridge" / "package").rename(self.root)
        (modules / "@types").symlink_to(npm_package(NODE_TYPES).parent)
        (modules / "undici-types").symlink_to(
            npm_package(NODE_TYPES).parents[1] / "undici-types"
        )

    @property
    def root(self) -> Path:
        return self.home / "node_modules" / "@plugin-bridge" / "client"

    @property
    def files(self) -> set[str]:
        entries: list[dict[str, Any]] = self.report["files"]
        return {str(entry["path"]) for entry in entries}


@cache
def packed() -> Packed:
    """Return the package; it is packed once, and removed at the end."""
    return Packed()


def compiled(directory: Path) -> str:
    """Type-check the TypeScript files of a directory; return the errors."""
    options = {
        **STRICT,
        "lib": ["ES2022", "DOM"],
        "module": "nodenext",
        "exactOptionalPropertyTypes": True,
        "noUncheckedIndexedAccess": True,
    }
    project = directory / "tsconfig.json"
    project.write_text(json.dumps({"compilerOptions": options}), "utf-8")
    compiler = npm_package(TYPESCRIPT) / "bin" / "tsc"
    done = run(node(), compiler, "-p", project, cwd=directory)
    return done.stdout + done.stderr
