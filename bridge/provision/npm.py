"""
Packages of npm, downloaded by the user's own npm and verified by a pinned digest.

What was downloaded counts for nothing until its SHA-512 is the one in our code, so it
does not matter which registry or cache it came from.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ..plugins.tree.files import TooLargeError, read_bounded
from ..protocol.limits import BUNDLER_BYTES, NPM_SECONDS

# What npm needs to find itself, its configuration and a way out.
_VARIABLES: Final = re.compile(
    r"(npm_config_.*|path|pathext|home|userprofile|(local)?appdata|systemroot|comspec|"
    r"tmpdir|te?mp|lang|xdg_(config|cache)_home|(https?_|no_)?proxy|"
    r"node_extra_ca_certs|ssl_cert_(file|dir))",
    re.IGNORECASE,
)


class SetupError(Exception):
    """Why a part of setup failed; one line for the user."""


def integrity(content: bytes) -> str:
    """Return the digest that npm names a package by: SHA-512, base64."""
    return base64.b64encode(hashlib.sha512(content).digest()).decode()


def pack(package: str, environ: Mapping[str, str]) -> bytes:
    """
    Download a package.

    :param package: Its name and exact version.
    :param environ: What npm may be configured by; only that is handed on.
    :return: The package as ``npm pack`` writes it, not verified.
    :raise SetupError: Why it could not be downloaded, without advice.
    """
    npm = shutil.which("npm", path=environ.get("PATH"))
    if npm is None:
        raise SetupError("there is no npm to download it")
    with TemporaryDirectory(prefix="plugin-bridge-") as directory:
        _run(npm, package, Path(directory), dict(_for_npm(environ)))
        packed = sorted(Path(directory).glob("*.tgz"))
        if not packed:
            raise SetupError("npm downloaded nothing")
        try:
            return read_bounded(packed[0], BUNDLER_BYTES)
        except TooLargeError:
            raise SetupError("npm downloaded a package that is too large") from None


def _run(npm: str, package: str, directory: Path, environ: dict[str, str]) -> None:
    command = [npm, "pack", "--silent", "--ignore-scripts", package]
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and the words are ours
            command,
            cwd=directory,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=NPM_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SetupError(f"npm took longer than {NPM_SECONDS:g} s") from None
    except OSError as e:
        raise SetupError(f"npm could not be run: {e.strerror}") from None
    if done.returncode:
        raise SetupError("npm could not download it")


def _for_npm(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in environ.items():
        if _VARIABLES.fullmatch(name):
            yield name, value
