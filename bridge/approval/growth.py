"""What one version of a plugin declares that another does not."""

from __future__ import annotations

from ..classes import frozen


@frozen
class Difference:
    """
    How one list of a manifest differs from the installed version's.

    :ivar gained: What is new, in the manifest's order.
    :ivar lost: What is no longer there.
    """

    gained: list[str]
    lost: list[str]


@frozen
class Differences:
    """
    How a manifest differs from the installed version's.

    :ivar permissions: Required ones; one that was optional is gained, too.
    :ivar optional_permissions: Optional ones; one that was required is not gained.
    :ivar hosts: The hosts it declares.
    :ivar actions: The host's actions it declares.
    :ivar events: The host's events it declares.
    """

    permissions: Difference
    optional_permissions: Difference
    hosts: Difference
    actions: Difference
    events: Difference

    @property
    def grows(self) -> bool:
        """Whether anything is gained."""
        return any(
            one.gained
            for one in (
                self.permissions,
                self.optional_permissions,
                self.hosts,
                self.actions,
                self.events,
            )
        )
