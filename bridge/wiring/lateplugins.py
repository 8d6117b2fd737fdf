"""The parts that handle plugins, made by the first call or for what was left to do."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from attrs import define, field

from .. import __version__
from ..approval import DevApprover, IApprover, announcer, native_approver
from ..plugins.bundle.published import STAGING_PREFIX, is_current
from ..plugins.installed.ids import TEMPORARY, installed_ids
from ..protocol.errors import shutting_down
from ..provision.readiness import build_problem
from ..rpc.registry import LateService, Registry
from ..services.pluginoutline import METHODS, SUMMARY, PluginOutline
from ..system.memory import trim_after_loading
from .core import Core
from .installation import Installation

if TYPE_CHECKING:
    from .plugins import PluginWiring


def make_approver(core: Core) -> IApprover:
    """Make what confirms privileged operations."""
    application = core.paths.profile.application
    if core.config.dev:
        return DevApprover(announcer(core.desktop, application))
    return native_approver(
        sys.platform, core.reactor, core.desktop, application, os.urandom
    )


@define(eq=False, repr=False)
class LatePlugins:
    """
    Makes the parts that handle plugins when they are first needed.

    They are a fifth of what the daemon would load, and many pages never call them.

    :ivar made: They, once they are made.
    """

    _core: Core
    _approver: IApprover
    _outline: PluginOutline
    _installation: Installation = field(factory=Installation.current)
    made: PluginWiring | None = field(default=None, init=False)
    _prepared: bool = field(default=False, init=False)
    _closed: bool = field(default=False, init=False)

    def service(self) -> LateService:
        """Return the service, for the registry."""
        return LateService(SUMMARY, METHODS, self._outline.describe, self._load)

    def for_commands(self, registry: Registry) -> Registry:
        """Return what commands may call: what pages may, and with ``--dev`` links."""
        if not self._core.config.dev:
            return registry
        return registry.extended("dev", self._make().links)

    def make_if_needed(self) -> list[str]:
        """
        Make them now if there is something to do without a call.

        :return: Notices for the operator.
        :raise JournalError: What a killed daemon was doing can't be settled.
        """
        return self._make().notices if self._has_work() else []

    def prepare(self) -> None:
        """Resume what was interrupted; blocks briefly."""
        self._prepared = True
        if self.made is not None:
            self.made.prepare()

    def close(self) -> None:
        """Make them no more."""
        self._closed = True

    def _load(self) -> object:
        if self.made is None:
            if self._closed:
                raise shutting_down()
            made = self._make()
            if self._prepared:
                made.prepare()
        return self._make().service

    def _make(self) -> PluginWiring:
        if self.made is None:
            self._installation.check()
            from .plugins import make_plugins

            self.made = make_plugins(self._core, self._approver, self._outline)
            trim_after_loading()
        return self.made

    def _has_work(self) -> bool:
        """Whether a killed daemon has left something, or authors may link plugins."""
        data, theme = self._core.paths.data, self._core.paths.bundle.parent
        return bool(
            self._core.config.dev
            or os.path.lexists(data.journal)
            or os.path.lexists(f"{data.journal}.tmp")
            or any(data.plugins.glob(TEMPORARY))
            or any(theme.glob(f"{STAGING_PREFIX}*"))
            or self._needs_build()
        )

    def _needs_build(self) -> bool:
        paths, recorded = self._core.paths, installed_ids(self._core.store)
        return not (
            is_current(paths.bundle, __version__, recorded) or build_problem(paths)
        )
