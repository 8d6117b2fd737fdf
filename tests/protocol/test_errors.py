from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.errors import CloseCode, CloseReason


class CloseTests(SynchronousTestCase):
    def test_policy_is_for_handshakes(self) -> None:
        """Only a refused hello closes with 1008, on which a page gives up."""
        final = {str(r) for r in CloseReason if r.code is CloseCode.POLICY}
        self.assertEqual(final, {"hello_required", "unauthorized"})

    def test_fit_a_close_frame(self) -> None:
        """Every reason fits the 123 bytes a close frame has for it."""
        for reason in CloseReason:
            self.assertLessEqual(len(reason.encode("ascii")), 123)
