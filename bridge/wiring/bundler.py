"""What runs the bundler: it scans sources, and builds bundles."""

from __future__ import annotations

import os
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.logger import Logger

from .. import __version__
from ..classes import frozen
from ..concurrency.threads import InThread
from ..datadir.ownership import NotOwnError
from ..datadir.paths import DataDir, DataDirError
from ..plugins.bundle.build import Builder, Report
from ..plugins.esbuild.executable import BundlerError, Executable, HeldCopy
from ..plugins.policy.scan import Scanner
from ..plugins.tree.tree import Verify
from ..settings.options import Paths
from ..system.locks import Lock, LockedError, acquire

BUILD_PATIENCE_SECONDS = 90.0
BUILD_AGAIN_SECONDS = 0.05


def make_scanner(
    reactor: Any, paths: Paths, in_thread: InThread, bundler: HeldCopy
) -> Scanner:
    """Make what scans plugins' sources; see ``make_builder``."""

    def executable() -> Executable:
        try:
            return bundler.get(paths.data.checked(paths.data.bin))
        except NotOwnError as e:
            raise BundlerError(str(e)) from None

    return Scanner(reactor, in_thread, executable, os.urandom)


def make_builder(
    reactor: Any, paths: Paths, in_thread: InThread, bundler: HeldCopy
) -> ExclusiveBuilder:
    """
    Make what builds bundles for a host.

    :param bundler: One for all that runs the bundler.
    """
    log = Logger(namespace="bridge.build")
    builder = Builder(
        paths.profile,
        paths.data,
        paths.theme_dir,
        reactor,
        in_thread,
        __version__,
        lambda text: log.warn("bundler warning: {text}", text=text),
        bundler,
    )
    return ExclusiveBuilder(builder, paths.data, reactor, in_thread)


@frozen(eq=False, repr=False)
class ExclusiveBuilder:
    """
    Builds while holding the directory's build lock; see docs/decisions/0006.

    Another process may be building there: a daemon, or an installer.
    """

    _builder: Builder
    _data: DataDir
    _reactor: Any
    _in_thread: InThread

    def build(self, verify: Verify) -> Deferred[Report]:
        """See ``bridge.plugins.bundle.build.Builder.build``."""
        return Deferred.fromCoroutine(self._build(verify))

    async def _build(self, verify: Verify) -> Report:
        try:
            lock = await self._lock()
        except DataDirError as e:
            return not_built(str(e))
        except LockedError:
            return not_built(
                f"another build has been running for {BUILD_PATIENCE_SECONDS:g} s"
            )
        except OSError as e:
            why = e.strerror or "I/O error"
            return not_built(f"the bundle could not be made: {why}")
        try:
            return await self._builder.build(verify)
        finally:
            lock.release()

    async def _lock(self) -> Lock:
        end = self._reactor.seconds() + BUILD_PATIENCE_SECONDS
        while True:
            try:
                lock: Lock = await self._in_thread(self._try_lock)
            except LockedError:
                if self._reactor.seconds() >= end:
                    raise
            else:
                return lock
            await deferLater(self._reactor, BUILD_AGAIN_SECONDS)

    def _try_lock(self) -> Lock:
        # Somebody may have removed what the daemon's start made.
        self._data.create()
        return acquire(self._data.build / "lock")


def not_built(error: str) -> Report:
    """Report that nothing was built."""
    return Report(ok=False, duration_ms=0, plugins=[], errors=[error])
