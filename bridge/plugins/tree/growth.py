"""What one version of a plugin declares that another does not."""

from __future__ import annotations

from collections.abc import Collection

from attrs import frozen

from .manifest import Manifest


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
    :ivar dom: Whether it draws its own page content, and the installed version does
        not.
    """

    permissions: Difference
    optional_permissions: Difference
    hosts: Difference
    actions: Difference
    events: Difference
    dom: bool

    @property
    def grows(self) -> bool:
        """Whether anything is gained."""
        return self.dom or any(
            one.gained
            for one in (
                self.permissions,
                self.optional_permissions,
                self.hosts,
                self.actions,
                self.events,
            )
        )


def differences(old: Manifest | None, new: Manifest) -> Differences:
    """
    Compare the manifest of a new version with the installed one.

    :param old: ``None`` when nothing is installed, or it can't be trusted: then
        everything is gained.
    """
    required = old.permissions if old else []
    optional = old.optional_permissions if old else []
    before = {*required, *optional}
    after = {*new.permissions, *new.optional_permissions}
    return Differences(
        permissions=Difference(
            gained=_without(new.permissions, required),
            lost=_without(required, after),
        ),
        optional_permissions=Difference(
            gained=_without(new.optional_permissions, {*before, *new.permissions}),
            lost=_without(optional, after),
        ),
        hosts=_compare(old.hosts if old else [], new.hosts),
        actions=_compare(old.actions if old else [], new.actions),
        events=_compare(old.events if old else [], new.events),
        dom=new.dom is True and not (old and old.dom),
    )


def _compare(old: list[str], new: list[str]) -> Difference:
    return Difference(gained=_without(new, old), lost=_without(old, new))


def _without(names: list[str], others: Collection[str]) -> list[str]:
    return [name for name in names if name not in others]
