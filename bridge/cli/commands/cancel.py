"""``plugin-bridge cancel``: plugin operations under way, and an end to one of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, ClassVar

from ...protocol.text import visible
from ...wiring import oneshot
from ..asking.client import CallerOptions, ended, find
from ..asking.pagesocket import PageSocket, connect


class CancelOptions(CallerOptions):
    """The command line of ``plugin-bridge cancel``."""

    synopsis = "Usage: plugin-bridge cancel [--host NAME|PATH] [OPERATION]"
    longdesc = (
        "Cancels an install, an update, a preview or another plugin operation of the "
        "running daemon, and waits until it is rolled back. Without OPERATION, lists "
        "the operations under way: the name of each, what it does, and its step. It is "
        "too late once the daemon puts the plugin in place. Exit status: 0 done, 1 "
        "refused, 2 wrong usage, 3 no daemon is running."
    )
    optFlags: ClassVar[list[list[str | None]]] = []

    def parseArgs(self, operation: str = "") -> None:
        """Accept the operation's name."""
        self["operation"] = operation


def main(arguments: list[str]) -> int:
    """List or cancel, and return the exit status."""
    from twisted.internet import reactor

    options = CancelOptions()
    options.parseOptions(arguments)
    return ended("cancel", lambda: _cancel(reactor, options))


def _cancel(reactor: Any, options: CancelOptions) -> int:
    client = find(options, dev=False)

    async def work() -> str:
        page = await connect(reactor, client)
        try:
            return await cancelled(page, options["operation"])
        finally:
            page.close()

    sys.stdout.write(oneshot.run(reactor, work))
    return 0


async def cancelled(page: PageSocket, operation: str) -> str:
    """
    Cancel an operation, or list them when ``operation`` is empty.

    :return: What to print.
    :raise BridgeError: The daemon refuses.
    """
    if operation:
        await page.call("plugins", "cancel", {"operation": operation})
        return "cancelled\n"
    answer = await page.call("plugins", "operations", {})
    return listing(answer["operations"])


def listing(operations: Iterable[dict[str, Any]]) -> str:
    """Format the operations under way, one line for each."""
    lines = [
        "  ".join(
            visible(str(operation[name]))
            for name in ("operation", "op", "id", "step", "message")
            if operation[name] is not None
        )
        + ("" if operation["cancellable"] else "  (too late to cancel)")
        for operation in operations
        if "outcome" not in operation
    ]
    return "".join(f"{line}\n" for line in lines) or "no operation is under way\n"
