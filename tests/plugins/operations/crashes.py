"""
Every way to interrupt an operation.

As a program (``python -m``) it interrupts one, such as ``update broken``.
"""

import errno
import gc
import itertools
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from twisted.logger import globalLogBeginner
from twisted.python.failure import Failure

from bridge.plugins.installed.records import read_records
from bridge.plugins.operations.settlement import recover
from bridge.protocol.errors import BridgeError
from bridge.store import Put

from ...disk import ALL, Plan, Report, going_wrong, in_a_child
from .bench import Bench
from .worlds import World, code_of, outcome, snapshot


def killed(work: Callable[[Bench], object], bench: Bench, at: int) -> bool:
    """Do something in a child that dies at a file-system call; whether it did."""

    def work_to_the_end(report: Report) -> None:
        work(bench)
        report(True)

    return not in_a_child(work_to_the_end, Plan(at))


def start_again(bench: Bench) -> None:
    """Recover as a start does."""
    recovered = recover(bench.journal, bench.store, bench.trees)
    if recovered is not None:
        bench.settlement.resume(bench.jobs, recovered)


def kill_at_every_call(world: World) -> Iterator[bool]:
    """Kill the operation at each call, until it survives; whether it was done."""
    for at in itertools.count():
        root = world.fresh()
        dead = killed(world.run, world.bench(root), at)
        yield world.assert_recovered(root)
        if not dead:
            return


def kill_the_recovery(world: World) -> Iterator[bool]:
    """Kill the operation at some calls, and then the recovery at each of its own."""
    for at in itertools.count(step=7):
        root = world.fresh()
        dead = killed(world.run, world.bench(root), at)
        for second in itertools.count():
            copy = Path(tempfile.mkdtemp(dir=world.base)) / "root"
            shutil.copytree(root, copy, symlinks=True)
            dead_again = killed(start_again, world.bench(copy), second)
            yield world.assert_recovered(copy)
            shutil.rmtree(copy)
            if not dead_again:
                break
        if not dead:
            return


ERRORS: Final = (errno.ENOSPC, errno.EIO, errno.EACCES)
SETTING: Final = Put("acknowledged", "colour", "blue")


def fail_at_every_call(world: World, number: int, count: int = 1) -> Iterator[bool]:
    """
    Let each file-system call fail, or so many from it on; whether it was done.

    What was answered as refused is not there: neither at once, nor in the bundle or
    after a kill; and once the disk works again, settings are kept and the next
    operation is not refused for it.
    """
    for at in itertools.count():
        root = world.fresh()
        bench = world.bench(root)
        with going_wrong(Plan(at, count, number, spared=())) as plan:
            result = world.run(bench)
            is_refused = isinstance(result, Failure)
            assert_answered(world, bench, result)
        killed_now = root.with_name("killed")
        shutil.copytree(root, killed_now, symlinks=True)
        done = world.assert_recovered(killed_now)
        assert done != is_refused, (at, result)
        yield done
        assert_goes_on(world, bench)
        if len(plan.calls) <= at:
            return


def assert_answered(world: World, bench: Bench, result: Any) -> None:
    """See that all that is read agrees with the answer, while the disk still fails."""
    if isinstance(result, Failure):
        assert result.check(BridgeError), result
    expected = world.old if isinstance(result, Failure) else world.new
    assert bench.left()[1] == expected[1], bench.left()[1]
    if not bench.trees.unsettled:
        assert snapshot(bench) == expected


def assert_goes_on(world: World, bench: Bench) -> None:
    """See that settings and operations work again as soon as the disk does."""
    assert outcome(bench.store.commit([SETTING])) is None
    again = outcome(bench.ask("uninstall", "other"))
    assert again is None, again
    assert not bench.journal.exists()
    assert not bench.trees.unsettled
    bench = world.bench(bench.data.root.parent)
    assert recover(bench.journal, bench.store, bench.trees) is None
    assert bench.store.get(SETTING.ns, SETTING.key) == SETTING.value
    sound, faults = bench.trees.verified_trees(read_records(bench.store))
    assert not faults, faults
    assert bench.left()[0] == list(sound)
    published = json.loads(bench.data.root.with_name("bundle").read_text())
    assert published == {name: code_of(bench, name) for name in sound}, published


def in_memory() -> str | None:
    """Where no disk slows files down; ``None`` when there is no such place."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108


def in_every_way(world: World) -> dict[str, list[bool]]:
    """Interrupt an operation; for each way, whether it was done, by the call."""
    way = kill_the_recovery(world)
    ways = {
        "killed at a call": list(kill_at_every_call(world)),
        "killed in the recovery": list(way) if world.operation == "update" else [],
    }
    for number in ERRORS:
        name = errno.errorcode[number]
        ways[name] = list(fail_at_every_call(world, number))
    ways["for good"] = list(fail_at_every_call(world, errno.EIO, ALL))
    return ways


def main() -> None:
    """Interrupt one operation in every way, and print the numbers of old and new."""
    silent: Any = [lambda event: None]
    globalLogBeginner.beginLoggingTo(silent, redirectStandardIO=False)
    # A collection in a child would copy every page of memory that it has of this one.
    gc.freeze()
    gc.disable()
    with tempfile.TemporaryDirectory(dir=in_memory()) as directory:
        world = World.make(Path(directory), sys.argv[1], "broken" in sys.argv[2:])
        ways = in_every_way(world)
    numbers = {way: (done.count(False), done.count(True)) for way, done in ways.items()}
    sys.stdout.write(json.dumps(numbers))


if __name__ == "__main__":
    main()
