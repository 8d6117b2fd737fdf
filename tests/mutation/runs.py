"""
Runs of tests, each in a process of its own with one module changed.

The processes are forked after the modules of others have been imported, so that each
imports only ours.  In each, the tests that cover the changed lines run until one of
them fails.  A test that takes ten times as long as without the change hangs, which is
noticed too.
"""

import contextlib
import importlib
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any, Final, Self
from unittest import mock

import coverage
from attrs import define, field
from hypothesis import Phase, settings
from twisted.internet import selectreactor
from twisted.trial.reporter import TestResult
from twisted.trial.runner import TestLoader

ROOT: Final = Path(__file__).resolve().parents[2]
_LOADING_SECONDS: Final = 300.0
_LEAST_SECONDS: Final = 2.0


@define
class Runs:
    """
    Runs the tests of a module.

    :ivar tests: By the name of each that passes without a change: its ``module``, how
        many ``seconds`` it takes, and which ``lines`` of the changed module it runs.
    :ivar broken: The names of those that fail without a change.
    """

    _path: Path
    _scratch: Path
    tests: dict[str, dict[str, Any]] = field(factory=dict)
    broken: list[str] = field(factory=list)
    _importing: set[int] = field(factory=set)

    @classmethod
    def prepare(cls, path: Path, names: list[str], scratch: Path) -> Self:
        """Run the tests without a change; afterwards mutants can be tried."""
        _prepare_process()
        runs = cls(path, scratch)
        known = scratch / "known.json"
        ended = runs._fork(partial(_measure, path, names, known), {})
        measured = json.loads(known.read_text("utf-8"))
        runs._importing = set(measured["importing"])
        for name, test in measured["tests"].items():
            failed, seconds = ended[name]
            if failed:
                runs.broken.append(name)
            else:
                runs.tests[name] = {**test, "seconds": seconds}
        _import(measured["modules"])
        assert _module_name(path) not in sys.modules
        return runs

    def covering(self, lines: range) -> list[str]:
        """Name the tests that run one of these lines, or all if an import runs it."""
        return [
            name
            for name, test in self.tests.items()
            if (self._importing | set(test["lines"])) & set(lines)
        ]

    def try_mutant(self, tree: Any, names: list[str]) -> bool | None:
        """Whether a test fails with a changed module; ``None`` if none loads."""
        code = compile(tree, self._path, "exec")
        modules = sorted({self.tests[name]["module"] for name in names})
        run = partial(_run_mutant, self._path, code, modules, set(names))
        limits = {name: self.tests[name]["seconds"] * 10 for name in names}
        ended = self._fork(run, limits)
        return any(failed for failed, _ in ended.values()) if ended else None

    def _fork(
        self, run: Callable[[Callable[..., None]], None], limits: dict[str, float]
    ) -> dict[str, tuple[bool, float]]:
        """Return, for each test, whether it failed or hung, and its seconds."""
        reading, writing = os.pipe()
        directory = self._scratch / "run"
        directory.mkdir()
        child = os.fork()
        if not child:
            _end_after(run, writing, directory)
        os.close(writing)
        ended: dict[str, tuple[bool, float]] = {}
        running = None
        limit = _LOADING_SECONDS
        with os.fdopen(reading, "rb", 0) as pipe:
            while select.select([pipe], [], [], limit)[0]:
                line = pipe.readline()
                if not line:
                    # The process has died of it, or is through.
                    break
                kind, name, failed, seconds = json.loads(line)
                running = name if kind == "started" else None
                if kind == "ended":
                    ended[name] = failed, seconds
                limit = _LOADING_SECONDS
                if limits:
                    limit = max(limits.get(name, 0), _LEAST_SECONDS)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        shutil.rmtree(directory, ignore_errors=True)
        if running:
            ended[running] = True, limit
        return ended


class _Result(TestResult):
    """Sends when a test starts, when it ends, and whether it failed."""

    def __init__(self, send: Callable[..., None]) -> None:
        super().__init__()
        self._send = send

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self._begun = time.monotonic()
        self._bad = self._count()
        self._send("started", test.id(), False, 0)

    def stopTest(self, test: Any) -> None:
        super().stopTest(test)
        failed = self._count() > self._bad
        self._send("ended", test.id(), failed, time.monotonic() - self._begun)

    def _count(self) -> int:
        return len(self.errors) + len(self.failures) + len(self.unexpectedSuccesses)


def _prepare_process() -> None:
    warnings.simplefilter("error")
    # Its state is in this process alone, and in the pipe that wakes it.
    if "twisted.internet.reactor" not in sys.modules:
        selectreactor.install()
    # What fails need not be made small.
    phases = (Phase.explicit, Phase.generate)
    base = settings.get_profile("here")
    settings.register_profile(
        "mutation", base, derandomize=True, database=None, phases=phases
    )
    settings.load_profile("mutation")


def _module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _import(modules: list[str]) -> None:
    """Import modules of others."""
    with warnings.catch_warnings():
        # Those who import a deprecated module have ignored its warning.
        warnings.simplefilter("ignore", DeprecationWarning)
        for name in modules:
            # Some are made by another one, or are there under another name.
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


def _end_after(
    run: Callable[[Callable[..., None]], None], writing: int, directory: Path
) -> None:
    """In a forked process: run, and end; what the runner itself raises is shown."""
    shown = os.dup(2)
    try:
        os.setsid()
        os.chdir(directory)
        # What a test that is killed leaves behind goes with the directory.
        tempfile.tempdir = str(directory)
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        _new_waker()

        def send(*message: object) -> None:
            os.write(writing, json.dumps(message).encode() + b"\n")

        run(send)
    except BaseException:  # noqa: BLE001
        os.dup2(shown, 2)
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(0)


def _new_waker() -> None:
    reactor: Any = sys.modules["twisted.internet.reactor"]
    reactor.removeReader(reactor.waker)
    reactor._internalReaders.discard(reactor.waker)
    reactor.waker = None
    reactor.installWaker()


def _run_mutant(
    path: Path,
    code: CodeType,
    modules: list[str],
    names: set[str],
    send: Callable[..., None],
) -> None:
    """Run tests until one fails, in a process that imports other code of a module."""
    changed, real = _module_name(path), SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
        return code if name == changed else real(loader, name)

    mock.patch.object(SourceFileLoader, "get_code", get_code).start()
    result = _Result(send)
    for test in _each(TestLoader().loadByNames(modules, recurse=True)):
        if test.id() in names and result.wasSuccessful():
            test.run(result)


def _measure(
    path: Path, names: list[str], known: Path, send: Callable[..., None]
) -> None:
    """Run the tests without a change, and write what is to be known of them."""
    measured = coverage.Coverage(data_file=None, config_file=False, include=[str(path)])
    measured.set_option("run:core", "ctrace")
    measured.start()
    measured.switch_context("importing")
    tests: dict[str, dict[str, Any]] = {}
    result = _Result(send)
    for test in _each(TestLoader().loadByNames(names, recurse=True)):
        tests[test.id()] = {"module": type(test).__module__}
    importlib.import_module(_module_name(path))
    for test in _each(TestLoader().loadByNames(names, recurse=True)):
        measured.switch_context(test.id())
        test.run(result)
    measured.stop()
    data = measured.get_data()
    lines = {}
    for context in data.measured_contexts():
        data.set_query_context(context)
        lines[context] = data.lines(str(path)) or []
    for name, test in tests.items():
        test["lines"] = lines.get(name, [])
    importing = lines.get("importing", [])
    # To look at some modules imports others.
    loaded = list(sys.modules.items())
    others = [name for name, module in loaded if not _is_ours(module)]
    document = {"tests": tests, "importing": importing, "modules": others}
    known.write_text(json.dumps(document))


def _is_ours(module: Any) -> bool:
    file = Path(getattr(module, "__file__", None) or "/")
    return file.is_relative_to(ROOT) and not file.is_relative_to(ROOT / ".venv")


def _each(suite: Any) -> Iterator[Any]:
    try:
        inside = iter(suite)
    except TypeError:
        yield suite
    else:
        for one in inside:
            yield from _each(one)
