"""
Checks a plugin's tree as the daemon would, step by step, before it is published.

It uses neither the network nor a daemon, and leaves nothing behind. The steps ``id``,
``realm``, ``api`` and ``types`` are not the daemon's: they find what would install, and
then not work in the page.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from attrs import evolve, field
from twisted.internet.defer import maybeDeferred

from ...classes import define, frozen
from ...datadir.ownership import NotOwnError, check_tree
from ...datadir.paths import HOST_FILES, DataDir, missing_files, write_files
from ...plugins.bundle.build import Builder
from ...plugins.esbuild.executable import BUNDLER_FILES, BundlerError
from ...plugins.policy.rules import OUTSIDE
from ...plugins.policy.scan import Scanner
from ...plugins.tree import manifest
from ...plugins.tree.about import icon_note
from ...plugins.tree.tree import Tree, verify_tree
from ...plugins.tree.versions import admits
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.limits import POLICY_HITS
from ...provision.readiness import setup_advice
from ...settings.host import Paths
from ...system.reactor import run_once, steady_reactor
from ..terminal import CommandError, counted, reported
from . import worktree
from .hostapi import api_version, check_types
from .reading import Reading, ShownHit, hit_lines, quoted, read_sources, shown_hit
from .worktree import Difference


class Outcome(StrEnum):
    """
    The outcome of a step.

    ``WARNED``: nothing is refused, but the plugin may not work. ``NOT_DONE``: something
    that the step needs is missing, or an earlier step failed. ``LEFT_OUT``: the step
    does not apply, or its tool is optional and missing.
    """

    OK = "ok"
    WARNED = "warned"
    REFUSED = "refused"
    NOT_DONE = "not_done"
    LEFT_OUT = "left_out"


class EndedError(Exception):
    """
    Why a step neither passed nor was refused; for the author.

    :ivar outcome: The outcome of the step.
    """

    def __init__(self, outcome: Outcome, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


def not_done(message: str) -> EndedError:
    """Return why a step can't be done; the message shows what to do about it."""
    return EndedError(Outcome.NOT_DONE, message)


def left_out(message: str) -> EndedError:
    """Return why a step does not apply."""
    return EndedError(Outcome.LEFT_OUT, message)


STATUS: Final = {Outcome.OK: 0, Outcome.REFUSED: 1, Outcome.NOT_DONE: 4}
"""The exit status for each outcome of a whole check."""


@frozen
class StepResult:
    """
    One step.

    :ivar step: One of ``STEPS``.
    :ivar message: One line or more for its reader.
    """

    step: str
    outcome: Outcome
    message: str


@define(eq=False)
class Report:
    """
    All that is known so far; what ``check --json`` prints, with these keys.

    :ivar ok: Whether ``outcome`` is ``ok``.
    :ivar outcome: ``refused`` if a step was, else ``not_done`` if a step was, else
        ``ok``.
    :ivar id: The plugin's, when its manifest could be read; so is ``version``.
    :ivar key_id: The fingerprint of the key, when its signature verifies.
    :ivar signed_commit: The last commit that signed the plugin, when its signature does
        not verify, or was left out, and git knows one.
    :ivar changed: The files that differ from that commit.
    """

    ok: bool
    outcome: Outcome
    host: str
    id: str | None
    version: str | None
    key_id: str | None
    steps: list[StepResult]
    hits: list[ShownHit]
    signed_commit: str | None
    changed: list[Difference]

    @classmethod
    def begin(cls, host: str) -> Report:
        """Return that of a check that has taken no step."""
        return cls(False, Outcome.NOT_DONE, host, None, None, None, [], [], None, [])

    def finish(self) -> None:
        """Set the outcome, when every step was taken."""
        found = {step.outcome for step in self.steps}
        failures = (Outcome.REFUSED, Outcome.NOT_DONE)
        self.outcome = next((each for each in failures if each in found), Outcome.OK)
        self.ok = self.outcome is Outcome.OK


def report_lines(report: Report) -> list[str]:
    """Return the report for people: a line for each step, and details."""
    lines = []
    for step in report.steps:
        first, *rest = step.message.split("\n")
        outcome = step.outcome.replace("_", " ")
        lines.append(f"{step.step:<10} {outcome}: {first}")
        lines += [f"  {line}" for line in rest]
        if step.step == "policy":
            for hit in report.hits:
                lines += hit_lines(hit)
    return lines


@define(eq=False)
class Checker:
    """
    One check of one tree.

    :ivar root: The author's directory.
    :ivar scratch: An empty directory of our own; somebody else removes it.
    :ivar unsigned: Whether to leave the signature out.
    :ivar tsc: The TypeScript compiler, when the author names it.
    :ivar report: What was found so far.
    """

    _reactor: Any
    _place: Paths
    _root: Path
    _scratch: Path
    _unsigned: bool
    _tsc: Path | None = None
    report: Report = field(init=False)
    _tree: Tree = field(init=False, default=Tree({}))
    _manifest: manifest.Manifest | None = field(default=None, init=False)
    _reading: Reading | None = field(default=None, init=False)

    @property
    def _copy(self) -> Path:
        return self._scratch / "tree"

    async def run(self) -> Report:
        """Take every step that can be taken, even after others failed."""
        self.report = Report.begin(self._place.profile.name)
        for name, step in STEPS.items():
            self.report.steps.append(await self._taken(name, step))
        self.report.finish()
        return self.report

    async def _taken(self, name: str, step: Step) -> StepResult:
        taken = self.report.steps
        if taken and taken[0].outcome is Outcome.REFUSED:
            return StepResult(name, Outcome.NOT_DONE, "the files were refused")
        try:
            return StepResult(name, Outcome.OK, await step(self))
        except EndedError as e:
            return StepResult(name, e.outcome, str(e))
        except (BundlerError, NotOwnError) as e:
            return StepResult(name, Outcome.NOT_DONE, str(e))
        except (BridgeError, CommandError) as e:
            words = e.message if isinstance(e, BridgeError) else str(e)
            lines = [words, *quoted(self._copy, words)]
            return StepResult(name, Outcome.REFUSED, "\n".join(lines))

    async def _files(self) -> str:
        worktree.check_host(self._root, self._place)
        worktree.check_format(self._root)
        self._tree = worktree.published_tree(self._root)
        with reported("the tree cannot be copied"):
            self._copy.mkdir(mode=0o700)
            write_files(self._copy, self._tree.files)
        sizes = list(map(len, self._tree.files.values()))
        found = f"{len(sizes)} files, {sum(sizes):,} bytes"
        notes = worktree.folder_note(self._root), icon_note(self._tree)
        if any(notes):
            raise EndedError(Outcome.WARNED, "\n".join(filter(None, (found, *notes))))
        return found

    async def _read_manifest(self) -> str:
        found = manifest.load_manifest(self._tree, self._place.profile)
        self._manifest = found
        self.report.id, self.report.version = found.id, found.version
        return f"{found.id} {found.version}"

    def _plugin_id(self) -> str:
        """Return the plugin's id, also if something else is wrong in the manifest."""
        try:
            return manifest.check_new_id(
                manifest.read_object(self._tree.files[manifest.MANIFEST_FILE])["id"]
            )
        except (BridgeError, TypeError, KeyError):
            raise not_done(f"{manifest.MANIFEST_FILE} has no valid id") from None

    async def _policy(self) -> str:
        """Scan the tree, and read it for what pages would find."""
        self._need_bundler()
        # Nothing else runs in this process, so nothing minds being blocked.
        executable = Builder(self._place, self._reactor, maybeDeferred).executable
        modules = [self._place.profile.api_module]
        scanner = Scanner(self._reactor, maybeDeferred, executable, modules)
        hits = await scanner.scan(self._tree)
        # What ends the bundler is among the hits.
        with suppress(BundlerError):
            self._reading = await read_sources(self._reactor, executable, self._tree)
        self.report.hits += (shown_hit(self._copy, hit) for hit in hits)
        if hits:
            # The daemon names the first one; here are all of them.
            raise CommandError(f"{Prefix.POLICY}: {counted(len(hits), 'hit')}")
        return "no hit"

    def _need_bundler(self) -> None:
        advice = f"run: plugin-bridge setup --bundler-only {self._place.typed}"
        self._need(BUNDLER_FILES, advice)

    def _need_sources(self) -> None:
        self._need(HOST_FILES, setup_advice(self._place))
        check_tree(self._place.data.host)

    def _need(self, paths: Sequence[str], advice: str) -> None:
        root = self._place.data.root
        missing = missing_files(root, paths)
        if missing:
            raise not_done(f"there is no {missing[0]} in {root}; {advice}")

    def _need_reading(self) -> Reading:
        """Check that there is a ``main.ts``, and that all that was read compiles."""
        if manifest.ENTRY_FILE not in self._tree.files:
            raise not_done(f"there is no {manifest.ENTRY_FILE} at the root")
        if self._reading is None:
            raise not_done("the sources were not read")
        if self._reading.broken:
            raise not_done(f"{self._reading.broken} has a syntax error; see policy")
        return self._reading

    def _need_own_files(self) -> None:
        """Check that nothing but the plugin's files would be read."""
        self._need_reading()
        hits = self.report.hits
        # There may be more than are reported.
        if len(hits) >= POLICY_HITS or any(hit.rule == OUTSIDE for hit in hits):
            raise not_done("the sources may name files outside the plugin")

    async def _signature(self) -> str:
        if self._unsigned:
            raise left_out("\n".join(["--unsigned", *self._since_signed()]))
        profile = self._place.profile
        try:
            signed = verify_tree(self._tree, self._plugin_id(), profile, time.time())
        except BridgeError as e:
            message = "\n".join([e.message, *self._since_signed()])
            raise BridgeError(e.code, message) from None
        self.report.key_id = signed.key_id
        return f"signed with the key {signed.key_id}"

    def _since_signed(self) -> list[str]:
        """Compare with the last signed commit; return lines for the author."""
        found = worktree.since_signed(self._root, self._tree.files)
        if found is None:
            return []
        self.report.signed_commit, self.report.changed = found
        return worktree.difference_lines(*found)

    async def _id(self) -> str:
        plugin_id = self._plugin_id()
        reading = self._need_reading()
        if reading.entry is None:
            raise not_done(f"{manifest.ENTRY_FILE} was not read; see policy")
        if fault := reading.fault(plugin_id):
            raise CommandError(fault)
        if reading.exported_id(plugin_id) is None:
            raise left_out(
                f"{manifest.ENTRY_FILE} does not export its id as a plain string, so "
                f"check cannot compare it with {manifest.MANIFEST_FILE}"
            )
        return f"{manifest.ENTRY_FILE} exports {plugin_id}"

    async def _realm(self) -> str:
        if not self._place.profile.has_texts:
            raise left_out("plugins of this host run in its page")
        if found := self._need_reading().about_page():
            raise EndedError(Outcome.WARNED, "\n".join(found))
        return "nothing that only a page has"

    async def _api(self) -> str:
        if self._manifest is None:
            raise not_done("the manifest was refused")
        self._need_sources()
        version = api_version(self._place.data.host)
        if version is None:
            raise left_out("the host's sources do not contain the version of their API")
        if not admits(self._manifest.api_version, version):
            raise EndedError(
                Outcome.WARNED,
                f"apiVersion does not admit {version}, the version of the API in the "
                "host's sources; a page may warn about the plugin, or not start it",
            )
        return f"apiVersion admits {version}"

    async def _types(self) -> str:
        self._need_own_files()
        self._need_sources()
        host, module = self._place.data.host, self._place.profile.api_module
        try:
            errors = check_types(self._tsc, self._root, self._copy, host, module)
        except CommandError as e:
            raise left_out(str(e)) from None
        if errors:
            raise CommandError("\n".join([counted(len(errors), "type error"), *errors]))
        return "no type errors"

    async def _build(self) -> str:
        """Build a bundle of this plugin alone, in a data directory of its own."""
        plugin_id = self._plugin_id()
        self._need_sources()
        self._need_bundler()
        self._need_own_files()
        data = DataDir(self._scratch / "data")
        data.create()
        # Copies: the bundler must not see the host's files by another name, and links
        # need a privilege on Windows.  With their modes, which have been checked.
        shutil.copytree(self._place.data.bin, data.bin)
        shutil.copytree(self._place.data.host, data.host, True)
        self._copy.rename(data.plugin(plugin_id))
        warnings: list[str] = []
        place = evolve(self._place, data=data, theme_dir=self._scratch / "themes")
        builder = Builder(place, self._reactor, maybeDeferred, warn=warnings.append)
        alone = {plugin_id: self._tree}
        report = await builder.build(lambda: (alone, {}), frozenset(alone))
        folder = f"plugins/{plugin_id}/"  # which the author does not have
        if not report.ok:
            why = report.errors[0].replace(folder, "")
            raise plugin_error(Prefix.BUILD_FAILED, why)
        return "\n".join([f"in {report.duration_ms} ms", *warnings]).replace(folder, "")


Step = Callable[[Checker], Awaitable[str]]
"""Returns its message, or raises why it did not pass."""

STEPS: Final[dict[str, Step]] = {
    "files": Checker._files,
    "manifest": Checker._read_manifest,
    "policy": Checker._policy,
    "signature": Checker._signature,
    "id": Checker._id,
    "realm": Checker._realm,
    "api": Checker._api,
    "types": Checker._types,
    "build": Checker._build,
}
"""The steps of a check, in order."""


def check_plugin(
    place: Paths, root: Path, unsigned: bool, tsc: Path | None = None
) -> Report:
    """
    Check a plugin's directory; runs the reactor, which the bundler needs.

    :param unsigned: Whether to leave the signature out.
    :param tsc: The TypeScript compiler, when the author names it.
    """
    reactor = steady_reactor()
    with TemporaryDirectory(prefix="plugin-bridge-check-") as scratch:
        checker = Checker(reactor, place, root, Path(scratch), unsigned, tsc)
        return run_once(reactor, checker.run)
