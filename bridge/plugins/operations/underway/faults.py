"""Failures that are no defects of the daemon."""

from __future__ import annotations

import errno
import os
from typing import Final

from ....protocol.errors import BridgeError

# Not EIO: of a disk that breaks, it matters which file was read or written.
_NO_ROOM: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS))


def reason(error: Exception) -> str | None:
    """
    Return why something failed, without a path or other detail.

    :return: ``None`` for a defect, which is to be logged in full.
    """
    if isinstance(error, BridgeError):
        return error.message
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return os.strerror(error.errno)
    return None
