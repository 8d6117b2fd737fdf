"""Tests for bridge.concurrency.threads."""

import threading
from typing import Any

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from bridge.concurrency.threads import Pool


class PoolTests(TestCase):
    """Tests for pools of threads."""

    async def test_calls_in_another_thread(self):
        """Work runs in a thread of the pool, and its result or failure comes back."""
        anything: Any = reactor
        pool = Pool(anything, "test", 1)
        waiting = pool.call(threading.get_ident)
        pool.start()
        self.addCleanup(pool.stop)
        self.assertNotEqual(await waiting, threading.get_ident())
        with self.assertRaises(ZeroDivisionError):
            await pool.call(lambda: 1 // 0)
