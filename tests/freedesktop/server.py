"""A notification server in a process of its own, as a bus starts it."""

import sys
from types import SimpleNamespace

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from .buses import serve


async def main(socket):
    """Serve on the bus at ``socket`` until it ends."""
    bus = SimpleNamespace(socket=socket)
    server = await serve(SynchronousTestCase(), bus, "actions", name="Started")
    server.link.lost = reactor.stop
    sys.stdout.write("serving\n")
    sys.stdout.flush()


if __name__ == "__main__":
    Deferred.fromCoroutine(main(sys.argv[1]))
    reactor.run()
