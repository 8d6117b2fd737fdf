"""Tests for ``bridge.plugins.clone.reach``."""

import time

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.cloner import GitCloner
from bridge.plugins.clone.transfer import CloneLimits
from bridge.plugins.upstream.look import GitUpstream
from bridge.protocol import limits


class RemoteTests(SynchronousTestCase):
    """What a clone and a look at a repository have in common."""

    def test_limits(self):
        """Each has limits of its own, and takes others."""
        clone = GitCloner(None, False, time.monotonic)
        look = GitUpstream(None, False, time.monotonic)
        self.assertEqual(clone.limits, CloneLimits())
        self.assertEqual(look.limits.seconds, limits.UPDATE_SECONDS)
        given = GitUpstream(None, False, time.monotonic, CloneLimits(objects=1))
        self.assertEqual(given.limits, CloneLimits(objects=1))
