"""The file that ``export`` writes and ``import`` reads."""

from __future__ import annotations

from typing import Any, Final

from ..classes import define, frozen

VERSION: Final = 1
"""Of the file's shape; what is newer is refused by ``import``."""


@frozen
class PluginSource:
    """
    One plugin.

    :ivar id: Its id.
    :ivar url: Where it was installed from.
    """

    id: str
    url: str


@define
class Export:
    """
    The content of the file.

    :ivar version: ``VERSION``.
    :ivar application: The host application's name.
    :ivar exported_at: When, in UTC.
    :ivar plugins: Where each plugin came from, by id.
    :ivar state: The page's values by namespace and key.
    """

    version: int
    application: str
    exported_at: str
    plugins: list[PluginSource]
    state: dict[str, dict[str, Any]]
