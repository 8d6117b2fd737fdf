"""Versions of plugins, and the double of a git server that has them."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

from attrs import define, field, frozen
from twisted.internet.defer import execute

from bridge.concurrency.threads import Check, InThread, stoppable
from bridge.plugins.tree.signature import key_id, public_key_of, sign_tree
from bridge.plugins.tree.tree import Tree
from bridge.settings.host import load_profile

from ..directories import write_files

PROFILE: Final = load_profile("reference")
PLUGINS: Final = ("alpha", "beta")
NAMESPACES: Final = ("host", *(f"plugin:{one}" for one in PLUGINS))
SEEDS: Final = (b"\x01" * 32, b"\x02" * 32)
KEYS: Final = tuple(key_id(public_key_of(seed)) for seed in SEEDS)
BROKEN: Final = "BROKEN"
"""In the code of what cannot be built."""


def url_of(plugin_id: str) -> str:
    """Return the URL of a plugin's repository."""
    return f"https://forge.example/{plugin_id}.git"


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
        """The id of the commit."""
        # A digest of the paths and the contents, as git's is.
        text = repr(sorted(self.files.items())).encode()
        return hashlib.sha1(text, usedforsecurity=False).hexdigest()


def read_files(root: Path) -> dict[str, bytes]:
    """Read every file below a directory."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


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
        manifest = {
            "id": plugin_id,
            "name": "A plugin",
            "version": f"1.{number}.0",
            "apiVersion": "^0.1.0",
        }
        code = f"export default '{plugin_id} {number} {author} {signed_at}';\n"
        texts = {
            "plugin.json": json.dumps(manifest),
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
        """See ``bridge.plugins.clone.repositories.Repositories``."""
        return self

    async def tip(self, url: str) -> str:
        """See ``bridge.plugins.clone.repositories.Remotes``."""
        return self.latest[url.rsplit("/", 1)[1].removesuffix(".git")].commit

    async def clone(self, url: str, into: Path, progress: Callable[[int], None]) -> str:
        """See ``bridge.plugins.clone.repositories.Remotes``."""
        version = self.latest[url.rsplit("/", 1)[1].removesuffix(".git")]
        progress(1)

        def write(check: Check) -> None:
            into.mkdir()
            write_files(into, version.files)

        await stoppable(self.in_thread, write)
        return version.commit
