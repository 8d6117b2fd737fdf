"""What the source policy found."""

from __future__ import annotations

from ...classes import frozen


@frozen
class Hit:
    """
    One breach of the source policy.

    :ivar file: The file's path in the tree, with ``/`` and without control
        characters; empty when the tree as a whole breaks the rule.
    :ivar line: Counted from 1.
    :ivar rule: The name of the rule.
    """

    file: str
    line: int
    rule: str

    @property
    def report(self) -> str:
        """``<file>:<line> <rule>``, or the rule alone for a whole tree."""
        return f"{self.file}:{self.line} {self.rule}" if self.file else self.rule
