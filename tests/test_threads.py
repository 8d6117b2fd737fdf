"""Tests of the doubles for threads: what a pool of real threads does, they do."""

import threading

from twisted.internet.defer import CancelledError
from twisted.trial.unittest import TestCase

from bridge.concurrency.threads import Pool

from .reactors import reactor
from .threads import Threads
from .waiting import until

ARGUMENTS = "https://forge.example/slow.git", "c0ffee", threading.Event()
"""What every call has."""


class InThreadContract:
    """
    Facts about every ``InThread``.

    The test case makes one in ``setUp``, as ``self.in_thread``; ``hold`` begins a call
    of ``function``, and returns its Deferred and what lets the call go on.
    """

    async def test_result(self):
        """The function gets the arguments; the Deferred fires with its result."""
        result = await self.in_thread(lambda *given: [*given, 7], *ARGUMENTS)
        self.assertEqual(result, [*ARGUMENTS, 7])

    async def test_failure(self):
        """What the function raises is the failure; the call itself raises nothing."""
        raised = KeyError("why")

        def broken(*_: object) -> None:
            raise raised

        calling = self.in_thread(broken, *ARGUMENTS)
        self.assertIs(await self.assertFailure(calling, KeyError), raised)

    async def test_held(self):
        """The Deferred fires when the call has ended, and not before."""
        calling, go_on = self.hold(lambda *_: 7)
        self.assertFalse(calling.called)
        go_on()
        self.assertEqual(await calling, 7)

    async def test_cancelled(self):
        """The call is made to its end, and its outcome is dropped."""
        ended: list[int] = []

        def broken(*_: object) -> None:
            ended.append(1)
            raise KeyError

        for function in (lambda *_: ended.append(1), broken):
            ended.clear()
            calling, go_on = self.hold(function)
            calling.cancel()
            await self.assertFailure(calling, CancelledError)
            go_on()
            await until(lambda: ended)


class PoolTests(InThreadContract, TestCase):
    def setUp(self):
        self.pool = Pool(reactor, "contract", 1)
        self.pool.start()
        self.addCleanup(self.pool.stop)
        self.in_thread = self.pool.call

    def hold(self, function):
        going = threading.Event()
        self.addCleanup(going.set)

        def held(*given: object) -> object:
            going.wait()
            return function(*given)

        return self.in_thread(held, *ARGUMENTS), going.set


class ThreadsTests(InThreadContract, TestCase):
    """Threads that are held up by the name of a function."""

    def setUp(self):
        self.in_thread = self.threads = Threads()

    def hold(self, function):
        self.threads.slow = function.__name__
        return self.in_thread(function, *ARGUMENTS), self.threads.go_on

    async def test_configured_failure(self):
        """A configured failure arrives as one that the function has raised."""
        raised = OSError("disk")
        self.threads.failing["f"] = raised

        def f(*_: object) -> None:
            raise AssertionError("called")

        calling = self.in_thread(f, *ARGUMENTS)
        self.assertIs(await self.assertFailure(calling, OSError), raised)
