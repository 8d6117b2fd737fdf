"""Runs every attack in every mode, each on a page that no other has changed."""

from __future__ import annotations

import queue
import secrets
import subprocess
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from attrs import frozen

from ..webserver import serving
from ..whole.browser import open_browser
from ..whole.daemon import Daemon, environment, running, set_up
from .attacked import CONTROL, Attacked, Secrets, Seen
from .corpus import Attack, attacks
from .modes import MODES, Mode
from .outcomes import Outcomes, read
from .servers import Elsewhere, Line, Site
from .tab import open_tab

TABS: Final = 4
# Nothing in the background is slowed down, and no page is kept that was left.
_FLAGS: Final = (
    "--disable-features=BackForwardCache,SpareRendererForSitePerProcess",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
)


@frozen
class Stand:
    """Everything that is needed for one page after the other."""

    elsewhere: Elsewhere
    tabs: tuple[Attacked, ...]


@contextmanager
def open_stand() -> Iterator[Stand]:
    """Build the bundles, and start the daemon, the browser and the servers."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(TemporaryDirectory(prefix="bridge-attacks-")))
        set_up(home)
        _build(home)
        rates = ("--rate=1000", "--burst=1000")
        daemon = stack.enter_context(running(home, *rates))
        kept = _keep_secrets(daemon)
        elsewhere = Elsewhere()
        other = stack.enter_context(serving(elsewhere.answers()))
        site = Site(home / "bundles")
        page = stack.enter_context(serving(site.answers()))
        browser = stack.enter_context(open_browser(*_FLAGS))
        debugger = browser.chrome.capabilities["goog:chromeOptions"]["debuggerAddress"]
        tabs = []
        for _ in range(TABS):
            line = Line(daemon.port)
            stack.callback(line.close)
            tab = stack.enter_context(open_tab(debugger))
            attacked = Attacked(tab, line, page, other, elsewhere, kept)
            attacked.prepare()
            tabs.append(attacked)
        yield Stand(elsewhere, tuple(tabs))


def _build(home: Path) -> None:
    command = (sys.executable, "-m", "tests.attacks.building")
    # The daemon has a directory of its own, without these plugins.
    building = home / "building"
    building.mkdir()
    done = subprocess.run(
        [*command, str(set_up(building)), str(home / "bundles")],
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _keep_secrets(daemon: Daemon) -> Secrets:
    kept = Secrets(
        token=daemon.token,
        cookie=secrets.token_hex(16),
        data=f"secret-{secrets.token_hex(16)}",
    )
    with daemon.page() as page:
        entry = {"ns": "plugin:victim", "key": "secret", "value": kept.data}
        page.result("state", "set", entry)
    return kept


def run(
    only: Collection[str] = (), modes: Collection[str] = ()
) -> tuple[Outcomes, dict[tuple[str, str], Seen]]:
    """
    Run attacks.

    :param only: Beginnings of ids; all when empty.
    :param modes: Names of modes; all when empty.
    :return: What they took, and what was seen of each page.
    """
    chosen = [a for a in attacks() if not only or a.id.startswith(tuple(only))]
    work: queue.SimpleQueue[tuple[Mode, Attack]] = queue.SimpleQueue()
    for mode in MODES:
        if not modes or mode.name in modes:
            for attack in (CONTROL, *chosen):
                work.put((mode, attack))
    seen: dict[tuple[str, str], Seen] = {}
    held = read()

    def one_after_the_other(attacked: Attacked) -> None:
        while True:
            try:
                mode, attack = work.get_nowait()
            except queue.Empty:
                return
            expected = held.get(attack.id, {}).get(mode.name, ())
            seen[mode.name, attack.id] = attacked.attack(mode, attack, expected)

    with open_stand() as stand:
        with ThreadPoolExecutor(TABS) as pool:
            list(pool.map(one_after_the_other, stand.tabs))
        return _outcomes(chosen, seen, stand.elsewhere.seen), seen


def _outcomes(
    chosen: Collection[Attack],
    seen: dict[tuple[str, str], Seen],
    requests: Collection[tuple[str, str]],
) -> Outcomes:
    taken: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for (mode, attack), one in seen.items():
        loot = set(one.loot)
        if (mode, attack) in requests:
            loot.add("request")
        if attack == CONTROL.id:
            assert not loot, (mode, one)
        elif loot:
            taken[attack][mode] = sorted(loot)
    return {attack.id: {"about": attack.about, **taken[attack.id]} for attack in chosen}
