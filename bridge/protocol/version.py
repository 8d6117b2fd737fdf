"""The version of the protocol; see docs/decisions/0003."""

from __future__ import annotations

from typing import Final

PROTOCOL: Final = "1.0"
"""
``MAJOR.MINOR``, in ``/v1/health`` and ``welcome``.

The minor number grows with what clients may ignore, the major number with anything
else.
"""
