"""Notifications and images for tests."""

import base64
import struct
import zlib

from bridge.sinks.fanout import Notification


def chunk(kind: bytes, content: bytes) -> bytes:
    """Write a chunk of a PNG."""
    check = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + check


def png(width: int = 2, height: int = 2, pixel: bytes = b"\xff\0\0\xff") -> bytes:
    """Write a PNG of one colour, of whatever declared size."""
    rows = min(height, 4096)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    row = b"\0" + pixel * min(width, 4096)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(row * rows))
        + chunk(b"IEND", b"")
    )


def text64(image: bytes) -> str:
    """Write an image as callers do."""
    return base64.b64encode(image).decode("ascii")


LEAST = Notification(title="Door", content="", source_app="Sample")
"""As little as there can be."""

FULL = Notification(
    title="Door <b>open</b> & wide",
    content="Zoë <i>came</i> in.\n😀",
    source_app="Sample",
    timeout=3.5,
    image=text64(png()),
    urgency="critical",
    sound=True,
    volume=0.25,
    audio_path="warning",
    height=200,
    opacity=0.8,
    always_show=True,
)
"""Everything at once."""

KINDS = (LEAST, FULL, Notification(title="a", content="b", source_app="c", icon="x"))
