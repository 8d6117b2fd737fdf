"""
Tests of the doubles: each keeps the contract of what it stands in for.

A double that does what the real part never does lets tests pass that prove nothing. So
every class that is named as a double has a contract, which the real part keeps as
well, or needs none.
"""

import ast
import re
from importlib import import_module
from pathlib import Path
from typing import Final

from twisted.internet import reactor
from twisted.internet.interfaces import IReactorUNIX
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from .contracts import ApproverContract
from .freedesktop.buses import HastyReactor
from .plugins.operations.bench import FakeApprover

TESTS: Final = Path(__file__).parent
DOUBLE: Final = re.compile(r"_?(Fake|Memory|Recording|Stub|Mock|Dummy)(?!.*Tests\Z)")
"""The names that doubles have, and tests of doubles have not."""

CONTRACTS: Final = {
    "approval.screens.FakeScreen": (
        "freedesktop.test_contract.DesktopContract",
        "freedesktop.test_contract.FakeScreenTests",
        "freedesktop.test_contract.NotificationsTests",
    ),
    "plugins.clone.remotes.FakeRemotes": (
        "plugins.test_doubles.RemotesContract",
        "plugins.test_doubles.FakeRemotesTests",
        "plugins.test_doubles.GitRemotesTests",
    ),
    "plugins.operations.bench.FakeApprover": (
        "contracts.ApproverContract",
        "test_doubles.FakeApproverTests",
        "approval.test_desktop.InMemoryTests",
    ),
    "plugins.operations.bench.FakeBuilder": (
        "plugins.test_doubles.BuilderContract",
        "plugins.test_doubles.FakeBuilderTests",
        "plugins.test_doubles.RealBuilderTests",
    ),
    "sinks.fake.FakeSink": (
        "contracts.SinkContract",
        "sinks.test_fanout.FakeContractTests",
        "sinks.test_overlay.SocketTests",
    ),
    "threads.Threads": (
        "test_threads.InThreadContract",
        "test_threads.ThreadsTests",
        "test_threads.PoolTests",
    ),
    "web.stack.Connection": (
        "web.test_requestscontract.RequestsContract",
        "web.test_requestscontract.MemoryTests",
        "e2e.test_edge.RequestsByTcp",
    ),
    "web.stack.MemorySocket": (
        "web.test_framescontract.FramesContract",
        "web.test_framescontract.MemoryTests",
        "e2e.test_edge.FramesByTcp",
    ),
}
"""Of each double: its contract, the test case of it, and one of a real part."""

WITHOUT: Final = {
    # Bytes that a test chooses, from the other end of a real socket.
    "freedesktop.buses.FakeBus"
}
"""Doubles that stand in for nothing of ours."""


def doubles() -> set[str]:
    """Name every class of the tests that is named as a double."""
    found: set[str] = set()
    for path in TESTS.rglob("*.py"):
        module = ".".join(path.relative_to(TESTS).with_suffix("").parts)
        tree = ast.parse(path.read_text("utf-8"))
        found.update(
            f"{module}.{node.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef) and DOUBLE.match(node.name)
        )
    return found


def resolve(name: str) -> type:
    """Import a class of the tests."""
    module, _, kind = name.rpartition(".")
    return getattr(import_module(f"tests.{module}"), kind)


class DoublesTests(SynchronousTestCase):
    """Tests of the list above."""

    def test_every_double_is_listed(self):
        """A class that is named as a double has a contract, or needs none."""
        self.assertEqual(doubles() - set(CONTRACTS) - WITHOUT, set())

    def test_contracts_are_kept(self):
        """What is listed exists, and the real part is tested by the same contract."""
        for name in WITHOUT | set(CONTRACTS):
            self.assertIsInstance(resolve(name), type)
        for name, (contract, *cases) in CONTRACTS.items():
            for case in cases:
                self.assertTrue(issubclass(resolve(case), resolve(contract)), name)
            double, real = map(resolve, cases)
            self.assertIsNot(double, real, name)


class FakeApproverTests(ApproverContract, SynchronousTestCase):
    """The approver that answers at once."""

    def approver(self):
        return FakeApprover(answers=[False])


class OpenFakeApproverTests(ApproverContract, SynchronousTestCase):
    """The same, with a user who thinks about it."""

    def approver(self):
        return FakeApprover(answers=[None])


class HastyReactorTests(SynchronousTestCase):
    """The reactor for which time runs faster."""

    def test_it_is_the_reactor(self):
        """Everything except time is the real reactor's."""
        hasty = HastyReactor()
        self.assertTrue(verifyObject(IReactorUNIX, hasty))
        self.assertEqual(hasty.listenUDP, reactor.listenUDP)
