"""
A whole pipeline on a fresh data directory, with doubles for what is outside.

Store, trust, trees, manifests, policy and signatures are the real ones.  Doubles
stand for the git server, the bundler, the desktop, the pages and the threads; each
writes what happens to it into one list, in order.
"""

import itertools
import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

from attrs import define, evolve, field
from twisted.internet.defer import Deferred, fail, maybeDeferred, succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval.prompts import Prompt, denied, unavailable
from bridge.concurrency.threads import InThread
from bridge.datadir.paths import DataDir
from bridge.plugins.bundle.build import Report
from bridge.plugins.bundle.publishing import plugin_of
from bridge.plugins.installed.exchange import Journal
from bridge.plugins.installed.records import Trust, read_records
from bridge.plugins.installed.trees import Trees
from bridge.plugins.operations.candidate import Candidate, CandidateFetcher, Pin
from bridge.plugins.operations.changes import PluginChanges
from bridge.plugins.operations.jobs import Job, Jobs, Request
from bridge.plugins.operations.prompting import Prompting
from bridge.plugins.operations.settlement import InstalledSet, Rebuild
from bridge.plugins.tree.manifest import Manifest, load_manifest
from bridge.plugins.tree.tree import (
    Signed,
    Tree,
    Verify,
    key_id,
    public_key_of,
    read_tree,
)
from bridge.plugins.upstream.preview import Previewer
from bridge.plugins.upstream.updates import Updates
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.steps import Operation
from bridge.rpc import Event
from bridge.services.linking import DevLinks
from bridge.services.plugins import (
    InstallParams,
    KeyParams,
    PluginIdParams,
    PluginService,
    Pushes,
    UpdateParams,
)
from bridge.settings.host import Paths, load_profile
from bridge.store.store import Store
from bridge.system.files import remove

from ...directories import write_files
from ...forge import sign
from ...threads import Threads
from ..clone.remotes import FakeRemotes
from ..policy.scanning import BlockingScanner

PROFILE = load_profile("reference")
SEED = b"\x01" * 32
OTHER_SEED = b"\x02" * 32
KEY = key_id(public_key_of(SEED))
OTHER_KEY = key_id(public_key_of(OTHER_SEED))
NOW = 1_700_000_000
COMMIT = "c0ffee" * 6 + "c0ff"
NEW = "export default 2;\n"
"""The code of later versions."""

GOOD = "https://forge.example/good.git"
PARAMS: dict[str, Any] = {
    "install": InstallParams,
    "update": UpdateParams,
    "uninstall": PluginIdParams,
    "forget_key": KeyParams,
}
ROTATED = ["rotate_key awaiting_confirmation", "ask rotate_key"]
TRUSTED = ["trust_key awaiting_confirmation", "ask trust_key"]
GROWN = ["grow awaiting_confirmation", "ask grow"]


def url_of(name: str) -> str:
    """Where the double of a git server has a repository."""
    return f"https://forge.example/{name}.git"


def manifest(plugin_id: str, **fields: Any) -> str:
    """A manifest's text."""
    return json.dumps(
        {
            "id": plugin_id,
            "name": "A plugin",
            "version": "1.0.0",
            "apiVersion": "^0.1.0",
            **fields,
        }
    )


def files_of(plugin_id: str, **more: str) -> dict[str, str]:
    """The files of a good plugin."""
    return {
        "plugin.json": manifest(plugin_id),
        "main.ts": "export default 1;\n",
        **more,
    }


def steps(operation: str, until: str) -> list[str]:
    """
    The events of an operation so far.

    :param until: The last step: ``ask`` for its prompt, or a step's name.
    """
    prefix = "" if operation == "install" else f"{operation} "
    events = [f"{prefix}awaiting_confirmation", f"ask {operation}"]
    if until == "ask":
        return events
    events += [f"{prefix}clone", "clone"]
    names = ["validate", "policy", "signature"]
    return events + [prefix + name for name in names[: names.index(until) + 1]]


def write_tree(
    root: Path,
    files: dict[str, str],
    signed_as: str | None,
    seed: bytes = SEED,
    signed_at: int = NOW,
) -> None:
    """Write a tree, signed unless ``signed_as`` is ``None``."""
    write_files(root, files)
    if signed_as is not None:
        sign(root, signed_as, PROFILE, seed, signed_at)


def candidate_of(
    url: str, found: Manifest, key_id: str = KEY, root: Path = Path(), pin: Any = None
) -> Candidate:
    """A candidate with a manifest, signed by a key; without files."""
    commit, digest = (pin.commit, pin.digest) if pin else (COMMIT, "")
    signed = Signed(key_id, "", NOW, digest)
    return Candidate(root, Tree({}), url, commit, found, signed)


@define(eq=False)
class FakeApprover:
    """Answers as configured; ``None`` leaves a question open."""

    events: list[str] = field(factory=list)
    answers: list[Any] = field(factory=list)
    prompts: list[Any] = field(factory=list)
    open: list[Deferred[None]] = field(factory=list)
    description: str = "a double"

    def approve(self, prompt: Any) -> Deferred[None]:
        self.events.append(f"ask {prompt.operation}")
        self.prompts.append(prompt)
        answer = self.answers.pop(0) if self.answers else True
        if answer is True:
            return succeed(None)
        if answer is False:
            return fail(denied("declined"))
        if answer is None:
            question: Deferred[None] = Deferred(
                lambda d: self.events.append("withdrawn")
            )
            self.open.append(question)
            return question
        return fail(answer)


def asked(question: str, *args: Any, label: str = "", **kwargs: Any) -> Prompt:
    """
    What the user is asked: the prompt of a question.

    :param question: The name of the method after ``ask_``.
    :param label: What the key was first accepted for that is to be forgotten.
    """
    approver = FakeApprover()
    trust: Any = Mock(is_trusted=lambda _: False, label=lambda _: label)
    words = PROFILE.permission_words
    prompting = Prompting(approver, "Sample Host", words, trust)
    job = Job(Request(Operation.INSTALL), lambda _: None)
    asking = getattr(prompting, f"ask_{question}")(job, *args, **kwargs)
    Deferred.fromCoroutine(asking)
    prompt: Prompt
    (prompt,) = approver.prompts
    return prompt


def no_desktop() -> Exception:
    """What an approver fails with that can ask nobody."""
    return unavailable("no desktop")


@define(eq=False)
class FakeBuilder:
    """
    Builds nothing; see ``BuilderContract``.

    :ivar outcomes: Of the next runs: ``None`` for a good one, an error to report, an
        exception to break with, or what to wait for.
    """

    events: list[str] = field(factory=list)
    outcomes: list[Any] = field(factory=list)
    in_thread: InThread = maybeDeferred

    async def build(
        self, verify: Verify, needed: frozenset[str] = frozenset()
    ) -> Report:
        trees, faults = await self.in_thread(verify)
        self.events.append(" ".join(["run", *trees]))
        if missing := needed.intersection(faults):
            return Report(False, 0, [], [faults[min(missing)]])
        outcome: Any = self.outcomes.pop(0) if self.outcomes else None
        if isinstance(outcome, Deferred):
            await outcome
            outcome = None
        if isinstance(outcome, Exception):
            raise outcome
        report = self.report(trees, outcome)
        left_out = [f"{one} is left out: {why}" for one, why in faults.items()]
        return evolve(report, errors=[*report.errors, *left_out])

    def report(self, trees: Collection[str], error: str | None = None) -> Report:
        errors = [] if error is None else [error]
        plugins = sorted(map(plugin_of, trees))
        return Report(ok=error is None, duration_ms=1, plugins=plugins, errors=errors)


class Bench:
    """Everything an installation needs, and what became of it."""

    def __init__(self, test: Any = None, at: Path | None = None) -> None:
        """Make one; where another one was, it goes on with what that one left."""
        root = at or Path(tempfile.mkdtemp())
        if test is not None:
            test.addCleanup(shutil.rmtree, root)
        self.repositories = root / "repositories"
        self.data = DataDir(root / "data")
        self.data.create()
        self.events: list[str] = []
        self.clock = Clock()
        self.threads = Threads()
        self.clones = Threads()
        self.writes = Threads()
        numbers = itertools.count(1)
        self.trees = Trees(self.data, PROFILE, lambda: f"{next(numbers):016x}")
        self.store = Store.open(self.data.state, self.writes)
        self.trust = Trust(self.store)
        self.cloner = FakeRemotes(
            self.repositories, self.events, commit=COMMIT, waits=self.clones
        )
        self.approver = FakeApprover(self.events)
        self.builder = FakeBuilder(self.events, in_thread=self.threads)
        self.scanner = BlockingScanner(self.threads, [PROFILE.api_module])
        self.pushed: defaultdict[str, list[Any]] = defaultdict(list)
        self.sink = Pushes(self.push, self.trust)
        names = itertools.count(1)
        self.jobs = Jobs(
            self.sink.progress,
            self.clock,
            self.now,
            lambda: f"operation-{next(names)}",
            lambda root: self.threads(remove, root),
        )
        parts: Any = (self.builder, self.sink, self.jobs.commit_lock, self.clock)
        self.rebuild = Rebuild(self.store, self.trees, *parts)
        self.journal = Journal(self.data.journal)
        store, trees, clock, threads = self.store, self.trees, self.clock, self.threads
        built = self.jobs, store, trees, self.rebuild, self.sink, threads
        self.settlement = InstalledSet(*built, self.journal)
        parts = (trees, clock, self.now, threads)
        self.fetcher = CandidateFetcher(*(self.cloner, self.scanner, *parts))
        words = PROFILE.permission_words
        self.prompting = Prompting(self.approver, "Sample Host", words, self.trust)
        shared = self.jobs, self.prompting, self.fetcher, self.trust, store, trees
        changes = PluginChanges(*shared, threads, self.settlement)
        parts = (lambda _: self.cloner, True, clock)
        self.previewer = Previewer(*shared, threads, *parts)
        parts = (*built, self.scanner)
        self.linking = DevLinks(*parts)
        self.upstream = FakeRemotes()
        self.service = PluginService(
            changes,
            self.rebuild,
            store,
            trees,
            self.trust,
            threads,
            Updates(store, cast(Any, self.upstream), clock),
            self.jobs,
            self.previewer,
            self.approver,
            Paths(PROFILE, self.data, root),
        )

    def now(self) -> float:
        """Return the time of day, which is not what the clock shows."""
        return NOW + self.clock.seconds()

    def push(self, event: str, data: Any) -> None:
        """Be the pages: keep what they get, by its event, and note it in the events."""
        self.pushed[event].append(json.loads(json.dumps(data)))
        if event == Event.PROGRESS:
            op = "" if data["op"] == "install" else f"{data['op']} "
            line = f"{op}{data['step']}"
        elif event == Event.PLUGINS:
            line = " ".join(["push plugins", *(one["id"] for one in data["plugins"])])
        else:
            how = "ok" if data["ok"] else "failed"
            line = " ".join([f"push build {how}", *data["plugins"]])
        self.events.append(line)

    def ask(
        self, operation: str, *args: Any, caller: Any = None, **kwargs: Any
    ) -> Deferred[Any]:
        """Ask for an operation, by the arguments of its parameters."""
        params = PARAMS[operation](*args, **kwargs)
        calling = getattr(self.service, operation)(params, caller)
        return Deferred.fromCoroutine(calling)

    def install(self, *args: Any) -> Deferred[Any]:
        return self.ask("install", *args)

    def publish(
        self,
        name: str,
        files: Mapping[str, str | None] | None = None,
        signed_as: str | None = "",
        seed: bytes = SEED,
        signed_at: int = NOW,
        **fields: Any,
    ) -> None:
        """
        Put a tree where ``url_of(name)`` is; signed as ``name`` by default.

        :param files: What is not as in a good plugin; ``None``: it is not there.
        """
        good = files_of(name, **{"plugin.json": manifest(name, **fields)})
        every = {path: text for path, text in {**good, **(files or {})}.items() if text}
        by = name if signed_as == "" else signed_as
        write_tree(self.repositories / name, every, by, seed, signed_at)

    def publish_later(self, version="1.1.0", at=10, seed=SEED, **fields):
        """Publish a later ``good``, signed so many seconds later, with these fields."""
        how: Any = {"seed": seed, "signed_at": NOW + at, "version": version}
        self.publish("good", {"main.ts": NEW}, **how, **fields)

    def pin_of(self, name: str) -> Pin:
        """What a preview of a repository would show."""
        root = self.repositories / name
        return Pin(self.cloner.commit, read_tree(root).digest(PROFILE.tree_domain))

    def keep(self, name: str) -> Path:
        """Keep the tree of a repository, as a preview does; returns where."""
        root = self.trees.fresh()
        shutil.copytree(self.repositories / name, root)
        shown = load_manifest(read_tree(root), PROFILE)
        how: Any = {"root": root, "pin": self.pin_of(name)}
        self.fetcher.keep(candidate_of(url_of(name), shown, **how))
        return root

    def left(self) -> tuple[list[str], dict[str, dict[str, Any]]]:
        """All that operations leave behind: trees and clones, and values."""
        names = sorted(path.name for path in self.data.plugins.iterdir())
        return names, {
            ns: self.store.entries(ns) for ns in self.store._tables.namespaces()
        }

    def entry(self, plugin_id: str) -> Any:
        """The list entry of an installed plugin, whose key the user has accepted."""
        record = read_records(self.store)[plugin_id]
        return evolve(self.trees.entry(plugin_id, record), trusted_at=NOW * 1000)

    def installed(self) -> list[str]:
        return list(read_records(self.store))


class OperationTestCase(SynchronousTestCase):
    """A test with a pipeline, whose answers are among its events."""

    def setUp(self) -> None:
        self.bench = Bench(self)
        self.events = self.bench.events

    def start(self) -> None:
        """Forget what was done so far; what is refused leaves what is there now."""
        self.events.clear()
        self.bench.pushed.clear()
        self.bench.approver.prompts.clear()
        self.before = self.state()

    def state(self) -> tuple[Any, ...]:
        """All that is there: names, values, code, and whether there is a journal."""
        codes = {
            path.parent.name: path.read_text()
            for path in self.bench.data.plugins.glob("*/main.ts")
        }
        return *self.bench.left(), codes, self.bench.journal.exists()

    def ask(self, operation, *args, answers=(), **kwargs):
        """Ask for an operation; its end is written into the events."""
        if answers:
            self.bench.approver.answers = list(answers)

        def answered(result: Any) -> Any:
            self.events.append("answer")
            return result

        return self.bench.ask(operation, *args, **kwargs).addBoth(answered)

    def done(self, operation: str, *args: Any, **kwargs: Any) -> Any:
        """Carry an operation out; its result."""
        return self.successResultOf(self.ask(operation, *args, **kwargs))

    def error(self, asked: Deferred[Any]) -> str:
        """The message of an operation that was refused."""
        return self.failureResultOf(asked, BridgeError).value.message

    def refused(self, operation, *args, code=Code.BAD_REQUEST, **kwargs):
        """Ask in vain; the message.  All is as before."""
        asked = self.ask(operation, *args, **kwargs)
        error = self.failureResultOf(asked, BridgeError).value
        self.assertEqual(error.code, code)
        self.assertEqual(self.state(), self.before)
        return error.message

    def commit(self, *edits: Any) -> None:
        self.successResultOf(self.bench.store.commit(edits))

    def cancel(self, asked: Deferred[Any]) -> None:
        """Cancel what is under way; nothing is left of it."""
        (running,) = [job for job in self.bench.jobs.recent() if not job.outcome]
        self.successResultOf(self.bench.jobs.cancel(running.name))
        self.assertTrue(self.error(asked).startswith("cancelled: "))
        self.assertEqual(self.state(), self.before)
