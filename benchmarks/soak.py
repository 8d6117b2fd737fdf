"""
A page that does all a page does, for a long time, next to every abuse in turn.

Run ``python -m benchmarks.soak --minutes 30``.  A round runs each abuse once, one after
the other, and then none for a while; there are four rounds, or ten in half an hour, of
which the first warms up.  It samples the daemon's memory, descriptors, threads and
timers all the time, and writes them to ``artefacts/soak.json``.

It exits with 1 when memory, descriptors, threads or timers are not flat (see
``benchmarks.flatness``), when a call of a page was not answered, or was refused without
a reason, and when the daemon logged an error.  It sets no limit to any duration.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from attrs import asdict, define, field

from bridge.settings.host import load_profile
from tests.e2e.daemon import ROOT, set_up
from tests.forge import sign, start_forge_process

from .abuses import ABUSES, attacking
from .flatness import Change, Sample, compare
from .load import OPTIONS, descriptors, mebibytes
from .pages import Author, Meter, PageThread, Tally, Visitor, peers, udp
from .probe import Probed, probed

ARTEFACTS: Final = ROOT / "artefacts"
PLUGIN: Final = ROOT / "bridge" / "reference" / "sample-plugin"
PLUGIN_ID: Final = "hello-bridge"
SEED: Final = b"\x01" * 32
SAMPLE_SECONDS: Final = 2.0
SETTLE_SECONDS: Final = 3.0
QUIET_SHARE: Final = 0.15
"""How much of a round is without an abuse."""
DEFECTS: Final = re.compile(r"Traceback|Unhandled|\[error\]", re.IGNORECASE)


@define
class Soak:
    """One of them."""

    probed: Probed
    tally: Tally
    author: Author
    round_seconds: float
    samples: list[Sample] = field(factory=list)
    _begun: float = field(factory=time.monotonic)

    def round(self, number: int) -> None:
        """Run every abuse once, and then none."""
        self.author.begin()
        attack_seconds = self.round_seconds * (1 - QUIET_SHARE) / len(ABUSES)
        for name in ABUSES:
            with attacking(name, self.probed.daemon):
                self._watch(attack_seconds, number, name)
        quiet = self.round_seconds * QUIET_SHARE - SETTLE_SECONDS
        self.probed.settle()
        self._watch(SETTLE_SECONDS, number, "")
        self._watch(max(2.0, quiet), number, "", settled=True)

    def _watch(
        self, seconds: float, number: int, phase: str, *, settled: bool = False
    ) -> None:
        """Sample for so long, at least once."""
        end = time.monotonic() + seconds
        pause = SAMPLE_SECONDS if not settled else SAMPLE_SECONDS / 4
        while True:
            time.sleep(max(0.0, min(pause, end - time.monotonic())))
            self.samples.append(self._sample(number, phase, settled))
            if time.monotonic() >= end:
                return

    def _sample(self, number: int, phase: str, settled: bool) -> Sample:
        daemon, inside = self.probed.daemon, self.probed.inside()
        trips = self.tally.trips()
        enough = len(trips) > 1
        return Sample(
            seconds=round(time.monotonic() - self._begun, 2),
            round=number,
            phase=phase,
            settled=settled,
            memory=round(mebibytes(daemon), 2),
            descriptors=descriptors(daemon),
            threads=len(os.listdir(f"/proc/{daemon.process.pid}/task")),
            timers=inside.timers,
            blocks=inside.blocks,
            heap=round(inside.heap / 2**20, 2),
            p99=round(statistics.quantiles(trips, n=100)[98], 2) if enough else None,
        )


@contextlib.contextmanager
def soaking(home: Path, round_seconds: float) -> Iterator[Soak]:
    """Run the daemon, its pages, and what they reach, until the block ends."""
    set_up(home)
    with contextlib.ExitStack() as stack:
        forge = start_forge_process()
        stack.callback(forge.stop)
        tree = shutil.copytree(PLUGIN, home / "plugin")
        sign(tree, PLUGIN_ID, load_profile("reference"), SEED)
        forge.publish(tree, PLUGIN_ID)
        overlay, reached = stack.enter_context(udp()), stack.enter_context(peers())
        options = (
            *(*OPTIONS, "--dev", f"--ca-file={forge.ca_file}", "--sink=overlay"),
            f"--overlay-addr=127.0.0.1:{overlay.getsockname()[1]}",
        )
        watched = stack.enter_context(probed(home, reached.http, *options))
        tally, daemon = Tally(), watched.daemon
        # Loads what answers it.  Else one of the abuses would, in any round.
        daemon.call_by_http("plugins", "list", {})
        author = Author(daemon, tally, forge.url(PLUGIN_ID), PLUGIN_ID)
        pages: list[PageThread] = [
            *(author, Meter(daemon, tally, 0.03), Visitor(daemon, tally, reached))
        ]
        for page in pages:
            page.start()
            stack.callback(page.end)
        yield Soak(watched, tally, author, round_seconds)


def report(soak: Soak, changes: list[Change]) -> list[str]:
    """Print what was found; return what is wrong."""
    wrong = []
    for change in changes:
        print(f"{change.name:12}{change.first:10.1f} ->{change.last:10.1f}")
        if not change.flat:
            wrong.append(f"{change.name} not flat")
    tally = soak.tally
    print(f"answered: {sum(tally.answered.values())}, {dict(tally.answered)}")
    print(f"refused: {dict(tally.refused)}")
    print(f"connects: {len(tally.connects)}, the slowest {max(tally.connects):.2f} s")
    phases: dict[str, list[float]] = {}
    for sample in soak.samples:
        if sample.round and sample.p99 is not None:
            phases.setdefault(sample.phase or "none", []).append(sample.p99)
    for phase, found in phases.items():
        print(f"p99 next to {phase:20}{statistics.median(found):8.1f} ms")
    wrong += [f"not answered: {one}" for one in tally.unanswered]
    wrong += [f"refused: {one}" for one in tally.unexpected()]
    wrong += [f"{name} never succeeded" for name in NEEDED - tally.answered.keys()]
    lines = soak.probed.daemon.lines
    wrong += [f"logged: {line.strip()}" for line in lines if DEFECTS.search(line)]
    return wrong


NEEDED: Final = frozenset(
    {
        *("state/set", "state/get", "state/delete", "logs/write", "notify/send"),
        *("osc/listen", "osc/send", "osc/status", "sql/query", "outbound/fetch"),
        *("plugins/list", "plugins/install", "plugins/check_updates"),
        *("plugins/build", "plugins/uninstall", "ping"),
    }
)
"""What must have succeeded, or the soak has not soaked it."""


def main() -> int:
    """Soak; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak")
    parser.add_argument("--minutes", type=float, default=30.0)
    given = parser.parse_args()
    # So that nothing is left running when CI ends this.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    rounds = 10 if given.minutes >= 15 else 4
    with tempfile.TemporaryDirectory(prefix="bridge-home-") as home:
        with soaking(Path(home), given.minutes * 60 / rounds) as soak:
            for number in range(rounds):
                soak.round(number)
                last = soak.samples[-1]
                print(f"round {number}: {last}", flush=True)
        ARTEFACTS.mkdir(exist_ok=True)
        samples = [asdict(sample) for sample in soak.samples]
        (ARTEFACTS / "soak.json").write_text(json.dumps(samples, indent=0), "ascii")
        wrong = report(soak, compare(soak.samples))
    for line in wrong[:20]:
        print(f"! {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
