"""
The cost of a fetch, compared with plain treq and the same server.

Both have a connection of their own for each request.  The server is in the same
process, so both times are of client and server.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import treq
from orjson import Fragment
from twisted.web.resource import Resource
from twisted.web.server import Site

from bridge.concurrency.threads import Pool
from bridge.http.client import HttpClient
from bridge.http.target import AddressPolicy
from bridge.rpc import HTTP_CALLER
from bridge.services.outbound import FetchParams, Outbound

from .table import Row

HERE = "127.0.0.1"
SIZES = {"1 KiB": 1024, "1 MiB": 1024 * 1024}
ROUNDS = 100


class Page(Resource):
    """Answers with so many characters."""

    isLeaf = True

    def render_GET(self, request: Any) -> bytes:
        """Give them."""
        return b"x" * int(request.path.strip(b"/"))


async def timed(ask: Callable[[str], Awaitable[Any]], url: str) -> float:
    """Time one request, in milliseconds."""
    begun = time.perf_counter()
    await ask(url)
    return (time.perf_counter() - begun) * 1000


async def rows(net: Any) -> list[Row]:
    """Fetch by the daemon's client and by treq, in turns."""
    site = Site(Page())  # type: ignore[no-untyped-call]
    site.noisy = False
    port = net.listenTCP(0, site, interface=HERE)
    number = port.getHost().port
    pool = Pool(net, "benchmark", 2)
    pool.start()
    policy = AddressPolicy(also=frozenset({(HERE, number)}))
    client = HttpClient(net, pool.call)
    service = Outbound(policy, net, pool.call, client)

    async def ours(url: str) -> Fragment:
        return (await service.fetch(FetchParams(url), HTTP_CALLER)).body

    async def plain(url: str) -> str:
        response = await treq.get(url, persistent=False)
        text: str = await response.text()
        return text

    found = []
    for name, size in SIZES.items():
        url = f"http://{HERE}:{number}/{size}"
        own, base = [], []
        for _ in range(ROUNDS):
            base.append(await timed(plain, url))
            own.append(await timed(ours, url))
        found.append(Row(f"fetch of {name}", min(own), "ms", 1.15, min(base), "treq"))
    await port.stopListening()
    pool.stop()
    return found
