"""Tests for bridge.http.responseguard; what it refuses is in ``test_hostile``."""

from twisted.internet.testing import AccumulatingProtocol, StringTransport
from twisted.trial.unittest import SynchronousTestCase

from bridge.http.responseguard import Guarded

SMALL, LARGE = 8 * 1024, 64 * 1024


class ReadingTests(SynchronousTestCase):
    def read_in(self, *pieces: bytes) -> int:
        """Receive an answer; the size of the next read."""
        client = AccumulatingProtocol()
        guarded = Guarded(client, lambda count: None)
        transport = StringTransport()
        guarded.makeConnection(transport)
        self.assertEqual(transport.bufferSize, SMALL)
        for piece in pieces:
            guarded.dataReceived(piece)
        self.assertTrue(client.data.endswith(pieces[-1]))
        return transport.bufferSize

    def test_body_with_a_length(self) -> None:
        """It is not parsed, so it is read in large pieces."""
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
        self.assertEqual(self.read_in(head), LARGE)
        self.assertEqual(self.read_in(head[:30], head[30:]), LARGE)

    def test_attack_chunks_of_one_byte(self) -> None:
        """Chunks are parsed, so they are read in small pieces."""
        for name in (b"Transfer-Encoding", b"transfer-encoding", b"TRANSFER-ENCODING"):
            head = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n" + name
            self.assertEqual(self.read_in(head + b": chunked\r\n\r\n1\r\nx\r\n"), SMALL)
