"""Sources made to keep the daemon busy, and how long they keep it from other work."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Final

from attrs import define, field

from bridge.protocol.limits import SOURCE_BYTES

UNITS: Final = {
    "open brackets": b"([{",
    "closed brackets": b") ] } ",
    "pairs": b"{}",
    "lists": b"[],",
    "calls of pairs": b"(){}[];",
    "semicolons": b";",
    "commas": b",",
    "type arguments": b"a<b>(c);",
    "casts": b"a as b;",
    "angles": b"a<",
    "assertions": b"<a>",
    "arrows": b"()=>",
    "negations": b"!",
    "choices": b"a?b:",
    "assignments": b"a=",
    "members": b"a.b",
    "sums": b"a+",
    "templates": b"`${",
    "whole templates": b"`${a}`;",
    "regexes": b"/[/]/;",
    "broken regexes": b"/a/ /b/g /(/ ;",
    "divisions": b"a/b/c;",
    "quotes": b"'\"`",
    "strings": b"'';",
    "numbers": b"1 2 3;",
    "words": b"a b c ",
    "keywords": b"class if for let ",
    "cases": b"case a:",
    "elements": b"<a/>;",
    "entities": b"&amp;",
    "escapes": b"\\u0061 ",
    "backslashes": b"\\",
    "comments": b"/**/",
    "comment starts": b"/*",
    "decorators": b"@a ",
    "spreads": b"[...a];",
    "invalid UTF-8": b"\xff\xfe",
    "cut UTF-8": b"\xe2\x82 ",
    "NULs": b"a\0",
    "byte order marks": b"\xef\xbb\xbf;",
    "letters beyond ASCII": "é;".encode(),
    "joined emoji": "'👩‍👩';".encode(),
    "optional chains": b"a?.b?.[c];",
    "labels": b"a:",
    "functions": b"function a(){}",
    "classes": b"class A{b(){}}",
    "types": b"type A={b:c}|d;",
    "objects": b"({a:1,b});",
    "async arrows": b"async(a,b)=>",
    "generic arrows": b"<T,>(a)=>b;",
}
"""What is repeated, in lines of ordinary length, to the largest source there may be."""

FRAMES: Final = {
    "": (b"", b""),
    "one function": (b"function f() {\n", b"}\n"),
    "one switch": (b"switch (a) {\ncase 1:\n", b"}\n"),
    "one array": (b"const a = [\n", b"];\n"),
    "one class": (b"class A {\n", b"}\n"),
    "one template": (b"const a = `\n", b"`;\n"),
    "one comment": (b"/*\n", b"*/\n"),
    "one element": (b"const a = (<a>\n", b"</a>);\n"),
}
"""What can stand around it: a statement that is not over until the file is."""

_LINE_BYTES = 90


def source(unit: bytes, frame: str = "", size: int = SOURCE_BYTES) -> bytes:
    """Lines of one unit, up to a size, between what opens and what closes a frame."""
    head, tail = FRAMES[frame]
    line = unit * max(1, _LINE_BYTES // len(unit)) + b"\n"
    return head + line * ((size - len(head) - len(tail)) // len(line)) + tail


@define(eq=False)
class Watch(threading.Thread):
    """
    A thread that wants to run every millisecond.

    :ivar longest: Seconds of another thread's processor time that passed meanwhile,
        at most; a busy machine does not count.
    """

    _watched: int
    longest: float = field(default=0.0, init=False)
    ended: bool = field(default=False, init=False)

    def __attrs_pre_init__(self) -> None:
        super().__init__()

    def run(self) -> None:
        """Sleep until ended."""
        clock = time.pthread_getcpuclockid(self._watched)
        before = time.clock_gettime(clock)
        while not self.ended:
            time.sleep(0.001)
            now = time.clock_gettime(clock)
            self.longest = max(self.longest, now - before)
            before = now


def longest_hold(call: Callable[[], object]) -> float:
    """Call, and tell for how many seconds at most no other thread could run."""
    watch = Watch(threading.get_ident())
    watch.start()
    try:
        call()
    finally:
        watch.ended = True
        watch.join()
    return watch.longest


ORDINARY_CALLS: Final = 10
"""Calls per byte that the scan of everyday text makes, at most (it is 8 to 9)."""


def calls_made(call: Callable[[], object]) -> int:
    """
    Call, and count every call of a function that this makes.

    A machine that is busy with other things, and coverage's tracing, change nothing
    about it: this tells how much work a source is, where a clock would tell how much
    the machine had to do.
    """
    made = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal made
        if event.endswith("call"):
            made += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(before)
    return made
