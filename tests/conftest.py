"""How pytest runs the tests: which are ``e2e``, in which order, in which process."""

import gc
import os
import sys
from pathlib import Path
from typing import Final

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

_HERE: Final = Path(__file__).parent
_E2E: Final = frozenset(
    {"attacks", "clients", "compiler_diff", "docs", "e2e", "model", "packaging"}
)
_LONGEST: Final = (
    "test_checks.py",
    "attacks/test_takes.py",
    "attacks/test_losses.py",
    "e2e/test_manager.py",
    "e2e",
    "docs",
    "clients",
    "plugins/operations",
)
"""Modules and folders that are begun first, so that no process is left with one."""

_TOGETHER: Final = frozenset({"clients", "docs"})
"""Folders whose modules share what takes long: a packed client, the parsed pages."""


def pytest_configure() -> None:
    """Give the tests this environment's programs, and compiled code."""
    os.environ["PATH"] = (
        f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    os.environ["PYTHONPATH"] = str(_HERE.parent)
    # What many processes import is compiled once, also where that is switched off.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # Modules and tests stay until the end: no collection need look at them.
    gc.disable()


def pytest_collection_finish() -> None:
    """Collect from now on what tests leave."""
    gc.freeze()
    gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """Run more processes than there are processors: many tests mostly wait."""
    return len(os.sched_getaffinity(0)) + 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that start something real, and begin with what takes longest."""
    for item in items:
        if item.path.relative_to(_HERE).parts[0] in _E2E:
            item.add_marker(pytest.mark.e2e)
    items.sort(key=_rank)


class ByModule(LoadScopeScheduling):  # type: ignore[misc]
    """Runs a module's tests in one process: they share what takes long to start."""

    def _split_scope(self, nodeid: str) -> str:
        path, _, name = nodeid.partition("::")
        if path.endswith("/test_debian.py"):
            return name.partition("[")[2]  # each release has a system of its own
        folder = path.split("/")[1]
        return folder if folder in _TOGETHER else path


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByModule:
    """Distribute tests by their modules."""
    return ByModule(config, log)


def _rank(item: pytest.Item) -> int:
    path = item.path.relative_to(_HERE).as_posix()
    beginnings = (path.startswith(name) for name in _LONGEST)
    return next((at for at, found in enumerate(beginnings) if found), len(_LONGEST))
