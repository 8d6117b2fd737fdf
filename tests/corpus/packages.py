"""The published packages whose sources are the corpus of honest code."""

from pathlib import Path
from typing import Final

from attrs import frozen

ALL_OF_SRC: Final = ("src/**/*",)


@frozen
class Package:
    """
    One package in one version.

    :ivar digest: The SHA-256 of the sources that are used; see ``fetching.digest``.
    :ivar patterns: Which of its files are used, as glob patterns.
    """

    name: str
    version: str
    digest: str
    patterns: tuple[str, ...] = ALL_OF_SRC

    @property
    def spec(self) -> str:
        return f"{self.name}@{self.version}"


def _read(line: str) -> Package:
    name, version, digest, *patterns = line.split()
    return Package(name, version, digest, tuple(patterns) or ALL_OF_SRC)


PACKAGES: Final = tuple(
    _read(line)
    for line in Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
)
