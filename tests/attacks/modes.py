"""The modes: on which page a bundle is loaded."""

from __future__ import annotations

from typing import Final

from attrs import frozen


@frozen
class Mode:
    """
    A page that loads the bundle.

    :ivar name: In the data and in the docs.
    :ivar about: One line, for the docs.
    :ivar has_policy: Whether the page has its content security policy.
    """

    name: str
    about: str
    has_policy: bool = True


MODES: Final = (
    Mode(
        "off-open",
        "plugins are modules of the bundle, and the page has no content security "
        "policy",
        has_policy=False,
    ),
    Mode("off", "plugins are modules of the bundle"),
)
"""From what stops least to what stops most."""
