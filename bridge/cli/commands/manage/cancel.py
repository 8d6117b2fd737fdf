"""``plugin-bridge cancel``: plugin operations under way, and an end to one of them."""

from __future__ import annotations

from typing import Any

from ....protocol.text import visible
from ...asking.session import EXIT_STATUS, ManageOptions, Session, manage


class CancelOptions(ManageOptions):
    """The command line of ``plugin-bridge cancel``."""

    synopsis = "Usage: plugin-bridge cancel [--json] [--host NAME|PATH] [OPERATION]"
    longdesc = (
        "Cancels an install, an update, a preview or another plugin operation of the "
        "running daemon, and waits until it is rolled back. Without OPERATION, lists "
        "the operations under way: the name of each, what it does, and its step. It is "
        f"too late once the daemon puts the plugin in place. {EXIT_STATUS}"
    )

    def parseArgs(self, operation: str = "") -> None:
        """Accept the operation's name."""
        self["operation"] = operation


def main(arguments: list[str]) -> int:
    """List or cancel, and return the exit status."""
    options = CancelOptions()
    options.parseOptions(arguments)
    return manage(
        "cancel",
        options,
        lambda session: cancel(session, options["operation"]),
    )


def cancel(session: Session, operation: str) -> int:
    """
    Cancel an operation, or list them when ``operation`` is empty.

    :return: The exit status.
    :raise BridgeError: The daemon refuses.
    """
    if operation:
        session.call("plugins", "cancel", operation=operation)
        session.print({"cancelled": operation}, ["cancelled"])
        return 0
    answer = session.call("plugins", "operations")
    going = [entry for entry in answer["operations"] if "outcome" not in entry]
    lines = [line_of(entry) for entry in going]
    session.print({"operations": going}, lines or ["no operation is under way"])
    return 0


def line_of(operation: dict[str, Any]) -> str:
    """Format an operation that is under way."""
    names = ("operation", "op", "id", "step", "message")
    known = [str(operation[name]) for name in names if operation[name] is not None]
    if not operation["cancellable"]:
        known.append("(too late to cancel)")
    return visible("  ".join(known))
