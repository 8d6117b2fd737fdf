"""
How much longer the first call of a service takes than a later one.

Run ``python -m benchmarks.firstuse``.  A start loads all of ours, but not every heavy
library: a service loads its own when it is first called.  Each service is called by the
first page of a daemon of its own.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.whole.daemon import Page, set_up

from .pages import Peers, peers, samples, udp
from .probe import Probed, probed

ROUNDS: Final = 3
_LATER: Final = 4
_LOADED_SECONDS: Final = 1.5

Use = Callable[[Probed, Page], object]


def uses(reached: Peers) -> dict[str, Use]:
    """Return a use of each service, by name; a build is one too, and so is HTTP."""

    def call(name: str, params: dict[str, Any]) -> Use:
        service, _, method = name.partition("/")
        return lambda _, page: page.result(service, method, params)

    calls = {**samples(reached), "plugins/list": {}, "plugins/build": {}}
    return {
        "HTTP": lambda watched, _: watched.daemon.http("GET", "/v1/describe"),
        **{name: call(name, params) for name, params in calls.items()},
    }


def longer(use: Use, watched: Probed, page: Page) -> float:
    """Return how many seconds longer the first use takes than the best later one."""
    taken = []
    for _ in range(1 + _LATER):
        begun = time.perf_counter()
        use(watched, page)
        taken.append(time.perf_counter() - begun)
    return taken[0] - min(taken[1:])


def measure(rounds: int = ROUNDS) -> dict[str, float]:
    """Return the best of some rounds for each service, in seconds."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as directory, peers() as reached, udp() as sink:
        home = Path(directory)
        set_up(home)
        to = f"--overlay-addr=127.0.0.1:{sink.getsockname()[1]}"
        for name, use in list(uses(reached).items()) * rounds:
            with probed(home, reached.http, "--sink=overlay", to) as watched:
                time.sleep(_LOADED_SECONDS)
                with watched.daemon.page() as page:
                    found.setdefault(name, []).append(longer(use, watched, page))
    return {name: min(each) for name, each in found.items()}


def main() -> None:
    """Measure, and print."""
    for name, seconds in measure().items():
        print(f"{seconds * 1000:6.1f} ms longer: {name}")


if __name__ == "__main__":
    main()
