"""What a page learns of the ``plugins`` service before it calls it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from attrs import define

from ..approval import IApprover
from ..plugins.installed.ids import Entries, installed_ids

SUMMARY: Final = "Clones, verifies and compiles plugins."

METHODS: Final = (
    "install",
    "preview",
    "operations",
    "cancel",
    "list",
    "check_updates",
    "update",
    "uninstall",
    "build",
    "keys",
    "forget_key",
)
"""The names of its methods; the service itself is loaded by the first call."""


@define(eq=False, repr=False)
class PluginOutline:
    """
    Describes the service; it needs none of what clones, scans and builds.

    :ivar directory: Where plugins are.
    :ivar bundle: Where the bundle is published.
    :ivar build_problem: Returns why no bundle can be built; empty when one can.
    """

    _store: Entries
    _directory: Path
    _bundle: Path
    _approver: IApprover
    _build_problem: Callable[[], str] = str

    def describe(self) -> dict[str, Any]:
        """
        Return where plugins are, and how installing one is confirmed.

        ``cannotBuild`` is there only when something is missing: why no bundle can be
        built, and what to run.
        """
        problem = self._build_problem()
        return {
            **({"cannotBuild": problem} if problem else {}),
            "pluginsDir": str(self._directory),
            "bundle": str(self._bundle),
            "confirmation": self._approver.description,
            "signatures": "ed25519, required",
            "installed": installed_ids(self._store),
        }
