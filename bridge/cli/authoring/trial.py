"""
Checks a plugin's tree as the daemon would, step by step, before it is published.

It uses neither the network nor a daemon, and leaves nothing behind. The steps
``id``, ``api`` and ``types`` are not the daemon's: they find what would install, and
then not work in the page.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from attrs import field
from twisted.internet.defer import Deferred, succeed

from ... import __version__
from ...classes import define
from ...concurrency.threads import InThread
from ...datadir.ownership import NotOwnError, check_tree
from ...datadir.paths import DataDir
from ...plugins.bundle.build import Builder
from ...plugins.bundle.prerequisites import BUNDLER_FILES, HOST_FILES, missing_files
from ...plugins.esbuild.executable import BundlerError
from ...plugins.policy.rules.imports import OUTSIDE
from ...plugins.policy.rules.table import Hit, advice
from ...plugins.policy.scan import Scanner
from ...plugins.tree.manifest import (
    MANIFEST_FILE,
    Manifest,
    check_new_id,
    load_manifest,
)
from ...plugins.tree.signature import verify_tree
from ...plugins.tree.tree import Tree
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.limits import POLICY_HITS
from ...protocol.strictjson import loads_unique
from ...provision.readiness import setup_command
from ...settings.options import Paths
from ...wiring import oneshot
from ..terminal import CommandError
from .hostapi import find_compiler
from .pagesteps import (
    compare_id,
    compare_types,
    compare_version,
    look_for_page,
    need_entry,
)
from .signedsince import SignedCommit, since_signed
from .sources import quoted, source_line
from .verdict import (
    STEPS,
    EndedError,
    LeftOutError,
    NotDoneError,
    Outcome,
    ShownHit,
    StepResult,
    Verdict,
    counted,
    whole_outcome,
)
from .worktree import published_tree

_EXPECTED: Final = (EndedError, BridgeError, CommandError)


@define(eq=False)
class Trial:
    """
    One trial of one tree.

    :ivar root: The author's directory.
    :ivar scratch: An empty directory of our own; somebody else removes it.
    :ivar unsigned: Whether to leave the signature out.
    :ivar now: Seconds since the epoch.
    :ivar tsc: The TypeScript compiler, when the author names it.
    """

    _reactor: Any
    _in_thread: InThread
    _place: Paths
    _root: Path
    _scratch: Path
    _unsigned: bool
    _now: Callable[[], float]
    _tsc: Path | None = None
    _environ: Mapping[str, str] = os.environ
    _tree: Tree = field(init=False, default=Tree({}))
    _steps: list[StepResult] = field(factory=list, init=False)
    _hits: list[ShownHit] = field(factory=list, init=False)
    _key_id: str | None = field(default=None, init=False)
    _manifest: Manifest | None = field(default=None, init=False)
    _plugin_id: str | None = field(default=None, init=False)
    _signed: SignedCommit | None = field(default=None, init=False)
    _reaches_out: bool = field(default=True, init=False)

    @property
    def _copy(self) -> Path:
        return self._scratch / "tree"

    async def run(self) -> Verdict:
        """Run every step that can be run, even after others failed."""
        if self._step("files", self._files):
            self._step("manifest", self._read_manifest)
            self._plugin_id = self._readable_id()
            await self._async_step("policy", self._policy)
            self._step("signature", self._signature)
            self._step("id", self._id)
            self._step("realm", self._realm)
            self._step("api", self._api)
            self._step("types", self._types)
            await self._async_step("build", self._build)
        else:
            for name in STEPS[1:]:
                self._add(name, Outcome.NOT_DONE, "the files were refused")
        outcome = whole_outcome(self._steps)
        manifest = self._manifest
        return Verdict(
            outcome == Outcome.OK,
            outcome,
            self._place.profile.name,
            manifest.id if manifest else None,
            manifest.version if manifest else None,
            self._key_id,
            self._steps,
            self._hits,
            self._signed.commit if self._signed else None,
            self._signed.differences if self._signed else [],
        )

    def _add(self, name: str, outcome: Outcome, message: str) -> None:
        self._steps.append(StepResult(name, outcome, message))

    def _step(self, name: str, take: Callable[[], str]) -> bool:
        try:
            message = take()
        except _EXPECTED as e:
            return self._ended_early(name, e)
        self._add(name, Outcome.OK, message)
        return True

    async def _async_step(
        self, name: str, take: Callable[[], Coroutine[Any, Any, str]]
    ) -> bool:
        try:
            message = await take()
        except _EXPECTED as e:
            return self._ended_early(name, e)
        self._add(name, Outcome.OK, message)
        return True

    def _ended_early(self, name: str, error: Exception) -> bool:
        """Record why a step did not pass."""
        if isinstance(error, EndedError):
            self._add(name, error.outcome, str(error))
            return False
        message = error.message if isinstance(error, BridgeError) else str(error)
        lines = [message, *quoted(self._copy, message)]
        self._add(name, Outcome.REFUSED, "\n".join(lines))
        return False

    def _files(self) -> str:
        self._tree = published_tree(self._root)
        try:
            self._copy.mkdir(mode=0o700)
            self._tree.write(self._copy)
        except OSError as e:
            raise CommandError(f"the tree cannot be copied: {e.strerror}") from None
        sizes = list(map(len, self._tree.files.values()))
        return f"{len(sizes)} files, {sum(sizes):,} bytes"

    def _read_manifest(self) -> str:
        self._manifest = load_manifest(self._tree, self._place.profile)
        return f"{self._manifest.id} {self._manifest.version}"

    def _readable_id(self) -> str | None:
        """Return the plugin's id, also if something else is wrong in the manifest."""
        if self._manifest is not None:
            return self._manifest.id
        try:
            value = loads_unique(self._tree.files[MANIFEST_FILE])
            return check_new_id(value["id"])
        except (BridgeError, TypeError, KeyError):
            return None

    def _need_id(self) -> str:
        if self._plugin_id is None:
            raise NotDoneError(f"{MANIFEST_FILE} has no valid id")
        return self._plugin_id

    async def _policy(self) -> str:
        hits = await self._scan()
        # There may be more than are reported.
        self._reaches_out = len(hits) >= POLICY_HITS
        for hit in hits:
            self._reaches_out = self._reaches_out or hit.rule == OUTSIDE
            source = source_line(self._copy, hit)
            shown = ShownHit(hit.file, hit.line, hit.rule, source, advice(hit.rule))
            self._hits.append(shown)
        if hits:
            # The daemon names the first one; here are all of them.
            raise CommandError(f"{Prefix.POLICY}: {counted(len(hits), 'hit')}")
        return "no hit"

    async def _scan(self) -> list[Hit]:
        """
        Scan the tree.

        :raise NotDoneError: The scan needs something that is not installed.
        """
        self._need_bundler()
        builder = oneshot.make_builder(self._reactor, self._place, self._in_thread)
        executable = builder.executable
        scanner = Scanner(self._reactor, self._in_thread, executable, os.urandom)
        modules = [self._place.profile.api_module]
        try:
            return await scanner.scan(self._tree, modules)
        except BundlerError as e:
            raise NotDoneError(str(e)) from None

    def _need_bundler(self) -> None:
        self._need(
            BUNDLER_FILES, f"plugin-bridge setup --bundler-only {self._place.typed}"
        )

    def _need_sources(self) -> None:
        self._need(HOST_FILES, setup_command(self._place))
        try:
            check_tree(self._place.data.host)
        except NotOwnError as e:
            raise NotDoneError(str(e)) from None

    def _need(self, paths: Sequence[str], command: str) -> None:
        root = self._place.data.root
        missing = missing_files(root, paths)
        if missing:
            raise NotDoneError(f"there is no {missing[0]} in {root}; run: {command}")

    def _signature(self) -> str:
        if self._unsigned:
            raise LeftOutError("\n".join(["--unsigned", *self._since_signed()]))
        profile = self._place.profile
        try:
            signed = verify_tree(self._tree, self._need_id(), profile, self._now())
        except BridgeError as e:
            message = "\n".join([e.message, *self._since_signed()])
            raise BridgeError(e.code, message) from None
        self._key_id = signed.key_id
        return f"signed with the key {signed.key_id}"

    def _since_signed(self) -> list[str]:
        """Compare with the last signed commit; return lines for the author."""
        self._signed = since_signed(self._root)
        return self._signed.lines() if self._signed else []

    def _id(self) -> str:
        plugin_id = self._need_id()
        need_entry(self._copy)
        return compare_id(self._copy, plugin_id)

    def _realm(self) -> str:
        return look_for_page(self._copy, self._place.profile)

    def _api(self) -> str:
        if self._manifest is None:
            raise NotDoneError("the manifest was refused")
        self._need_sources()
        return compare_version(self._manifest.api_version, self._place.data.host)

    def _types(self) -> str:
        self._need_own_files()
        self._need_sources()
        module, host = self._place.profile.api_module, self._place.data.host
        compiler = find_compiler(self._root, self._environ, self._tsc)
        return compare_types(compiler, self._copy, host, module)

    def _need_own_files(self) -> None:
        """Check that nothing but the plugin's files would be read."""
        need_entry(self._copy)
        if self._reaches_out:
            raise NotDoneError("the sources may name files outside the plugin")

    async def _build(self) -> str:
        plugin_id = self._need_id()
        self._need_bundler()
        self._need_sources()
        self._need_own_files()
        return await self._build_alone(plugin_id)

    async def _build_alone(self, plugin_id: str) -> str:
        """Build a bundle of this plugin alone, in a data directory of its own."""
        data = DataDir(self._scratch / "data")
        data.create()
        data.bin.symlink_to(self._place.data.bin.resolve())
        # A copy: the bundler must not see the host's files by another name.
        # With their modes, which have been checked.
        shutil.copytree(self._place.data.host, data.host, True)
        self._copy.rename(data.plugin(plugin_id))
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
        report = await builder.build(lambda: ({plugin_id: self._tree}, {}))
        if not report.has(plugin_id):
            raise plugin_error(Prefix.BUILD_FAILED, report.why_not(plugin_id))
        return "\n".join([f"in {report.duration_ms} ms", *warnings])


def tried(place: Paths, root: Path, unsigned: bool, tsc: Path | None = None) -> Verdict:
    """
    Check a plugin's directory; runs the reactor, which the bundler needs.

    :param unsigned: Whether to leave the signature out.
    :param tsc: The TypeScript compiler, when the author names it.
    """
    from twisted.internet import reactor

    def at_once(work: Any, *arguments: Any) -> Deferred[Any]:
        # Nothing else runs in this process, so nothing minds being blocked.
        return succeed(None).addCallback(lambda _: work(*arguments))

    with TemporaryDirectory(prefix="plugin-bridge-check-") as scratch:
        trial = Trial(
            reactor, at_once, place, root, Path(scratch), unsigned, time.time, tsc
        )
        verdict: Verdict = oneshot.run(reactor, trial.run)
    return verdict
