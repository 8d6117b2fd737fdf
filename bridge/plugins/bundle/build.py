"""
The build: from a set of installed plugins to a published bundle.

The steps are the specification's: verify the trees and the bundler, write the import
table, run the bundler, validate what it read, publish.  On failure, the previous bundle
stays.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from attrs import define, field, frozen
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from ...concurrency.threads import InThread
from ...datadir.paths import DataDir
from ...protocol.limits import BUILD_SECONDS
from ...settings.host import HostProfile
from ..esbuild.executable import BundlerError, Executable, HeldCopy
from ..esbuild.pins import BINARY_NAME
from ..esbuild.process import settled
from ..policy.reader.encoding import PacketError
from ..policy.reader.service import TooComplexError, converse
from ..tree.tree import Verify
from .bundlerprocess import BuildReactor, arguments, run_bundler
from .confinement.alone import own_arguments, too_complex
from .confinement.boundfiles import Bound
from .inputs.metafile import BuildError
from .plugintable import plugin_of
from .staging import Staging

_CLAIM_SECONDS: Final = 0.1

T = TypeVar("T")


@frozen
class Report:
    """
    The result of a build, in the form that goes over the wire.

    :ivar ok: Whether there is a new bundle.
    :ivar duration_ms: How many milliseconds it took.
    :ivar plugins: The ids that were to be in the bundle, sorted.
    :ivar errors: Why there is no new bundle; when there is one, which installed plugins
        were left out of it, and why.
    """

    ok: bool
    duration_ms: int
    plugins: list[str]
    errors: list[str]


@frozen
class Builder:
    """
    Makes bundles.  The caller must run one build at a time.

    :ivar theme_dir: The directory the host application loads themes from.
    :ivar defer_to_thread: Calls a function in a thread.
    :ivar version: The daemon's, for ``info.json``.
    :ivar warn: Accepts the bundler's warnings about a bundle it made.
    :ivar bundler: The verified bundler, kept from one build to the next.
    :ivar bound: What the last build has bound, if it succeeded; see ``BoundFiles``.
    """

    profile: HostProfile
    data: DataDir
    theme_dir: Path
    reactor: BuildReactor
    defer_to_thread: InThread
    version: str
    warn: Callable[[str], None]
    bundler: HeldCopy = field(factory=HeldCopy)
    bound: dict[str, Bound] = field(factory=dict, init=False)

    def build(self, verify: Verify) -> Deferred[Report]:
        """
        Verify plugins, build their bundle and publish it.

        A cancelled build has published a whole bundle or nothing, and ends only when
        nothing else is left of it.

        :param verify: Returns what it is to be made of; called in a thread, right
            before the build begins: no build of another daemon is waited for between.
        :return: Fires with the report; a failed build is a report too.
        """
        return Deferred.fromCoroutine(self._build(verify))

    async def _build(self, verify: Verify) -> Report:
        started = self.reactor.seconds()
        folder = self.theme_dir / self.profile.theme_name
        staging = Staging(
            self.profile, self.data, folder, self.version, self.bundler, self.bound
        )
        errors = []
        try:
            await self._publish(staging, verify)
        except BundlerError as e:
            errors.append(str(e))
        except OSError as e:
            errors.append(f"the bundle could not be made: {e.strerror or 'I/O error'}")
        duration = round((self.reactor.seconds() - started) * 1000)
        ids = sorted(map(plugin_of, staging.trees))
        return Report(not errors, duration, ids, errors)

    async def _publish(self, staging: Staging, verify: Verify) -> None:
        run = _BuildRun(self, staging)
        try:
            await run.steps(verify)
        except BaseException:
            # Whatever is wrong, the next build starts from the trees again.
            self.bound.clear()
            raise
        finally:
            if staging.is_open:
                await run.in_thread(staging.discard)


@define
class _BuildRun:
    """One build under way."""

    builder: Builder
    staging: Staging

    async def steps(self, verify: Verify) -> None:
        """Run every step in order."""
        b, staging = self.builder, self.staging
        executable = await self.begin(verify)
        warnings = await self.confine(executable)
        warnings += await self.run(executable, arguments(b.profile, staging.directory))
        await self.in_thread(staging.finish)
        if warnings:
            b.warn(warnings)

    async def run(self, executable: Executable, options: Sequence[str]) -> str:
        """Run the bundler; return its warnings."""
        b = self.builder
        command = [str(b.data.bin / BINARY_NAME), *options]
        # The directory's real path: the bundler reports files relative to it.
        return await run_bundler(b.reactor, executable, command, self.staging.root)

    async def confine(self, executable: Executable) -> str:
        """
        Bundle each plugin alone and bind its names, if the profile asks for it.

        Those that are bound already are left out.

        :return: The bundler's warnings.
        """
        b, confinement = self.builder, self.staging.confinement
        if confinement is None or not confinement.fresh:
            return ""
        fresh = confinement.fresh
        options = own_arguments(b.profile, fresh, self.staging.directory)
        warnings = await self.run(executable, options)
        bindings = await self.in_thread(confinement.unbound)
        try:
            await converse(b.reactor, executable, bindings)
        except TooComplexError as e:
            raise too_complex(e, fresh) from None
        except PacketError as e:
            raise BuildError(f"the bundler is not the pinned one: {e}") from None
        await self.in_thread(confinement.bind, bindings)
        return warnings

    async def begin(self, verify: Verify) -> Executable:
        """
        Verify and prepare, as soon as no other daemon builds into the same theme
        directory.

        :return: The bundler.
        :raise BuildError: Another daemon took longer than a build may take.
        """
        clock = self.builder.reactor
        given_up = clock.seconds() + BUILD_SECONDS
        while True:
            executable = await self.in_thread(self.staging.begin, verify)
            if executable is not None:
                return executable
            if clock.seconds() >= given_up:
                raise BuildError("another daemon builds into the same theme directory")
            await deferLater(clock, _CLAIM_SECONDS)

    def in_thread(
        self, work: Callable[..., T], *arguments: Any
    ) -> Coroutine[Any, Any, T]:
        """Call ``work`` in a thread, and wait for it even when cancelled."""
        # Nothing can stop a thread; these are short.
        return settled(
            self.builder.defer_to_thread(work, *arguments), stop=lambda: None
        )
