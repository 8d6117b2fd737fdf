"""The published packages whose sources are the corpus of honest code."""

from pathlib import Path
from typing import Final

from attrs import frozen

ALL_OF_SRC: Final = ("src/**/*",)
_DECLARATIONS: Final = "declarations"


@frozen
class Package:
    """
    One package in one version.

    :ivar digest: The SHA-256 of the sources that are used; see ``fetching.digest``.
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
    patterns = tuple(word for word in rest if word != _DECLARATIONS)
    declared = _DECLARATIONS in rest
    return Package(name, version, digest, patterns or ALL_OF_SRC, declared)


PACKAGES: Final = tuple(
    _read(line)
    for line in Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
)
