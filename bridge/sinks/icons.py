"""
Images of unknown quality, made into small PNG files that a desktop may open.

A file, because an image among the arguments of a D-Bus call is written byte by byte
while the reactor waits.  Pillow decodes it, in a thread: only PNG, JPEG and GIF,
nothing whose header promises more pixels than are wanted, no JPEG of many scans, and
only the first picture.  One at a time; a handful of each page may wait.
The result is encoded again, at most 128 pixels wide and high, without the file's
metadata.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import field
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from ..classes import define
from ..concurrency.shares import Holder, Shares
from ..concurrency.timers import Expiring
from ..protocol import limits
from ..protocol.errors import BridgeError

_FORMATS = ("PNG", "JPEG", "GIF")
_JPEG = b"\xff\xd8"
_SCAN = b"\xff\xda"


class ImageError(ValueError):
    """Not an image that can be shown; the message has nothing of it."""


def small_png(image: bytes) -> bytes:
    """
    Make a small PNG of an image.  Blocks.

    :raise ImageError: It is no PNG, JPEG or GIF, has too many pixels, or is broken.
    """
    from PIL import Image

    # It warns of images that are refused below, and a user can't act on the warning.
    warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)
    try:
        with Image.open(io.BytesIO(image), formats=_FORMATS) as opened:
            _check(opened.size)
            _check_scans(image)
            opened.draft("RGB", (limits.ICON_EDGE_PIXELS, limits.ICON_EDGE_PIXELS))
            # Grey of 16 bits would be cut off at 255, and so white.
            is_deep = opened.mode.startswith("I")
            flat = opened.point(lambda grey: grey / 256) if is_deep else opened
            shown = flat.convert("RGBA")
            shown.thumbnail((limits.ICON_EDGE_PIXELS, limits.ICON_EDGE_PIXELS))
    except ImageError:
        raise
    # The library raises what its code happens to run into: SyntaxError, struct.error...
    except Exception:  # noqa: BLE001
        raise ImageError("the image can't be read") from None
    written = io.BytesIO()
    shown.save(written, "PNG")
    return written.getvalue()


def _check(size: tuple[int, int]) -> None:
    width, height = size
    if not 0 < width * height <= limits.ICON_PIXELS:
        raise ImageError(f"the image has more than {limits.ICON_PIXELS} pixels")


def _check_scans(image: bytes) -> None:
    """Refuse a JPEG that is drawn over and over: each scan is work for all pixels."""
    if image.startswith(_JPEG) and image.count(_SCAN) > limits.ICON_SCANS:
        raise ImageError(f"the image has more than {limits.ICON_SCANS} scans")


@define(eq=False, repr=False)
class IconFiles:
    """
    A directory of icons, each kept for a minute after its last use.

    :ivar directory: Made, mode 0700, when the first icon is; emptied at both ends.
    """

    directory: Path
    _clock: IReactorTime
    _thread: Callable[..., Deferred[Any]]
    _kept: Expiring[Path] = field(init=False)
    _turn: Shares = field(
        factory=lambda: Shares(
            "icons", 1, limits.ICONS_WAITING, limits.ICONS_WAITING_PER_CALLER
        ),
        init=False,
    )

    def __attrs_post_init__(self) -> None:
        self._kept = Expiring(self._clock, limits.ICON_FILE_SECONDS, _remove)

    def open(self) -> None:
        """Remove what a killed daemon left."""
        for path in self.directory.glob("*.*"):
            _remove(path)

    async def file(self, text: str, sender: Holder | None = None) -> Path:
        """
        Return the file of an icon.

        :param text: The base64 of an image.
        :param sender: Whose it is; what waits is dropped when it has gone.
        :raise ImageError: It is not one that can be shown, or its turn does not come.
        :raise OSError: It can't be kept.
        """
        image = base64.b64decode(text)
        path = self.directory / f"{hashlib.sha256(image).hexdigest()}.png"
        if path not in self._kept:
            # Cancelled is only this: a thread goes on, and its file is kept or removed.
            made: Deferred[None] = Deferred()
            Deferred.fromCoroutine(self._make(image, path, sender)).chainDeferred(made)
            try:
                await made
            except BridgeError as e:
                raise ImageError(e.message) from None
        self._kept.keep(path, limits.ICON_FILES)
        return path

    async def _make(self, image: bytes, path: Path, sender: Holder | None) -> None:
        async with self._turn.place(sender) as place:
            if path in self._kept:
                return  # another notification with the same one came first
            await self._thread(self._write, image, path)
            if place.why is not None:
                _remove(path)
                raise place.why
            self._kept.keep(path, limits.ICON_FILES)

    def _write(self, image: bytes, path: Path) -> None:
        png = small_png(image)
        self.directory.mkdir(mode=0o700, exist_ok=True)
        written = path.with_suffix(".new")
        try:
            written.write_bytes(png)
            written.replace(path)
        except OSError:
            _remove(written)
            raise

    def close(self) -> None:
        """Remove them all, and keep no other."""
        self._turn.close()
        self._kept.close()


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
