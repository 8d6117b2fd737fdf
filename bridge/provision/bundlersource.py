"""
Sources of the bundler for ``plugin-bridge setup``.

Only the bytes that ``bridge.plugins.esbuild.pins`` names are installed, from wherever.
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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ..datadir.paths import DataDir, write_atomically
from ..plugins.esbuild.executable import BundlerError, read_checksum
from ..plugins.esbuild.pins import BINARY_NAME, CHECKSUM_NAME, VERSION, Pin
from ..plugins.tree.files import TooLargeError, read_bounded, read_own
from ..protocol.limits import BUNDLER_BYTES, NPM_SECONDS
from .hostsources import SetupError

SHIPPED: Final = (
    Path("/usr/lib/plugin-bridge/bundler") / BINARY_NAME,
    Path(__file__).parent.parent / "bundler" / BINARY_NAME,
)
"""Where a package of ours may have put the bundler."""

_GZIP: Final = b"\x1f\x8b"

# What npm needs to find itself, its configuration and a way out.
_NPM_VARIABLES: Final = re.compile(
    r"(npm_config_.*|path|pathext|home|userprofile|(local)?appdata|systemroot|comspec|"
    r"tmpdir|te?mp|lang|xdg_(config|cache)_home|(https?_|no_)?proxy|"
    r"node_extra_ca_certs|ssl_cert_(file|dir))",
    re.IGNORECASE,
)


def read_bundler(given: Path, pin: Pin) -> bytes:
    """
    Read the bundler from a file.

    :param given: The binary, or the npm package as ``npm pack`` makes it.
    :raise SetupError: It is not the pinned bundler.
    """
    try:
        content = read_bounded(given.resolve(), BUNDLER_BYTES)
    except TooLargeError:
        raise _other(pin) from None
    except OSError as e:
        raise SetupError(f"the bundler cannot be read: {e.strerror}") from None
    if content.startswith(_GZIP):
        digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
        if digest != pin.tarball:
            raise _other(pin)
        content = _member(content, pin.member)
    if hashlib.sha256(content).hexdigest() != pin.binary:
        raise _other(pin)
    return content


def _other(pin: Pin) -> SetupError:
    return SetupError(
        f"the file does not have the digest of esbuild {VERSION} for {pin.platform}; "
        "it was not installed"
    )


def _member(package: bytes, name: str) -> bytes:
    """Return a file of a package whose digest was checked, so that it exists."""
    with tarfile.open(fileobj=io.BytesIO(package), mode="r:gz") as tar:
        file = tar.extractfile(name)
        return file.read() if file else b""


def find_bundler(
    pin: Pin, environ: Mapping[str, str], shipped: Sequence[Path] = SHIPPED
) -> bytes:
    """
    Find the bundler: where our package put it, or through the user's npm.

    :raise SetupError: It was not found; the message shows the command to run.
    """
    for path in shipped:
        if path.exists():
            return read_bundler(path, pin)
    npm = shutil.which("npm", path=environ.get("PATH"))
    if npm is None:
        raise _help(pin, "there is no bundler, and no npm to download it")
    with TemporaryDirectory(prefix="plugin-bridge-") as directory:
        _pack(npm, pin, Path(directory), dict(_for_npm(environ)))
        packed = sorted(Path(directory).glob("*.tgz"))
        if not packed:
            raise _help(pin, "npm downloaded nothing")
        return read_bundler(packed[0], pin)


def _pack(npm: str, pin: Pin, directory: Path, environ: dict[str, str]) -> None:
    command = [npm, "pack", "--silent", "--ignore-scripts", pin.package]
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
        raise _help(pin, f"npm took longer than {NPM_SECONDS:g} s") from None
    except OSError as e:
        raise _help(pin, f"npm could not be run: {e.strerror}") from None
    if done.returncode:
        raise _help(pin, "npm could not download the bundler")


def _for_npm(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in environ.items():
        if _NPM_VARIABLES.fullmatch(name):
            yield name, value


def _help(pin: Pin, why: str) -> SetupError:
    name = f"esbuild-{pin.platform}-{VERSION}.tgz"
    return SetupError(
        f"{why}; run this where npm works: npm pack {pin.package} && "
        f"plugin-bridge setup --bundler {name}"
    )


def installed_bundler(data: DataDir, pin: Pin) -> bool:
    """Whether the pinned bundler and its checksum file are in place."""
    executable = os.access(data.bin / BINARY_NAME, os.X_OK)
    return executable and _runnable(data) == pin.binary


def would_run(data: DataDir) -> bool:
    """Whether the bundler matches its checksum file, so that the daemon runs it."""
    return _runnable(data) is not None


def _runnable(data: DataDir) -> str | None:
    """Return the bundler's digest if its checksum file has the same one."""
    try:
        named = read_checksum(data.bin)
        binary = read_own(data.bin / BINARY_NAME, BUNDLER_BYTES)
    except (OSError, BundlerError):
        return None
    digest = hashlib.sha256(binary).hexdigest()
    return digest if digest == named else None


def install_bundler(content: bytes, data: DataDir, pin: Pin) -> None:
    """
    Put the bundler and its checksum file in place.

    :raise OSError: It could not be done.
    """
    data.bin.mkdir(mode=0o700, exist_ok=True)
    write_atomically(data.bin / BINARY_NAME, content, 0o755)
    # Whatever the umask: it is as public as it is.
    (data.bin / BINARY_NAME).chmod(0o755)
    write_atomically(data.bin / CHECKSUM_NAME, pin.binary.encode() + b"\n", 0o644)
