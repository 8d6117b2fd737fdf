"""
A fixed walk through everything, also of daemons with a defect.

``python -m tests.model.scenarios [DEFECT]`` exits with 1 when the model differs.
"""

import errno
import sys
from contextlib import nullcontext
from typing import Any
from unittest import mock

import bridge.plugins.installed.records
import bridge.plugins.operations.changes
import bridge.plugins.operations.settlement
import bridge.store.store
import bridge.wiring.services
from bridge.plugins.installed.exchange import Exchange, Journal
from bridge.plugins.installed.records import removal
from bridge.store.store import Store

from ..disk import Plan
from ..plugins.operations.bench import NOW
from .driver import Driver
from .expected import Ask
from .observing import MismatchError
from .published import KEYS
from .simulation import be_quiet

HOST = Ask("set", "host", "x", 1)
SETTING = Ask("set", "plugin:alpha", "x", 1)
BUILD = Ask("build")
INSTALL = Ask("install", "alpha")
UPDATE = Ask("update", "alpha")
UNINSTALL = Ask("uninstall", "alpha")
FORGET = Ask("forget", KEYS[0])


def use(driver: Driver) -> None:
    """Use everything once, while nothing goes wrong."""
    driver.ask([SETTING, HOST])
    driver.ask([INSTALL])
    driver.forge.publish("alpha", 1, 0, NOW + 5)
    driver.ask([UPDATE])
    driver.forge.publish("alpha", 2, 0, NOW + 6, is_broken=True)
    for seed in range(6):
        driver.ask([UPDATE, BUILD], seed)
    driver.ask([FORGET])
    driver.forge.publish("alpha", 1, 0, NOW + 5)
    driver.ask([UPDATE])
    driver.ask([UNINSTALL], mood="deny")
    driver.ask([UNINSTALL], mood="away")
    driver.ask([UNINSTALL])
    driver.forge.publish("alpha", 3, 0, NOW + 4)
    driver.ask([INSTALL])
    driver.ask([UNINSTALL])
    driver.forge.publish("alpha", 4, 0, NOW + 3)
    driver.ask([INSTALL])
    driver.forge.publish("alpha", 4, 0, NOW + 4)
    driver.ask([INSTALL])
    driver.forge.publish("alpha", 4, 0, NOW + 7)
    driver.jump(-3600)
    driver.jump(3600)
    driver.restart()


def fail(driver: Driver) -> None:
    """Let single calls fail, and then three in a row."""
    for first in range(7):
        driver.ask([Ask("set", "host", "y", first)], plan=Plan(first, 1, errno.EIO))
        driver.restart()
    for first in range(0, 50, 3):
        asked = [driver.aimed(UNINSTALL)]
        driver.ask(asked, plan=Plan(first, 1, errno.ENOSPC))
    for first in range(12, 28):
        # Refused after the record was written; the kill comes before the next write.
        driver.ask([driver.aimed(INSTALL)], plan=Plan(first, 3, errno.EIO))
        driver.kill([BUILD], 0, Plan(0))
        if driver.model.installed:
            driver.ask([UNINSTALL])


def kill(driver: Driver) -> None:
    """Kill the daemon at many calls."""
    for first in range(1, 16, 2):
        settings = [Ask("set", "host", key, first) for key in "xyz"]
        driver.kill(settings, 0, Plan(first))
    for first in range(0, 50, 4):
        driver.kill([driver.aimed(INSTALL)], 0, Plan(first))
    for first in range(0, 40, 4):
        driver.kill([driver.aimed(UNINSTALL)], 0, Plan(first))
    for first in range(0, 20, 3):
        driver.kill([BUILD], 0, Plan(first), Plan(first))


def defects() -> dict[str, tuple[Any, str, Any]]:
    """Return defects by name: what to replace, and by what."""
    commit = Store.commit

    def early(store: Store, edits: Any) -> Any:
        from twisted.internet.defer import succeed

        commit(store, edits).addErrback(lambda _: None)
        return succeed(None)

    async def nothing(*_: Any) -> None:
        return None

    installed = bridge.plugins.operations.settlement.InstalledSet
    changes = bridge.plugins.operations.changes
    trust, wiring = bridge.plugins.installed.records.Trust, bridge.wiring.services
    return {
        "acknowledged-early": (Store, "commit", early),
        "build-not-swept": (wiring, "sweep", lambda _: None),
        "downgraded": (trust, "check_mark", lambda *_: None),
        "journal-kept": (Journal, "end", lambda _: None),
        "key-not-forgotten": (trust, "forgetting", lambda *_: []),
        "not-insisted": (Store, "insist", commit),
        "not-journalled": (Journal, "begin", lambda *_: None),
        "not-settled": (installed, "settle", nothing),
        "not-taken-back": (Exchange, "take_back", lambda *_: None),
        "settings-kept": (changes, "removal", lambda name: removal(name)[:1]),
        "undone-in-memory": (bridge.store.store, "NotDurableError", ZeroDivisionError),
    }


def main(defect: str | None) -> int:
    """Walk through everything; return 1 when the daemon differs from the model."""
    be_quiet()
    found = None if defect is None else defects()[defect]
    with nullcontext() if found is None else mock.patch.object(*found):
        driver = Driver()
        try:
            for part in (use, kill, fail):
                part(driver)
        except MismatchError as e:
            sys.stderr.write(f"{e}\n")
            return 1
        finally:
            driver.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if sys.argv[1:] else None))
