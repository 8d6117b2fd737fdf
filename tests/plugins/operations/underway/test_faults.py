"""Tests for ``bridge.plugins.operations.underway.faults``."""

import errno
import os

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.operations.underway.faults import reason
from bridge.protocol.errors import BridgeError, Code


class ReasonTests(SynchronousTestCase):
    """Tests for ``reason``."""

    def test_refusal(self):
        """A refusal has its own words."""
        self.assertEqual(reason(BridgeError(Code.UNAVAILABLE, "later")), "later")

    def test_disk(self):
        """A disk that takes no more is reported as the system names it."""
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS):
            error = OSError(number, "secret", "/home/secret")
            self.assertEqual(reason(error), os.strerror(number))

    def test_defect(self):
        """Everything else is a defect."""
        for defect in (KeyError("x"), OSError(errno.EIO, "x"), OSError("x")):
            self.assertIsNone(reason(defect))
