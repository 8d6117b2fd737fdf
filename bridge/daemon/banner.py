"""The banner: what the daemon logs when it starts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .. import __version__
from ..approval import IApprover
from ..classes import frozen
from ..rpc.registry import Registry
from ..settings.config import Config
from ..sinks.fanout import Fanout


@frozen(eq=False, repr=False)
class Banner:
    """
    The facts an operator needs.

    :ivar approver: Confirms privileged operations.
    :ivar log_file: Where the page's log lines go, or ``disabled``.
    :ivar notices: Notices from the start that the operator should see.
    """

    config: Config
    data: Path
    theme_dir: Path
    token_file: Path
    registry: Registry
    fanout: Fanout
    approver: IApprover
    log_file: str
    notices: tuple[str, ...] = ()

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield the lines, each with its level; none contains the token."""
        yield "info", f"plugin-bridge {__version__}, host {self.config.host}"
        yield "info", f"data directory: {self.data}"
        yield "info", f"theme directory: {self.theme_dir}"
        yield "info", f"token file: {self.token_file}; --print-token prints the token"
        for name, described in self.registry.describe().items():
            yield "info", f"service {name}: {described['summary']}"
        yield from self._sinks()
        yield self._confirmation()
        yield "info", f"log file of the page: {self.log_file}"
        yield self._developer()
        yield self._origins()
        config = self.config
        yield (
            "info",
            f"rate: {config.rate:g} requests per second, burst {config.burst}; "
            f"{config.threads} threads",
        )
        for notice in self.notices:
            yield "warn", notice

    def _sinks(self) -> Iterator[tuple[str, str]]:
        targets = self.fanout.targets()
        if not targets:
            yield "warn", "no notification sink has started"
        for sink in targets:
            yield "info", f"sink {sink.name}: [{sink.health()}] {sink.description}"

    def _confirmation(self) -> tuple[str, str]:
        described = self.approver.description
        level = "warn" if described.startswith("none") else "info"
        return level, f"confirmation: {described}"

    def _developer(self) -> tuple[str, str]:
        if self.config.dev:
            return (
                "warn",
                "developer mode: ON; accepts calls over HTTP, and approves EVERY "
                "operation without asking",
            )
        return "info", "developer mode: off"

    def _origins(self) -> tuple[str, str]:
        added = self.config.allow_origin
        if added:
            return "warn", f"origins: loopback and {', '.join(added)}"
        return "info", "origins: loopback only"
