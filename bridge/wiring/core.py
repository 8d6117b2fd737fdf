"""What every other part depends on: reactor, options, threads, state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..classes import frozen
from ..concurrency.threads import Pool
from ..freedesktop.notifications import Notifications
from ..http.client import HttpClient
from ..protocol.limits import OUTBOUND_THREADS, SQL_STATEMENTS_AT_ONCE
from ..rpc import Hub
from ..settings.config import Config
from ..settings.options import Paths
from ..store.store import Store


@frozen(eq=False, repr=False)
class Threads:
    """
    The pools, in the order in which they end; see docs/decisions/0007.

    :ivar fetches: Reads what was fetched.
    :ivar checks: Unpacks, reads and validates trees.
    :ivar sql: Reads databases.
    :ivar icons: Decodes the images of notifications.
    :ivar logs: Writes the page's log lines.
    :ivar disk: Writes the state file.
    """

    fetches: Pool
    checks: Pool
    sql: Pool
    icons: Pool
    logs: Pool
    disk: Pool

    @classmethod
    def make(cls, reactor: Any, size: int) -> Threads:
        """Make them; they work once started."""
        return cls(
            fetches=Pool(reactor, "fetches", OUTBOUND_THREADS),
            checks=Pool(reactor, "checks", size),
            sql=Pool(reactor, "sql", SQL_STATEMENTS_AT_ONCE),
            icons=Pool(reactor, "icons", 1),
            logs=Pool(reactor, "logs", 1),  # keeps the lines in their order
            disk=Pool(reactor, "disk", 1),
        )


@frozen(eq=False, repr=False)
class Core:
    """
    The dependencies that the parts share.

    :ivar config: The options, from the command line and the environment.
    :ivar paths: The host's profile, and the directories.
    :ivar store: The state.
    :ivar hub: Pushes events to the pages.
    :ivar desktop: The user's desktop, if there is one.
    :ivar client: Makes every request of the daemon.
    :ivar now: The time of day, in seconds since the epoch.
    """

    reactor: Any
    config: Config
    paths: Paths
    threads: Threads
    store: Store
    hub: Hub
    desktop: Notifications
    client: HttpClient
    now: Callable[[], float]
