"""What one version of a plugin declares that another does not."""

from __future__ import annotations

from collections.abc import Collection

from ...approval.wording import Difference, Differences
from .manifest import Manifest


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
    )


def _compare(old: list[str], new: list[str]) -> Difference:
    return Difference(gained=_without(new, old), lost=_without(old, new))


def _without(names: list[str], others: Collection[str]) -> list[str]:
    return [name for name in names if name not in others]
