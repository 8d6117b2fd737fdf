import gzip
import tracemalloc
import zlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from orjson import Fragment
from twisted.trial.unittest import SynchronousTestCase

from bridge.http import bodytext
from bridge.protocol.errors import BridgeError
from bridge.protocol.strictjson import dumps, loads


def pieces_of(body: bytes, size: int) -> list[bytes]:
    """Cut a body into pieces."""
    return [body[start : start + size] for start in range(0, len(body), size)]


def text_of(pieces: list[bytes], inflated: bool) -> Fragment:
    """Read a body, as it is received or inflated."""
    text = bodytext.CompressedBody("gzip") if inflated else bodytext.PlainBody()
    for piece in pieces:
        text.extend(piece)
    return text.whole()


class ReadTests(SynchronousTestCase):
    def read(self, body: bytes, inflated: bool = False, size: int = 7) -> object:
        """Read a body that comes in pieces: its text, or the refusal."""
        try:
            return loads(dumps(text_of(pieces_of(body, size), inflated)))
        except BridgeError as error:
            return error.message

    @given(st.text(), st.integers(1, 9), st.integers(1, 9))
    def test_any_text(self, written: str, size: int, step: int) -> None:
        """Any text is read, however it is cut, plain and inflated."""
        self.patch(bodytext, "_STEP_BYTES", step)
        body = written.encode("utf-8")
        self.assertEqual(self.read(body, size=size), written)
        raw = zlib.compressobj(wbits=-15)
        for coded in (
            gzip.compress(body),
            zlib.compress(body),
            raw.compress(body) + raw.flush(),
        ):
            self.assertEqual(self.read(coded, True, size), written)

    @given(st.binary(), st.booleans())
    def test_any_bytes(self, body: bytes, inflated: bool) -> None:
        """Any bytes are text, or are refused."""
        found = self.read(body, inflated)
        if not inflated:
            try:
                self.assertEqual(found, body.decode("utf-8"))
            except UnicodeDecodeError:
                self.assertEqual(found, "the response: not text in UTF-8")

    def test_limit(self) -> None:
        """The limit is exact, and counts what was inflated."""
        self.patch(bodytext, "OUTBOUND_RESPONSE_BYTES", 1000)
        for size, fits in ((1000, True), (1001, False)):
            body = b"x" * size
            for coded, inflated in ((body, False), (gzip.compress(body), True)):
                found = self.read(coded, inflated)
                self.assertEqual(found == body.decode("ascii"), fits)

    def test_attack_bomb_is_stopped_early(self) -> None:
        """A bomb is inflated to the limit, and little more."""
        self.patch(bodytext, "OUTBOUND_RESPONSE_BYTES", 10 * bodytext._STEP_BYTES)
        inflated: list[int] = []
        real = bodytext._inflated

        def counted(body: bytearray) -> Any:
            for step in real(body):
                inflated.append(len(step))
                yield step

        self.patch(bodytext, "_inflated", counted)
        bomb = zlib.compress(b"\0" * 400 * bodytext._STEP_BYTES, 9)
        self.assertEqual(self.read(bomb, True, 1 << 20), bodytext.too_large().message)
        self.assertLessEqual(sum(inflated), 11 * bodytext._STEP_BYTES)

    def test_attack_a_few_bytes_at_a_time(self) -> None:
        """A body in many small pieces takes little more memory than they have."""
        pieces = pieces_of(b"xyz" * 4096, 3)
        text = bodytext.PlainBody()
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        for piece in pieces:
            text.extend(piece)
        self.assertLess(tracemalloc.get_traced_memory()[0], 80 * len(pieces))
