"""
The build: from a set of installed plugins to a published bundle.

The steps are the specification's: verify the trees and the bundler, write the import
table, run the bundler, validate what it read, publish.  On failure, the previous bundle
stays.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from attrs import Factory, field
from twisted.internet.task import deferLater
from twisted.logger import Logger

from ... import __version__
from ...classes import define, frozen
from ...concurrency.threads import InThread, settled
from ...datadir.ownership import NotOwnError
from ...datadir.paths import TABLE_FILE, DataDirError, missing_files, write_atomically
from ...protocol import limits
from ...protocol.errors import forget_traceback
from ...protocol.text import shown
from ...settings.host import Paths
from ..esbuild.conversation import BundlerReactor, Conversation, converse, together
from ..esbuild.executable import BUNDLER_FILES, BundlerError, Executable, HeldCopy
from ..tree.tree import Verify
from .bundling import BUILD_LIMITS, Bundling, Sources, Target
from .metafile import API_TEXT, PLUGINS, BuildError, Bundle, is_utf8
from .publishing import INFO_FILE, Staging, Table, Text, plugin_of, replace_file

# How long a build waits for another one, which may take 60 s; and how often it looks
# whether that has ended.
_PATIENCE_SECONDS: Final = 90.0
_AGAIN_SECONDS: Final = 0.05

_API: Final = b"module.exports = globalThis.__pluginApi;\n"

T = TypeVar("T")

_log: Final = Logger(namespace="bridge.build")


def _log_warning(text: str) -> None:
    _log.warn("bundler warning: {text}", text=text)


@frozen
class Report:
    """
    The result of a build, in the form that goes over the wire.

    :ivar ok: Whether there is a new bundle.
    :ivar duration_ms: How many milliseconds it took.
    :ivar plugins: The ids of what is in the bundle, or was to be, sorted.
    :ivar errors: First why there is no new bundle; then which installed plugins were
        left out, and why.
    """

    ok: bool
    duration_ms: int
    plugins: list[str]
    errors: list[str]


@frozen
class Builder:
    """
    Makes bundles, one at a time in a data directory and in a theme's folder.

    Other processes may build there: daemons, or an installer.

    :ivar defer_to_thread: Calls a function in a thread.
    :ivar warn: Accepts the bundler's warnings about a bundle it made.
    :ivar bundler: The verified bundler, kept from one build to the next.
    """

    paths: Paths
    reactor: BundlerReactor
    defer_to_thread: InThread
    warn: Callable[[str], object] = _log_warning
    bundler: HeldCopy = Factory(lambda made: HeldCopy(made.fix), takes_self=True)

    @property
    def fix(self) -> str:
        """What to run when a build lacks something."""
        return f"run: plugin-bridge setup {self.paths.typed}"

    def executable(self) -> Executable:
        """
        Return a verified copy of the bundler.  Blocks.

        :raise BundlerError: There is none, it is not the one of the checksum file, or
            another user may have written it.
        """
        try:
            data = self.paths.data
            return self.bundler.get(data.checked(data.bin))
        except NotOwnError as e:
            raise BundlerError(str(e)) from None

    async def build(
        self, verify: Verify, needed: frozenset[str] = frozenset()
    ) -> Report:
        """
        Verify plugins, build their bundle and publish it.

        A cancelled build has published a whole bundle or nothing, and ends only when
        nothing else is left of it.

        :param verify: Called in a thread, right before the build begins: no build of
            another daemon is waited for between.
        :param needed: The ids of plugins without which nothing is published.
        :return: The report; a failed build is a report too.
        """
        started = self.reactor.seconds()
        staging = Staging(self.paths.bundle.parent, self.paths.data.build_lock)
        run = _BuildRun(self, staging, needed)
        try:
            executable = await run.begin(verify)
            await converse(
                self.reactor, executable, BUILD_LIMITS, run.bundle, run.sources.reply
            )
            why = []
        except BundlerError as e:
            why = [str(e)]
            forget_traceback(e)
        except OSError as e:
            where = f" ({shown(str(e.filename))})" if e.filename else ""
            why = [f"the bundle could not be made: {e.strerror or 'I/O error'}{where}"]
            forget_traceback(e)
        finally:
            run.staging.release()
        duration = round((self.reactor.seconds() - started) * 1000)
        errors = [*why, *sorted({*run.left_out})]
        return Report(
            not why, duration, sorted(map(plugin_of, run.directories)), errors
        )


@define
class _BuildRun:
    """
    One build under way.

    :ivar directories: The plugins, below ``plugins/``: first all, then those that are
        in the bundle.
    :ivar left_out: Which are not, and why.
    """

    builder: Builder
    staging: Staging
    needed: frozenset[str]
    sources: Sources = field(init=False)
    directories: list[str] = Factory(list)
    left_out: list[str] = Factory(list)

    async def begin(self, verify: Verify) -> Executable:
        """
        Verify and prepare, as soon as no other process builds here.

        :return: The bundler.
        :raise BuildError: Another build, or an operation, took too long.
        """
        clock = self.builder.reactor
        given_up = clock.seconds() + _PATIENCE_SECONDS
        while True:
            executable = await self.in_thread(self.prepare, verify)
            if executable is not None:
                return executable
            if clock.seconds() >= given_up:
                raise BuildError(
                    "another build, or an operation, has been running for "
                    f"{_PATIENCE_SECONDS:g} s"
                )
            await deferLater(clock, _AGAIN_SECONDS)

    def prepare(self, verify: Verify) -> Executable | None:
        """
        Claim the directories, and verify what to build; blocks.

        :return: The bundler; ``None`` while another build has them, or an operation
            changes what is in them.
        :raise BundlerError: Something a build needs is missing, or is not what it
            should be, or another user may have written it.
        :raise OSError: There is no room, or no permission.
        """
        data = self.builder.paths.data
        place = self.builder.paths
        needed = (*BUNDLER_FILES, *place.profile.needed_sources)
        try:
            # Somebody may have removed what the daemon's start made.
            data.create()
            missing = missing_files(data.root, needed)
            if not missing and not self.staging.claim():
                return None
            verified = verify()
            if verified is None:
                self.staging.release()
                return None
            trees, faults = verified
            for plugin_id in self.needed.difference(map(plugin_of, trees)):
                raise BuildError(faults.get(plugin_id, "the plugin is not installed"))
            left_out = (f"{one} is left out: {why}" for one, why in faults.items())
            self.left_out += left_out
            self.directories = sorted(trees, key=plugin_of)
            for path in missing:
                what = "bundler" if path in BUNDLER_FILES else "host sources"
                raise BuildError(
                    f"{what} missing: there is no {path}; {self.builder.fix}"
                )
            data.checked(data.host)
            if not data.package.exists():
                write_atomically(data.package, b"{}\n")
        except (DataDirError, NotOwnError) as e:
            raise BuildError(str(e)) from None
        files = {
            f"{PLUGINS}{name}/{path}": content
            for name, tree in trees.items()
            for path, content in tree.files.items()
        }
        unreadable = {path for path, text in files.items() if not is_utf8(text)}
        self.sources = Sources(os.path.realpath(data.root), files, unreadable)
        self.sources.check_places()
        return self.builder.executable()

    async def bundle(self, conversation: Conversation) -> None:
        """Make the bundle, and publish it."""
        profile = self.builder.paths.profile
        bundling = Bundling(
            conversation, self.sources, self.in_thread, self.directories
        )
        if profile.has_texts:
            table = await self.texts(bundling)
        else:
            table = Table.of_modules(self.directories)
        # The bundler gets it from memory, and looks up that it is there.
        self.sources.files[TABLE_FILE] = table.text
        place = self.builder.paths.data.root / TABLE_FILE
        await self.in_thread(replace_file, place, table.text)
        bundle = await bundling.bundle(Target.host(profile), table.imports)
        for directory, size in bundle.map.shares.items():
            if plugin_of(directory) in self.needed:
                _check_size(size)
        await self.in_thread(self.publish, bundle)
        self.warn(bundle)

    async def texts(self, bundling: Bundling) -> Table:
        """
        Bundle each plugin alone.

        One that can't be bundled is left out: it must not keep the others from running.

        :return: The table of their texts.
        """
        self.sources.files[API_TEXT] = _API
        profile = self.builder.paths.profile
        texts: dict[str, Text] = {}

        async def alone(directory: str) -> None:
            target = Target.plugin(profile, directory)
            try:
                made = await bundling.bundle(target)
                text = await self.in_thread(Text.of, made)
                _check_size(text.size)
            except BuildError as e:
                forget_traceback(e)
                self.leave_out(directory, str(e))
            else:
                texts[directory] = text
                self.warn(made)

        await together(map(alone, self.directories))
        while sum(one.size for one in texts.values()) > limits.BUILD_PLUGINS_BYTES:
            largest = max(sorted(texts), key=lambda one: texts[one].size)
            most = f"{limits.BUILD_PLUGINS_BYTES} bytes of the bundle or its map"
            self.leave_out(largest, f"all take more than {most}, and it the most")
            del texts[largest]
        self.directories[:] = texts
        realm = await bundling.bundle(Target.realm(profile))
        return await self.in_thread(Table.of_texts, texts, realm.script)

    def warn(self, bundle: Bundle) -> None:
        """Pass on what the bundler warned of."""
        if bundle.warnings:
            self.builder.warn(bundle.warnings)

    def leave_out(self, directory: str, why: str) -> None:
        """
        Leave a plugin out of the bundle.

        :raise BuildError: It is needed.
        """
        plugin_id = plugin_of(directory)
        if plugin_id in self.needed:
            raise BuildError(why)
        self.left_out.append(f"{plugin_id} is left out: {why}")

    def publish(self, bundle: Bundle) -> None:
        """
        Publish a bundle; blocks.

        :raise OSError: Something could not be written.
        """
        name = f"{self.builder.paths.profile.bundle_name}.js"
        files = {name: bundle.script, f"{name}.map": bundle.map.text}
        self.staging.publish({**files, INFO_FILE: self.info(bundle)})

    def info(self, bundle: Bundle) -> bytes:
        """Describe the bundle."""
        info = {
            "author": self.builder.paths.profile.info_author,
            "version": __version__,
            "sha256": hashlib.sha256(bundle.script).hexdigest(),
            "mapSha256": hashlib.sha256(bundle.map.text).hexdigest(),
            "plugins": sorted(map(plugin_of, self.directories)),
        }
        linked = [name for name in self.directories if plugin_of(name) != name]
        if linked:
            info["dev"] = sorted(map(plugin_of, linked))
        return (json.dumps(info, indent=2, ensure_ascii=False) + "\n").encode()

    def in_thread(
        self, work: Callable[..., T], *arguments: Any
    ) -> Coroutine[Any, Any, T]:
        """Call ``work`` in a thread, and wait for it even when cancelled."""
        # Nothing can stop a thread; these are short.
        return settled(
            self.builder.defer_to_thread(work, *arguments), stop=lambda: None
        )


def _check_size(size: int) -> None:
    most = limits.BUILD_PLUGIN_BYTES
    if size > most:
        taken = f"the plugin takes {size} bytes of the bundle or its map"
        raise BuildError(f"{taken}; at most {most} are for one plugin")
