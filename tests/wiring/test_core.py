import time

from twisted.trial.unittest import TestCase

from bridge.wiring.core import Threads

from ..reactors import reactor


class ThreadsTests(TestCase):
    async def test_log_lines_in_order(self) -> None:
        """What writes them does so one after the other, however long one takes."""
        logs = Threads.make(reactor, 8).logs
        logs.start()
        self.addCleanup(logs.stop)
        written: list[int] = []

        def slow() -> None:
            time.sleep(0.1)
            written.append(1)

        logs.call(slow)
        await logs.call(written.append, 2)
        self.assertEqual(written, [1, 2])
