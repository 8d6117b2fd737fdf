"""What every other part depends on: reactor, options, threads, state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ..concurrency.threads import Pool
from ..http.client import HttpClient
from ..protocol.limits import OUTBOUND_THREADS, SQL_STATEMENTS_AT_ONCE
from ..protocol.text import Secrets
from ..rpc.hub import Hub
from ..settings.config import Config
from ..settings.options import Paths
from ..store import Store
from ..web.guard import Guard

if TYPE_CHECKING:
    from ..freedesktop import INotifications


@frozen(eq=False, repr=False)
class Threads:
    """
    The pools; see docs/decisions/0007.

    :ivar disk: Writes the state file.
    :ivar logs: Writes the page's log lines.
    :ivar checks: Unpacks, reads and validates trees.
    :ivar sql: Reads databases.
    :ivar icons: Decodes the images of notifications.
    :ivar fetches: Reads what was fetched, and what was evaluated.
    """

    disk: Pool
    logs: Pool
    checks: Pool
    sql: Pool
    icons: Pool
    fetches: Pool

    @classmethod
    def make(cls, reactor: Any, size: int) -> Threads:
        """Make them; they work once started."""
        sizes = {"disk": 1, "logs": 1, "icons": 1, "checks": size}
        sizes["sql"] = SQL_STATEMENTS_AT_ONCE
        sizes["fetches"] = OUTBOUND_THREADS
        return cls(**{name: Pool(reactor, name, n) for name, n in sizes.items()})

    def all(self) -> list[Pool]:
        """Return all of them, in the order in which they end."""
        return [
            self.fetches,
            self.checks,
            self.sql,
            self.icons,
            self.logs,
            self.disk,
        ]


@frozen(eq=False, repr=False)
class Foundation:
    """
    What there is before the first part.

    :ivar config: The options, from the command line and the environment.
    :ivar paths: The host's profile, and the directories.
    :ivar store: The state.
    :ivar hub: Pushes events to the pages.
    """

    reactor: Any
    config: Config
    paths: Paths
    threads: Threads
    store: Store
    hub: Hub


@frozen(eq=False, repr=False)
class Front(Foundation):
    """
    What there is when the daemon begins to listen.

    :ivar guard: Decides which requests of pages are accepted.
    :ivar control_guard: The same for commands, with a budget of its own.
    :ivar secrets: Returns what no log line may contain.
    :ivar port: The port that is listened on.
    :ivar health: Returns the body for the liveness probe.
    :ivar notice: What the operator should know of the data directory; or ``None``.
    """

    guard: Guard
    control_guard: Guard
    secrets: Secrets
    port: int
    health: Callable[[], bytes]
    notice: str | None


@frozen(eq=False, repr=False)
class Core(Foundation):
    """
    The dependencies that the parts share.

    :ivar desktop: The user's desktop, if there is one.
    :ivar client: Makes every request of the daemon.
    """

    desktop: INotifications
    client: HttpClient
