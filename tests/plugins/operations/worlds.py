"""An operation that is interrupted, and what the next start has to make of it."""

import json
import shutil
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final, Self

from attrs import define, frozen
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from bridge.plugins.bundle.build import Report
from bridge.plugins.operations.settlement import recover
from bridge.store import Put

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
        """See ``FakeBuilder.report``."""
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
    trees = {
        str(path.relative_to(bench.data.plugins)): path.read_bytes()
        for path in sorted(bench.data.plugins.rglob("*"))
        if path.is_file() and ".tmp-" not in str(path)
    }
    return trees, bench.left()[1]


@frozen
class World:
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
        """A directory to work on."""
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
            bench.settlement.resume(bench.jobs, recovered)
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
        """Begin, or go on, at a copy."""
        return bench_at(root, self.broken)
