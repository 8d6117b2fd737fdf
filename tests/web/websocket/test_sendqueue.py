from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import limits
from bridge.web.websocket.sendqueue import SendQueue


class SendQueueTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.sent: list[bytes] = []
        self.overflows = 0
        self.pieces: list[bytes] = []
        self.send_queue = SendQueue(self.send, self.overflow)

    def send(self, piece: bytes, first: bool, last: bool) -> None:
        self.assertEqual(first, not self.pieces)
        self.assertLessEqual(len(piece), limits.PIECE_BYTES)
        self.pieces.append(piece)
        if last:
            self.sent.append(b"".join(self.pieces))
            self.pieces.clear()

    def overflow(self) -> None:
        self.overflows += 1

    def test_oldest_moments_are_dropped(self) -> None:
        """Of moments the oldest are dropped and counted; what is awaited stays."""
        self.send_queue.pauseProducing()
        self.send_queue.put(b"answer")
        self.send_queue.put(b"plugins", "plugins")
        self.send_queue.put(b"snippet", "remote")
        for n in range(limits.QUEUED_PUSHES + 9):
            self.send_queue.put(b"%d" % n, "log")
        self.send_queue.resumeProducing()
        self.assertEqual(self.send_queue.dropped, 11)
        self.assertEqual(self.sent[:4], [b"answer", b"plugins", b"snippet", b"11"])
        self.assertEqual(len(self.sent), 1 + limits.QUEUED_PUSHES)

    def test_attack_too_much_waits(self) -> None:
        """So many bytes, or texts, may wait; beyond that nothing is kept or sent."""
        for text, most in (
            (bytes(limits.MIB), limits.UNSENT_BYTES // limits.MIB),
            (b"", limits.QUEUED_FRAMES),
        ):
            self.setUp()
            self.send_queue.pauseProducing()
            for _ in range(most):
                self.send_queue.put(text)
            self.assertEqual(self.overflows, 0)
            self.send_queue.put(b"x")
            self.send_queue.put(text)
            self.assertEqual(self.overflows, 1)
            self.send_queue.resumeProducing()
            self.send_queue.put(b"y")
            self.assertEqual(self.sent, [])

    def full_after_each(self, piece: bytes, first: bool, last: bool) -> None:
        """Send to a transport that is full after each piece, as a real one is."""
        self.send(piece, first, last)
        self.send_queue.pauseProducing()

    def test_large_text_goes_in_pieces(self) -> None:
        """Each piece waits for room; what comes meanwhile comes after the whole."""
        self.send_queue.send = self.full_after_each
        texts = [
            b"a" * (3 * limits.PIECE_BYTES),
            b"b" * (limits.PIECE_BYTES + 1),
            b"c" * limits.PIECE_BYTES,
        ]
        for text in texts:
            self.send_queue.put(text)
        self.assertEqual((len(self.pieces), self.sent), (1, []))
        for expected in ([], texts[:1], texts[:1], texts[:2], texts):
            self.send_queue.resumeProducing()
            self.assertEqual(self.sent, expected)
        self.send_queue.resumeProducing()
        self.assertEqual(self.pieces, [])

    def test_text_under_way_does_not_count(self) -> None:
        """A text larger than all that may wait is sent, when it is its turn."""
        self.send_queue.send = self.full_after_each
        text = b"a" * (limits.UNSENT_BYTES + 1)
        self.send_queue.put(text)
        while not self.sent:
            self.send_queue.resumeProducing()
        self.assertEqual((self.sent, self.overflows), ([text], 0))

    def test_drained_by_the_end(self) -> None:
        """Who waits until the peer has read waits no longer than it is there."""
        self.successResultOf(self.send_queue.drained())
        self.send_queue.pauseProducing()
        drained = self.send_queue.drained()
        self.assertNoResult(drained)
        self.send_queue.stopProducing()
        self.successResultOf(drained)

    def test_close_within_a_text(self) -> None:
        """Before a close the rest goes at once, and what waits behind it does not."""
        self.send_queue.send = self.full_after_each
        self.send_queue.put(b"a" * (limits.PIECE_BYTES + 5))
        self.send_queue.put(b"b")
        self.send_queue.finish()
        self.send_queue.finish()
        self.assertEqual(self.sent, [b"a" * (limits.PIECE_BYTES + 5)])

    def test_overflow_within_a_text(self) -> None:
        """Of a page that does not read, the rest of what was begun is dropped too."""
        self.send_queue.send = self.full_after_each
        self.send_queue.put(b"a" * (limits.PIECE_BYTES + 5))
        self.send_queue.put(b"x" * (limits.UNSENT_BYTES + 1))
        self.send_queue.finish()
        self.send_queue.resumeProducing()
        self.assertEqual((len(self.pieces), self.sent, self.overflows), (1, [], 1))

    @given(
        st.lists(
            st.sampled_from(["pause", "resume"])
            | st.sampled_from([None, "log", "osc", "plugins", "build"]),
            max_size=60,
        )
    )
    def test_any_history(self, history: list[str | None]) -> None:
        """What is sent is in order, once, and with the newest before each answer."""
        self.setUp()
        put: list[bytes] = []
        answers: list[bytes] = []
        for n, what in enumerate(history):
            if what == "pause":
                self.send_queue.pauseProducing()
            elif what == "resume":
                self.send_queue.resumeProducing()
            else:
                text = b"%d" % n
                put.append(text)
                answers += [text] if what is None else []
                self.send_queue.put(text, what)
        self.send_queue.resumeProducing()
        self.assertEqual([t for t in self.sent if t in answers], answers)
        self.assertEqual(len(set(self.sent)), len(self.sent))
        self.assertEqual(sorted(self.sent, key=int), self.sent)
        self.assertLessEqual(set(self.sent), set(put))
        newest = {
            (what, history[:n].count(None)): b"%d" % n for n, what in enumerate(history)
        }
        for (what, _), text in newest.items():
            if what in ("plugins", "build"):
                self.assertIn(text, self.sent)
