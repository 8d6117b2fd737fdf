"""Every hit of many sources, where the scan itself stops at a limit."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from unittest import mock

from .scanning import scan_sources


def every_hit(files: Mapping[str, bytes]) -> dict[str, list[tuple[int, str]]]:
    """
    Scan sources, however many there are.

    :return: By name: the lines and rules of the hits, for files that have some.
    """
    found: dict[str, list[tuple[int, str]]] = {}
    with mock.patch("bridge.plugins.policy.scan.POLICY_HITS", sys.maxsize):
        for hit in scan_sources(files):
            found.setdefault(hit.file, []).append((hit.line, hit.rule))
    return found
