"""
The cost of unmasking what a page sends, against Autobahn's own parts in C (NVX).

Run ``python -m benchmarks.unmasking``.  Of NVX there are two ways: Autobahn's class,
and the function below it without the class.  Every way is measured alone, and next to a
thread that computes, as the source scan does: a call that releases the interpreter, as
that of NVX does, may then have to wait for its turn to go on.
"""

from __future__ import annotations

import codecs
import os
import statistics
import sys
import threading
import time
from importlib import import_module
from typing import Any

from bridge.daemon.daemon import THREAD_TURN_SECONDS
from bridge.web.websocket.unmasking import Unmask, native, translated

SIZES = (4, 125, 1024, 16 * 1024, 64 * 1024)
ROUNDS = 400
MASK = b"\x17\xa5\x3c\xf0"


def by_class() -> Unmask:
    """Unmask with Autobahn's class."""
    os.environ["AUTOBAHN_USE_NVX"] = "1"
    module: Any = import_module("autobahn.nvx._xormasker")

    def unmask(payload: bytes, mask: bytes, _: int) -> bytes:
        return bytes(module.create_xor_masker(mask, len(payload)).process(payload))

    return unmask


def measure(unmask: Unmask, size: int) -> tuple[float, float]:
    """Return the median and the worst but 1 % of a piece's time, in microseconds."""
    payload = os.urandom(size)
    assert unmask(payload, MASK, 0) == translated(payload, MASK, 0)
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        unmask(payload, MASK, 0)
        times.append((time.perf_counter() - begun) * 1e6)
    times.sort()
    return statistics.median(times), times[int(ROUNDS * 0.99)]


def tabulate(ways: dict[str, Unmask]) -> None:
    """Print a row for each way and size."""
    for size in SIZES:
        for name, unmask in ways.items():
            median, worst = measure(unmask, size)
            print(f"{size:>7} bytes  {name:<10} {median:9.1f} us, p99 {worst:9.1f} us")


def validate() -> None:
    """Print what validating UTF-8 costs."""
    validator: Any = import_module("autobahn.nvx").Utf8Validator
    decoder = codecs.getincrementaldecoder("utf-8")
    for name, text in (
        ("ASCII", b"{}, " * 16384),
        ("others", "Zoë 😀, ".encode() * 5041),
    ):
        ours, theirs = [], []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            decoder().decode(text)
            ours.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            validator().validate(text)
            theirs.append(time.perf_counter() - begun)
        row = [statistics.median(times) * 1e6 for times in (ours, theirs)]
        print(
            f"{len(text):>7} bytes  {name:<6}  decoder {row[0]:.1f} us, "
            f"NVX {row[1]:.1f} us"
        )


def main() -> None:
    """Measure."""
    function = native()
    if function is None:
        raise SystemExit("this Autobahn has no NVX")
    ways = {"translate": translated, "function": function, "class": by_class()}
    print("alone:")
    tabulate(ways)
    sys.setswitchinterval(THREAD_TURN_SECONDS)
    ended = threading.Event()

    def compute() -> None:
        while not ended.is_set():
            sum(range(1000))

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        print("next to a thread that computes:")
        tabulate(ways)
    finally:
        ended.set()
        thread.join()
    print("validating UTF-8, alone:")
    validate()


if __name__ == "__main__":
    main()
