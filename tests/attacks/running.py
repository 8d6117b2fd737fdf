"""Runs every attack on each page, in tabs of one browser."""

import queue
import secrets
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from attrs import frozen

from ..e2e.browser import open_browser
from ..e2e.daemon import running
from ..webserver import Relay, serving, serving_directory
from .attacked import CONTROL, Attacked, Secrets, Seen
from .corpus import ATTACKER, VICTIM, Attack, attacks
from .placing import from_directory, place
from .servers import PAGES, Elsewhere, lay_out_pages
from .tab import open_tab

TABS: Final = 4
# Nothing in the background is slowed down, and no page is kept that was left.
FLAGS: Final = (
    "--disable-features=BackForwardCache,SpareRendererForSitePerProcess",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
)
RATES: Final = ("--rate=1000", "--burst=1000")

Outcomes = dict[tuple[str, str], Seen]
"""By the page's name and the attack's id."""


@frozen
class Fixture:
    """Everything that is needed for one page after the other."""

    elsewhere: Elsewhere
    tabs: tuple[Attacked, ...]


@contextmanager
def open_fixture() -> Iterator[Fixture]:
    """Start a daemon that builds the plugins, the browser and the servers."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(TemporaryDirectory(prefix="bridge-attacks-")))
        secret = f"secret-{secrets.token_hex(16)}"
        victim = from_directory(VICTIM, settings={"secret": secret})
        bundle = place(home, [from_directory(ATTACKER), victim])
        daemon = stack.enter_context(running(home, *RATES))
        kept = Secrets(daemon.token, cookie=secrets.token_hex(16), data=secret)
        elsewhere = Elsewhere()
        other = stack.enter_context(serving(elsewhere.answers()))
        lay_out_pages(home / "site", bundle.parent)
        page = stack.enter_context(serving_directory(home / "site"))
        browser = stack.enter_context(open_browser(*FLAGS))
        debugger = browser.chrome.capabilities["goog:chromeOptions"]["debuggerAddress"]
        tabs = []
        for _ in range(TABS):
            line = Relay(lambda _: daemon.port)
            stack.callback(line.close)
            tab = stack.enter_context(open_tab(debugger))
            attacked = Attacked(tab, line, page, other, kept)
            attacked.prepare()
            tabs.append(attacked)
        yield Fixture(elsewhere, tuple(tabs))


def run(fixture: Fixture, only: Collection[str] = ()) -> Outcomes:
    """
    Run attacks on each page.

    :param only: Beginnings of ids; all when empty.
    """
    chosen = [a for a in attacks() if not only or a.id.startswith(tuple(only))]
    work: queue.SimpleQueue[tuple[str, Attack]] = queue.SimpleQueue()
    for page in PAGES:
        for attack in (CONTROL, *chosen):
            work.put((page, attack))
    seen: Outcomes = {}

    def one_after_the_other(attacked: Attacked) -> None:
        while True:
            try:
                page, attack = work.get_nowait()
            except queue.Empty:
                return
            seen[page, attack.id] = attacked.attack(page, attack)

    with ThreadPoolExecutor(TABS) as pool:
        list(pool.map(one_after_the_other, fixture.tabs))
    # A request may have come after its attack was over.
    return {
        name: Seen(one.loot | {"request"}, one.note)
        if name in fixture.elsewhere.seen
        else one
        for name, one in seen.items()
    }
