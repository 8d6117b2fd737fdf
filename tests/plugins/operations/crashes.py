"""
Every way to interrupt an operation.

As a program (``python -m``) it interrupts some, such as ``"update broken"``.
"""

import errno
import gc
import itertools
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from threading import RLock
from typing import Any, Final, Self

from attrs import define, field, frozen
from twisted.internet.defer import Deferred
from twisted.logger import globalLogBeginner
from twisted.python.failure import Failure

from bridge.plugins.bundle.build import Report
from bridge.plugins.installed.exchange import recover
from bridge.plugins.installed.records import read_records
from bridge.protocol.errors import BridgeError
from bridge.store.state import Put

from ...directories import IN_MEMORY, read_files
from ...disk import ALL, Plan, going_wrong, in_a_child
from .bench import NEW, OTHER_SEED, Bench, FakeBuilder, url_of

MAY_BE_THERE: Final = {"plugins", "build", "state.json", "state.json.bak"}

OPERATIONS: Final = {"install": url_of("fresh"), "update": "good", "uninstall": "good"}


@define(eq=False)
class PublishingBuilder(FakeBuilder):
    """
    Publishes the code of each plugin, by id, in one file.

    :ivar broken: Whether later code can't be built.
    """

    bench: Any = None
    broken: bool = False

    def report(self, trees: Collection[str], error: str | None = None) -> Report:
        if self.broken and NEW in [code_of(self.bench, name) for name in trees]:
            error = "no such module"
        if error is None:
            published = {name: code_of(self.bench, name) for name in trees}
            bundle = self.bench.data.root.with_name("bundle")
            bundle.write_text(json.dumps(published))
        return super().report(trees, error)


def code_of(bench: Bench, plugin_id: str) -> str:
    """What the bundle has of a plugin."""
    return (bench.data.plugin(plugin_id) / "main.ts").read_text()


def bench_at(root: Path, broken: bool = False) -> Bench:
    """Begin, or go on, at a directory."""
    bench = Bench(at=root)
    bench.builder = PublishingBuilder(bench.events, bench=bench, broken=broken)
    setattr(bench.rebuild, "_builder", bench.builder)  # noqa: B010 - for mypy
    return bench


def outcome(doing: Deferred[Any]) -> Any:
    """What has become of something that waits for nothing."""
    results: list[Any] = []
    doing.addBoth(results.append)
    (result,) = results
    return result


def make_template(root: Path) -> None:
    """Install ``good`` and ``other``, and publish what is to come."""
    bench = bench_at(root)
    for name in ("good", "other"):
        bench.publish(name, {"src/part.ts": "export {};\n"})
        outcome(bench.install(url_of(name)))
        outcome(bench.store.commit([Put(f"plugin:{name}", "colour", "red")]))
    # By another author, so that the keys change too.
    bench.publish_later(at=1, seed=OTHER_SEED)
    bench.publish("fresh", {"main.ts": NEW}, seed=OTHER_SEED)


def snapshot(bench: Bench) -> Any:
    """Trees and values, without clones and what was set aside."""
    files = read_files(bench.data.plugins).items()
    trees = {path: content for path, content in files if ".tmp-" not in path}
    return trees, bench.left()[1]


@frozen
class Fixture:
    """
    One operation, on as many copies of one directory as are wanted.

    :ivar broken: Whether its build fails, and it has to be rolled back.
    """

    base: Path
    operation: str
    broken: bool
    old: Any
    new: Any

    @classmethod
    def make(cls, base: Path, operation: str, broken: bool = False) -> Self:
        """See what is there before and after the operation."""
        make_template(base / "template")
        whole = cls(base, operation, False, None, None)
        bench = whole.bench(whole.fresh())
        old = snapshot(bench)
        result = whole.run(bench)
        if isinstance(result, Failure):
            result.raiseException()
        return cls(base, operation, broken, old, snapshot(bench))

    def fresh(self) -> Path:
        root = Path(tempfile.mkdtemp(dir=self.base)) / "root"
        shutil.copytree(self.base / "template", root)
        return root

    def run(self, bench: Bench) -> Any:
        """Carry the operation out; a failure is a result, too."""
        bench.clock.advance(60)
        return outcome(bench.ask(self.operation, OPERATIONS[self.operation]))

    def assert_recovered(self, root: Path) -> bool:
        """Start again, and find one set whole, and nothing else; whether it is new."""
        bench = self.bench(root)
        recovered = recover(bench.journal, bench.store, bench.trees)
        found = snapshot(bench)
        assert found in (self.old, self.new), (found, self.old, self.new)
        again = recover(bench.journal, bench.store, bench.trees)
        assert again == recovered
        if recovered is not None:
            # What the operator learns is so.
            assert recovered.op == self.operation
            assert recovered.is_done(bench.store) == (snapshot(bench) == self.new)
            bench.settlement.resume(recovered)
        published = json.loads((root / "bundle").read_text())
        built = {name: code_of(bench, name) for name in bench.installed()}
        assert published == built, (published, built)
        left = {path.name for path in bench.data.root.iterdir()}
        assert left <= MAY_BE_THERE, left
        names = bench.left()[0]
        assert names == bench.installed(), names
        around = {path.name for path in root.iterdir()}
        assert around == {"repositories", "data", "bundle"}, around
        done = bool(snapshot(bench) == self.new)
        # What can't be built is rolled back, also by a start.
        assert not (self.broken and done)
        return done

    def bench(self, root: Path) -> Bench:
        return bench_at(root, self.broken)


@define
class Copying(Plan):
    """
    Keeps what a kill at each call would leave: what is there, on the disk.

    :ivar root: The directory that is copied.
    :ivar copies: Its copies so far.
    """

    root: Path = field(kw_only=True)
    copies: list[Path] = field(factory=list, init=False)
    # What copies makes calls, too; those of other threads wait.
    _copying: Any = field(factory=RLock, init=False)
    _is_copying: bool = field(default=False, init=False)

    def reached(self, name: str, place: Any) -> None:
        with self._copying:
            if not self._is_copying:
                self._is_copying = True
                self.copies.append(copied(self.root))
                self._is_copying = False


def copied(root: Path) -> Path:
    """Copy the directory of a bench, next to it."""
    to = Path(tempfile.mkdtemp(dir=root.parents[1])) / "root"
    return shutil.copytree(root, to, symlinks=True)


def left_by_kills(work: Callable[[Bench], object], bench: Bench) -> list[Path]:
    """Do something; gives what a kill at each call would leave, and at its end."""
    root = bench.data.root.parent
    plan = Copying(0, root=root)
    with going_wrong(plan):
        work(bench)
    return [*plan.copies, root]


def assert_killed(fixture: Fixture, at: int, left: list[Path]) -> None:
    """Kill the operation really, at a call: what is left is one of these."""
    root = fixture.fresh()
    bench = fixture.bench(root)
    in_a_child(lambda _: fixture.run(bench), Plan(at))
    assert read_files(root) in map(read_files, left), at


def start_again(bench: Bench) -> None:
    """Recover as a start does."""
    recovered = recover(bench.journal, bench.store, bench.trees)
    if recovered is not None:
        bench.settlement.resume(recovered)


def kill_at_every_call(fixture: Fixture) -> Iterator[bool]:
    """Interrupt the operation at each call, and at its end; whether it was done."""
    every = left_by_kills(fixture.run, fixture.bench(fixture.fresh()))
    for at in range(0, len(every), 10):
        assert_killed(fixture, at, every)
    for left in every:
        yield fixture.assert_recovered(left)


def kill_the_recovery(fixture: Fixture) -> Iterator[bool]:
    """Interrupt the operation at some calls, and the recovery at each of its own."""
    *every, end = left_by_kills(fixture.run, fixture.bench(fixture.fresh()))
    for once in [*every[::7], end]:
        for twice in left_by_kills(start_again, fixture.bench(once)):
            yield fixture.assert_recovered(twice)


ERRORS: Final = itertools.cycle((errno.ENOSPC, errno.EIO, errno.EACCES))
"""In turns: which call fails matters, and hardly why."""

SETTING: Final = Put("acknowledged", "colour", "blue")


def fail_at_every_call(fixture: Fixture, count: int = 1) -> Iterator[bool]:
    """
    Let each file-system call fail, or so many from it on; whether it was done.

    What was answered as refused is not there: neither at once, nor in the bundle or
    after a kill; and once the disk works again, settings are kept and the next
    operation is not refused for it.
    """
    for at in itertools.count():
        root = fixture.fresh()
        bench = fixture.bench(root)
        with going_wrong(Plan(at, count, next(ERRORS), spared=())) as plan:
            result = fixture.run(bench)
            is_refused = isinstance(result, Failure)
            assert_answered(fixture, bench, result)
        killed_now = root.with_name("killed")
        shutil.copytree(root, killed_now, symlinks=True)
        done = fixture.assert_recovered(killed_now)
        assert done != is_refused, (at, result)
        yield done
        assert_goes_on(fixture, bench)
        if len(plan.calls) <= at:
            return


def assert_answered(fixture: Fixture, bench: Bench, result: Any) -> None:
    """See that all that is read agrees with the answer, while the disk still fails."""
    if isinstance(result, Failure):
        assert result.check(BridgeError), result
    expected = fixture.old if isinstance(result, Failure) else fixture.new
    assert bench.left()[1] == expected[1], bench.left()[1]
    if not bench.trees.unsettled:
        assert snapshot(bench) == expected


def assert_goes_on(fixture: Fixture, bench: Bench) -> None:
    """See that settings and operations work again as soon as the disk does."""
    assert outcome(bench.store.commit([SETTING])) is None
    again = outcome(bench.ask("uninstall", "other"))
    assert not isinstance(again, Failure), again
    assert not bench.journal.exists()
    assert not bench.trees.unsettled
    bench = fixture.bench(bench.data.root.parent)
    assert recover(bench.journal, bench.store, bench.trees) is None
    assert bench.store.get(SETTING.ns, SETTING.key) == SETTING.value
    sound, faults = bench.trees.verified_trees(read_records(bench.store))
    assert not faults, faults
    assert bench.left()[0] == list(sound)
    published = json.loads(bench.data.root.with_name("bundle").read_text())
    assert published == {name: code_of(bench, name) for name in sound}, published


def in_every_way(fixture: Fixture) -> dict[str, list[bool]]:
    """Interrupt an operation; for each way, whether it was done, by the call."""
    way = kill_the_recovery(fixture)
    return {
        "killed at a call": list(kill_at_every_call(fixture)),
        "killed in the recovery": list(way) if fixture.operation == "update" else [],
        "failing": list(fail_at_every_call(fixture)),
        "failing for good": list(fail_at_every_call(fixture, ALL)),
    }


def main() -> None:
    """Interrupt operations in every way, and print the numbers of old and new."""
    silent: Any = [lambda event: None]
    globalLogBeginner.beginLoggingTo(silent, redirectStandardIO=False)
    # A collection in a child would copy every page of memory that it has of this one.
    gc.freeze()
    gc.disable()
    numbers = {}
    for words in sys.argv[1:]:
        operation, _, how = words.partition(" ")
        with tempfile.TemporaryDirectory(dir=IN_MEMORY) as directory:
            ways = in_every_way(Fixture.make(Path(directory), operation, bool(how)))
        numbers[words] = {
            way: (done.count(False), done.count(True)) for way, done in ways.items()
        }
    sys.stdout.write(json.dumps(numbers))


if __name__ == "__main__":
    main()
