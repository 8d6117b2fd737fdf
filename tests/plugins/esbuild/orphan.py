"""A process that has the bundler compute for long, and prints its process id."""

import sys

from twisted.internet.defer import Deferred

from bridge.plugins.esbuild.conversation import Limits, converse
from bridge.plugins.esbuild.executable import Executable
from bridge.protocol.limits import MIB
from tests.npm import esbuild

from ...reactors import reactor


async def work(bundler) -> None:
    """Have a text read that takes about a minute."""
    sys.stdout.write(f"{bundler.transport.pid}\n")
    sys.stdout.flush()
    text = b"var a=1;" * 100_000
    await bundler.ask(
        {"command": "transform", "flags": [], "inputFS": False, "input": text}
    )


if __name__ == "__main__":
    limits = Limits(60, 60, 10 * MIB, 512 * MIB)
    Deferred.fromCoroutine(
        converse(reactor, Executable(str(esbuild()), "mend it"), limits, work)
    )
    reactor.run()
