"""Fetch the pinned packages once, and read the sources the corpus uses."""

import hashlib
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from attrs import frozen

from bridge.plugins.policy.reading import LOADERS
from bridge.plugins.tree.tree import is_test_name
from bridge.protocol.limits import SOURCE_BYTES

from ..npm import INSTALL_SECONDS, ROOT, extract, locked, npm, pack_reports
from ..programs import run

CACHE: Final = ROOT / ".cache" / "corpus"
_UNUSED: Final = ("*.map", "*.json", "*.flow", "*.css", "*.md")
_DECLARATIONS: Final = re.compile(r"\.d\.[cm]?ts$")
ALL_OF_SRC: Final = ("src/**/*",)
_DECLARED: Final = "declarations"


@frozen
class Package:
    """
    One package in one version.

    :ivar digest: The SHA-256 of the sources that are used; see ``digest``.
    :ivar patterns: Which of its files are used, as glob patterns.
    :ivar has_declarations: Whether declarations (``.d.ts``) are used, too.
    """

    name: str
    version: str
    digest: str
    patterns: tuple[str, ...] = ALL_OF_SRC
    has_declarations: bool = False

    @property
    def spec(self) -> str:
        return f"{self.name}@{self.version}"


def _read(line: str) -> Package:
    name, version, digest, *rest = line.split()
    patterns = tuple(word for word in rest if word != _DECLARED)
    declared = _DECLARED in rest
    return Package(name, version, digest, patterns or ALL_OF_SRC, declared)


PACKAGES: Final = tuple(
    _read(line)
    for line in Path(__file__).with_name("packages.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
)
"""The published packages whose sources are the corpus of honest code."""


def fetch(packages: Sequence[Package] = PACKAGES) -> None:
    """
    Unpack every package that is absent from the cache; no script of theirs is run.

    :raise AssertionError: npm is missing, or could not fetch one.
    """
    with locked(CACHE):
        absent = [one for one in packages if not unpacked(one).exists()]
        if not absent:
            return
        archives = CACHE / "archives"
        shutil.rmtree(archives, ignore_errors=True)
        archives.mkdir()
        specs = [package.spec for package in absent]
        flags = ["--json", "--ignore-scripts", "--pack-destination", str(archives)]
        command = (npm(), "pack", *flags, *specs)
        done = run(*command, cwd=archives, timeout=INSTALL_SECONDS)
        why = f"npm could not fetch the packages:\n{done.stderr}"
        assert done.returncode == 0, why
        for made, package in zip(pack_reports(done.stdout), absent, strict=True):
            _unpack(archives / made["filename"], package)
        shutil.rmtree(archives)


def unpacked(package: Package) -> Path:
    """Where the files of a package are, once it is fetched."""
    return CACHE / f"{package.name.replace('/', '+')}@{package.version}"


def sources(package: Package) -> dict[str, bytes]:
    """
    Return the sources of a fetched package, by path with ``/``, in order.

    :raise AssertionError: They are not the pinned ones.
    """
    found = read_sources(package)
    assert digest(found) == package.digest, (
        f"the sources of {package.spec} are not the pinned ones: {digest(found)}"
    )
    return found


def read_sources(package: Package) -> dict[str, bytes]:
    """Return the sources of a fetched package, whatever they are."""
    root = unpacked(package)
    files = {path for pattern in package.patterns for path in root.glob(pattern)}
    names = sorted(path.relative_to(root).as_posix() for path in files)
    return {
        name: (root / name).read_bytes()
        for name in names
        if _is_wanted(root / name, package)
    }


def digest(files: dict[str, bytes]) -> str:
    """Return the SHA-256 of paths and contents, in hexadecimal."""
    whole = hashlib.sha256()
    for name, content in sorted(files.items()):
        whole.update(f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return whole.hexdigest()


def _is_wanted(path: Path, package: Package) -> bool:
    if path.suffix not in LOADERS or not path.is_file():
        return False
    # Declarations compile to nothing: one package of them is enough.
    if _DECLARATIONS.search(path.name) and not package.has_declarations:
        return False
    return not is_test_name(path.name) and path.stat().st_size <= SOURCE_BYTES


def _unpack(archive: Path, package: Package) -> None:
    partial = CACHE / "partial"
    shutil.rmtree(partial, ignore_errors=True)
    unused = _UNUSED if package.has_declarations else (*_UNUSED, "*.d.ts")
    extract(archive, partial, *unused)
    # Most archives call their one directory "package", not all.
    (only,) = partial.iterdir()
    only.rename(unpacked(package))
    partial.rmdir()
