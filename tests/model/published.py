"""Versions of plugins, and the double of a git server that has them."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

from attrs import define, field, frozen
from twisted.internet.defer import execute

from bridge.concurrency.threads import Check, InThread, stoppable
from bridge.plugins.tree.tree import Tree, sign_tree

from ..directories import write_files
from ..plugins.operations.bench import (
    KEY,
    OTHER_KEY,
    OTHER_SEED,
    PROFILE,
    SEED,
    manifest,
)

PLUGINS: Final = ("alpha", "beta")
NAMESPACES: Final = ("host", *(f"plugin:{one}" for one in PLUGINS))
SEEDS: Final = (SEED, OTHER_SEED)
KEYS: Final = (KEY, OTHER_KEY)
BROKEN: Final = "BROKEN"
"""In the code of what cannot be built."""


@frozen
class Version:
    """
    One commit of a plugin.

    :ivar number: The minor version, in ``plugin.json``.
    :ivar author: The index of the key that has signed it.
    :ivar signed_at: Seconds since the epoch.
    :ivar files: By path, with ``/``.
    """

    plugin_id: str
    number: int
    author: int
    signed_at: int
    is_broken: bool
    files: dict[str, bytes] = field(repr=False)

    @property
    def commit(self) -> str:
        # A digest of the paths and the contents, as git's is.
        text = repr(sorted(self.files.items())).encode()
        return hashlib.sha1(text, usedforsecurity=False).hexdigest()


@define
class Forge:
    """
    Every version that was published.

    :ivar latest: By plugin id: what a clone gets.
    :ivar in_thread: Where it is written.
    """

    latest: dict[str, Version] = field(factory=dict)
    in_thread: InThread = execute
    _all: dict[str, Version] = field(factory=dict)

    def publish(
        self,
        plugin_id: str,
        number: int,
        author: int,
        signed_at: int,
        *,
        is_broken: bool = False,
    ) -> None:
        """Write and sign a version, the latest; no two have the same code."""
        code = f"export default '{plugin_id} {number} {author} {signed_at}';\n"
        texts = {
            "plugin.json": manifest(plugin_id, version=f"1.{number}.0"),
            "main.ts": code + f"// {BROKEN}\n" * is_broken,
            f"src/part{number}.ts": "export {};\n",
        }
        files = {name: text.encode() for name, text in texts.items()}
        seed = SEEDS[author]
        signed = sign_tree(Tree(files), plugin_id, PROFILE, seed, signed_at)
        files["plugin.sig"] = signed
        version = Version(plugin_id, number, author, signed_at, is_broken, files)
        self._all[version.commit] = version
        self.latest[plugin_id] = version

    def version(self, commit: str) -> Version:
        """Return the version of a commit; ``KeyError`` if there was none."""
        return self._all[commit]

    def public(self, also: frozenset[tuple[str, int]] = frozenset()) -> Self:
        return self

    async def tip(self, url: str) -> str:
        return self.latest[url.rsplit("/", 1)[1].removesuffix(".git")].commit

    async def clone(self, url: str, into: Path, progress: Callable[[int], None]) -> str:
        version = self.latest[url.rsplit("/", 1)[1].removesuffix(".git")]
        progress(1)

        def write(check: Check) -> None:
            into.mkdir()
            write_files(into, version.files)

        await stoppable(self.in_thread, write)
        return version.commit
