"""The banner: what the daemon logs when it starts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .. import __version__
from ..approval.approvers import Approver
from ..classes import frozen
from ..rpc import Registry
from ..settings.config import Config
from ..settings.options import Paths
from ..sinks.fanout import Fanout

_WIDTH: Final = 16
_COMMAND: Final = 30


@frozen(eq=False, repr=False)
class Banner:
    """
    The facts an operator needs.

    :ivar approver: Confirms privileged operations.
    :ivar log_file: Where the page's log lines go, or ``disabled``.
    :ivar notices: Notices from the start that the operator should see.
    """

    config: Config
    paths: Paths
    registry: Registry
    fanout: Fanout
    approver: Approver
    log_file: str
    notices: tuple[str, ...] = ()

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield the lines, each with its level; none contains the token."""
        config = self.config
        yield "info", f"plugin-bridge {__version__}, host {config.host}"
        services = self.registry.describe()
        for name, described in services.items():
            yield "debug", f"service {name}: {described['summary']}"
        for sink in self.fanout.targets():
            yield "debug", f"sink {sink.name}: [{sink.health()}] {sink.description}"
        rate = f"{config.rate:g} requests per second, burst {config.burst}"
        for level, name, text in (
            ("info", "data", f"{self.paths.data.root}"),
            ("info", "themes", f"{self.paths.theme_dir}"),
            ("info", "token file", f"{self.paths.data.token}; --print-token prints it"),
            ("info", "services", ", ".join(services)),
            self._sinks(),
            self._confirmation(),
            ("info", "page's log", self.log_file),
            self._developer(),
            self._origins(),
            ("info", "rate", f"{rate}; {config.threads} threads"),
        ):
            yield level, f"{name:<{_WIDTH}}{text}"
        for notice in self.notices:
            yield "warn", notice
        yield from self._next()

    def _sinks(self) -> tuple[str, str, str]:
        targets = self.fanout.targets()
        if not targets:
            return "warn", "sinks", "none: no notification sink has started"
        found = ", ".join(f"{sink.name} [{sink.health()}]" for sink in targets)
        return "info", "sinks", found

    def _confirmation(self) -> tuple[str, str, str]:
        described = self.approver.description
        level = "warn" if described.startswith("none") else "info"
        return level, "confirmation", described

    def _developer(self) -> tuple[str, str, str]:
        name = "developer mode"
        if self.config.dev:
            on = "ON; accepts calls over HTTP, and approves EVERY operation unasked"
            return "warn", name, on
        return "info", name, "off"

    def _origins(self) -> tuple[str, str, str]:
        added = self.config.allow_origin
        if added:
            return "warn", "origins", f"loopback and {', '.join(added)}"
        return "info", "origins", "loopback only"

    def _next(self) -> Iterator[tuple[str, str]]:
        """Yield what to do next."""
        place = self.paths.typed
        page = "open" if self.config.host == "reference" else "run --print-token"
        what = "show the page" if page == "open" else "pair the page with the token"
        for command, about in (
            (f"{page} {place}", what),
            (f"install {place} URL", "install a plugin"),
            (f"doctor {place}", "find problems"),
        ):
            yield "info", f"next: plugin-bridge {command:<{_COMMAND}}  {about}"
