"""What the sources of one tree may cost to parse."""

from __future__ import annotations

from typing import Final

from attrs import define

from ...protocol.limits import SOURCE_NODES

_NODES_PER_ERROR: Final = 50


class TooComplexError(Exception):
    """Source beyond what people write: nested too deep, or too dense."""


@define
class Budget:
    """
    Counts the syntax nodes of one tree's sources; nodes, and so no clock, decide.

    Once when they are parsed, and those that are judged once more: each costs as much.

    :ivar nodes: How many there may still be.
    """

    nodes: int = SOURCE_NODES

    def spend(self, nodes: int, errors: int = 0) -> None:
        """
        Count nodes that were parsed, or judged.

        :param errors: Places that did not parse: each costs a parser many tries.
        :raise TooComplexError: It was too much.
        """
        self.nodes -= nodes + errors * _NODES_PER_ERROR
        if self.nodes < 0:
            raise TooComplexError
