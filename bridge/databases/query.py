"""A statement to run."""

from __future__ import annotations

from ..classes import frozen

Param = str | int | float | None


@frozen
class Query:
    """
    A statement, and what is put in its placeholders.

    :ivar blobs: Whether blobs are wanted, not only how large they are.
    """

    sql: str
    params: list[Param]
    blobs: bool = False
