"""
A user on a session bus: ``python -m tests.model.user SOCKET MOOD``.

A notification server that presses a button of each prompt at once: the first one if
the file ``MOOD`` holds ``confirm``, or else the second one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from ..freedesktop.buses import Program, serve


def answer(server: Program, mood: Path) -> None:
    """Press a button of every prompt that was not answered yet."""
    for number, (_, _, _, _, _, actions, *_) in enumerate(server.named("Notify"), 1):
        if number <= len(pressed) or not actions:
            continue
        confirm, deny = actions[0], actions[2]
        pressed.append(number)
        choice = confirm if mood.read_text("ascii") == "confirm" else deny
        server.emit("ActionInvoked", number, choice)


pressed: list[int] = []


async def main(socket: str, mood: Path) -> None:
    """Serve on the bus at ``socket`` until it ends."""
    bus = SimpleNamespace(socket=socket)
    server = await serve(SynchronousTestCase(), bus, "actions", name="Model")
    server.link.lost = reactor.stop
    called = server._called

    def watched(message: object) -> None:
        called(message)
        answer(server, mood)

    server.link.methodCallReceived = watched
    sys.stdout.write("ready\n")
    sys.stdout.flush()


if __name__ == "__main__":
    Deferred.fromCoroutine(main(sys.argv[1], Path(sys.argv[2])))
    reactor.run()
