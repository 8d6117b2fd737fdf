"""
What the daemon would say of a plugin's tree, step by step, before it is published.

Nothing is asked of the network or of a daemon, and nothing is left behind.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from attrs import define, field, frozen

from .. import __version__, oneshot
from ..datadir import DataDir
from ..options import Place
from ..plugins.build import Builder, DeferToThread
from ..plugins.bundler import API_ENTRY, HOST_ENTRY
from ..plugins.executable import BundlerError
from ..plugins.manifest import Manifest, load_manifest
from ..plugins.pins import BINARY_NAME, CHECKSUM_NAME
from ..plugins.policy.hits import Hit
from ..plugins.signature import verify_tree
from ..protocol.errors import BridgeError, Prefix
from .hostsources import setup_command
from .keygen import CommandError
from .sources import source_line
from .worktree import copy_published

_NEEDED: Final = (
    f"bin/{BINARY_NAME}",
    f"bin/{CHECKSUM_NAME}",
    HOST_ENTRY,
    API_ENTRY,
)


class Outcome(StrEnum):
    """What a step came to."""

    OK = "ok"
    REFUSED = "refused"
    NOT_DONE = "not_done"
    LEFT_OUT = "left_out"


@frozen
class StepResult:
    """
    One step.

    :ivar step: ``files``, ``manifest``, ``policy``, ``signature`` or ``build``.
    :ivar message: One line or more for its reader.
    """

    step: str
    outcome: Outcome
    message: str


@frozen
class ShownHit:
    """
    A breach of the source policy.

    :ivar file: Empty when it is the tree's as a whole.
    :ivar source: The line, with control characters written out; empty if there is
        none.
    """

    file: str
    line: int
    rule: str
    source: str


@frozen
class Verdict:
    """
    All of it; what ``check --json`` prints, with these keys.

    :ivar ok: Whether every step was done, and none refused the tree.
    :ivar id: The plugin's, when its manifest could be read; so is ``version``.
    :ivar key_id: The fingerprint of the key, when its signature verifies.
    """

    ok: bool
    host: str
    id: str | None
    version: str | None
    key_id: str | None
    steps: list[StepResult]
    hits: list[ShownHit]


@define(eq=False)
class Trial:
    """
    One trial of one tree.

    :ivar host: As it was given to ``--host``.
    :ivar root: The author's directory.
    :ivar scratch: An empty directory of our own; somebody else removes it.
    :ivar unsigned: Whether to leave the signature out.
    :ivar now: Seconds since the epoch.
    """

    _reactor: Any
    _in_thread: DeferToThread
    _place: Place
    _host: str
    _root: Path
    _scratch: Path
    _unsigned: bool
    _now: Callable[[], float]
    _steps: list[StepResult] = field(factory=list, init=False)
    _hits: list[ShownHit] = field(factory=list, init=False)
    _key_id: str | None = field(default=None, init=False)

    @property
    def _tree(self) -> Path:
        return self._scratch / "tree"

    async def run(self) -> Verdict:
        """Take every step."""
        manifest = None
        if self._step("files", self._files):
            manifest = self._manifest()
            clean = await self._policy_step()
            self._signature(manifest)
            await self._build(manifest, clean)
        else:
            for name in ("manifest", "policy", "signature", "build"):
                self._add(name, Outcome.NOT_DONE, "the files are refused")
        return Verdict(
            all(s.outcome in (Outcome.OK, Outcome.LEFT_OUT) for s in self._steps),
            self._place.profile.name,
            manifest.id if manifest else None,
            manifest.version if manifest else None,
            self._key_id,
            self._steps,
            self._hits,
        )

    def _add(self, name: str, outcome: Outcome, message: str) -> None:
        self._steps.append(StepResult(name, outcome, message))

    def _step(self, name: str, take: Callable[[], str]) -> bool:
        try:
            self._add(name, Outcome.OK, take())
        except (BridgeError, CommandError) as e:
            message = e.message if isinstance(e, BridgeError) else str(e)
            self._add(name, Outcome.REFUSED, message)
            return False
        return True

    def _files(self) -> str:
        copy_published(self._root, self._tree)
        sizes = [path.lstat().st_size for path in _files_below(self._tree)]
        return f"{len(sizes)} files, {sum(sizes):,} bytes"

    def _manifest(self) -> Manifest | None:
        found: list[Manifest] = []

        def read() -> str:
            manifest = load_manifest(self._tree, self._place.profile)
            found.append(manifest)
            return f"{manifest.id} {manifest.version}"

        self._step("manifest", read)
        return found[0] if found else None

    async def _policy_step(self) -> bool:
        scanner = oneshot.make_scanner(self._reactor, self._place, self._in_thread)
        modules = [self._place.profile.api_module]
        try:
            hits = await scanner.scan(self._tree, modules)
        except BundlerError as e:
            self._add("policy", Outcome.NOT_DONE, str(e))
            return False
        return self._step("policy", lambda: self._policy(hits))

    def _policy(self, hits: list[Hit]) -> str:
        for hit in hits:
            source = source_line(self._tree, hit)
            self._hits.append(ShownHit(hit.file, hit.line, hit.rule, source))
        if hits:
            # The daemon names the first one; here are all of them.
            raise CommandError(f"{Prefix.POLICY}: {_count(len(hits), 'breach')}")
        return "no breach"

    def _signature(self, manifest: Manifest | None) -> None:
        if self._unsigned:
            self._add("signature", Outcome.LEFT_OUT, "--unsigned")
        elif manifest is None:
            self._add("signature", Outcome.NOT_DONE, "the manifest is refused")
        else:
            plugin_id = manifest.id
            self._step("signature", lambda: self._verify(plugin_id))

    def _verify(self, plugin_id: str) -> str:
        signed = verify_tree(self._tree, plugin_id, self._place.profile, self._now())
        self._key_id = signed.key_id
        return f"by the key {signed.key_id}"

    async def _build(self, manifest: Manifest | None, clean: bool) -> None:
        missing = [p for p in _NEEDED if not (self._place.data.root / p).exists()]
        if manifest is None:
            self._add("build", Outcome.NOT_DONE, "the manifest is refused")
        elif not clean:
            self._add("build", Outcome.NOT_DONE, "the sources are refused")
        elif missing:
            why = f"there is no {missing[0]} in {self._place.data.root}; run: "
            self._add("build", Outcome.NOT_DONE, why + self._setup())
        else:
            await self._build_alone(manifest.id)

    def _setup(self) -> str:
        where = ["--host", self._host, "--data-dir", str(self._place.data.root)]
        return setup_command(self._place, shlex.join(where))

    async def _build_alone(self, plugin_id: str) -> None:
        """Build a bundle of this plugin alone, in a data directory of its own."""
        data = DataDir(self._scratch / "data")
        data.create()
        data.bin.symlink_to(self._place.data.bin.resolve())
        # A copy: the bundler must not see the host's files by another name.
        shutil.copytree(
            self._place.data.host, data.host, True, copy_function=shutil.copyfile
        )
        self._tree.rename(data.plugin(plugin_id))
        warnings: list[str] = []
        builder = Builder(
            self._place.profile,
            data,
            self._scratch / "themes",
            self._reactor,
            self._in_thread,
            __version__,
            warnings.append,
        )
        report = await builder.build([plugin_id])
        if report.ok:
            told = [f"in {report.duration_ms} ms", *warnings]
            self._add("build", Outcome.OK, "\n".join(told))
        else:
            why = "\n".join(report.errors)
            self._add("build", Outcome.REFUSED, f"{Prefix.BUILD_FAILED}: {why}")


def _files_below(root: Path) -> Iterator[Path]:
    return (path for path in root.rglob("*") if path.is_symlink() or path.is_file())


def _count(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number} {what}es"
