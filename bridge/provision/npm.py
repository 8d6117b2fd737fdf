"""
Packages of npm, downloaded by the user's own npm and verified by a pinned digest.

What was downloaded counts for nothing until its SHA-512 is the one in our code, so it
does not matter which registry or cache it came from.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Final

from ..classes import frozen
from ..protocol.errors import UserError
from ..protocol.limits import BUNDLER_BYTES, NPM_SECONDS
from ..system.files import TooLargeError, is_own, read_bounded

_PREFIX: Final = "plugin-bridge-npm-"

# What npm needs to find itself, its configuration and a way out.
_VARIABLES: Final = re.compile(
    r"(npm_config_.*|path|pathext|home|userprofile|(local)?appdata|systemroot|comspec|"
    r"tmpdir|te?mp|lang|xdg_(config|cache)_home|(https?_|no_)?proxy|"
    r"node_extra_ca_certs|ssl_cert_(file|dir))",
    re.IGNORECASE,
)

# Such as "npm error code E404", before version 10 "npm ERR! code E404".
_ERROR_CODE: Final = re.compile(rb"^npm \S+ code ([A-Z0-9_]{1,40})\b", re.MULTILINE)


class SetupError(UserError):
    """Why a part of setup failed; one line for the user."""


@frozen
class NpmPackage:
    """
    A package in one version.

    :ivar name: As npm's registry has it, such as ``@esbuild/linux-x64``.
    :ivar integrity: Its digest, as npm publishes it: SHA-512, base64.
    :ivar part: What setup installs of it, such as ``bundler``; its option takes that.
    """

    name: str
    version: str
    integrity: str
    part: str

    @property
    def spec(self) -> str:
        """Name and version, as npm's command line takes them."""
        return f"{self.name}@{self.version}"

    @property
    def file(self) -> str:
        """The name that ``npm pack`` gives it."""
        return f"{self.name.lstrip('@').replace('/', '-')}-{self.version}.tgz"

    def read(self, given: Path) -> bytes:
        """
        Read a file that setup installs from, not verified.

        :raise SetupError: It can't be read, or is too large.
        """
        try:
            return read_bounded(given.resolve(), BUNDLER_BYTES)
        except TooLargeError:
            raise self.other() from None
        except OSError as e:
            raise SetupError(f"the {self.part} cannot be read: {e.strerror}") from None

    def verified(self, content: bytes) -> bytes:
        """
        Return the package, if it is that.

        :raise SetupError: It is not.
        """
        digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
        if digest != self.integrity:
            raise self.other()
        return content

    def other(self) -> SetupError:
        """Return the refusal of a file that is something else."""
        return SetupError(
            f"the file does not have the digest of {self.spec}; it was not installed"
        )

    def download(self) -> bytes:
        """
        Download the package, and verify it.

        :raise SetupError: Why it could not be had, and what to do.
        """
        try:
            packed = _pack(self.spec)
        except SetupError as e:
            raise SetupError(
                f"there is no {self.part}, and {e}; where npm works, run npm pack "
                f"{self.spec}, and here plugin-bridge setup --{self.part} {self.file}"
            ) from None
        return self.verified(packed)


def unpacked(package: bytes) -> Iterator[tuple[str, bytes]]:
    """
    Read the files of a package.

    :param package: Verified.
    :return: Paths, which start with ``package/``, and contents.
    """
    with tarfile.open(fileobj=io.BytesIO(package), mode="r:gz") as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isreg() else None
            if content is not None:
                yield member.name, content.read()


def _pack(spec: str) -> bytes:
    npm = shutil.which("npm")
    if npm is None:
        raise SetupError("there is no npm to download it: install npm, and try again")
    _remove_left()
    with TemporaryDirectory(prefix=_PREFIX) as directory:
        # Else npm would leave a cache in the home of somebody who may never use it, and
        # since version 12 its own compiled code in the directory for temporary files;
        # and without a network it would try again for more than a minute.  A limit on
        # that would be an error of npm where the user's own minimum is above it.
        usual = {
            "npm_config_cache": os.path.join(directory, "cache"),
            "npm_config_fetch_retry_mintimeout": "1000",
            "npm_config_fetch_retry_factor": "5",
            "NODE_DISABLE_COMPILE_CACHE": "1",
        }
        theirs = {n: v for n, v in os.environ.items() if _VARIABLES.fullmatch(n)}
        _run(npm, spec, Path(directory), usual | theirs)
        packed = sorted(Path(directory).glob("*.tgz"))
        if not packed:
            raise SetupError("npm downloaded nothing")
        try:
            return read_bounded(packed[0], BUNDLER_BYTES)
        except TooLargeError:
            raise SetupError("npm downloaded a package that is too large") from None


def _remove_left() -> None:
    """Remove what a setup that was killed has left; no npm takes so long."""
    latest = time.time() - NPM_SECONDS
    for left in Path(gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            found = left.lstat()
            if is_own(found) and found.st_mtime < latest:
                shutil.rmtree(left)


def _run(npm: str, spec: str, directory: Path, environ: dict[str, str]) -> None:
    # Whatever npm is configured to do, the package is written here.
    here = ("--pack-destination=.", "--dry-run=false")
    command = [npm, "pack", "--loglevel=error", "--ignore-scripts", *here, spec]
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and the words are ours
            command,
            cwd=directory,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=NPM_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SetupError(f"npm took longer than {NPM_SECONDS:g} s") from None
    except OSError as e:
        raise SetupError(f"npm could not be run: {e.strerror}") from None
    if done.returncode:
        code = _ERROR_CODE.search(done.stderr)
        why = f" ({code[1].decode()})" if code else ""
        raise SetupError(f"npm could not download it{why}")
