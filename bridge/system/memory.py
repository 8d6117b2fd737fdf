"""What the process keeps of the memory it has used, which Python can't choose."""

from __future__ import annotations

import contextlib
import linecache
import sys
from typing import Final

LARGE_BYTES: Final = 256 * 1024
"""From this size on, a block is a mapping of its own."""

KEPT_BYTES: Final = 2 * 1024 * 1024
"""How much of the heap is kept when it is free: a fetch of 1 MiB, and its text."""

_ARENAS: Final = 1
"""How many heaps there may be; only one thread at a time runs Python."""

# Of malloc.h.
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8


def map_large_blocks() -> None:
    """
    Have every large block returned to the system as soon as it is freed.

    All threads share one heap.  Otherwise each would get one of its own, and each of
    these keeps what it once needed.

    glibc does so at first, but the first large block that is freed raises its
    threshold to that size, up to 32 MiB.  From then on such blocks lie between small
    ones in the heap, which can't shrink below the last of these, and a daemon's memory
    grows with every few large frames.  With another C library, nothing is changed.

    A fixed threshold also keeps glibc from raising another: how much of the heap's
    end may be free before it is returned.  At its default of 128 KiB, each fetch would
    return its memory and get it back page by page.
    """
    _call("mallopt", _M_MMAP_THRESHOLD, LARGE_BYTES)
    _call("mallopt", _M_TRIM_THRESHOLD, KEPT_BYTES)
    _call("mallopt", _M_ARENA_MAX, _ARENAS)


def trim() -> None:
    """
    Return what is free in the heap to the system: after statements, or when modules
    were loaded, about two megabytes at a start.  A hundred take 20 ms.

    Part of it is the source of methods that attrs has generated, kept for tracebacks.
    """
    linecache.clearcache()
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    """Call a function of glibc, if that is the C library."""
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(AttributeError):
        getattr(ctypes.CDLL(None), name)(*arguments)
