"""The modes: how the bundle was built, for which manifest, and on which page."""

from __future__ import annotations

from typing import Final

from attrs import frozen


@frozen
class Build:
    """
    What a bundle is made with.

    :ivar bind: See ``HostProfile.bind``.
    :ivar dom: Whether the plugins' manifests have ``"dom": true``.
    """

    bind: str
    dom: bool

    @property
    def name(self) -> str:
        """A name for files."""
        return f"{self.bind}-{'dom' if self.dom else 'handles'}"


@frozen
class Mode:
    """
    A bundle, and the page that loads it.

    :ivar name: In the data and in the docs.
    :ivar has_policy: Whether the page has its content security policy.
    :ivar about: One line, for the docs.
    """

    name: str
    build: Build
    has_policy: bool
    about: str


MODES: Final = (
    Mode(
        "off-open",
        Build("off", dom=True),
        False,
        "`bind` is off, and the page has no content security policy",
    ),
    Mode("off", Build("off", dom=True), True, "`bind` is off"),
    Mode(
        "names-open",
        Build("names", dom=False),
        False,
        "names are bound, and the page has no content security policy",
    ),
    Mode("names", Build("names", dom=False), True, "names are bound"),
    Mode(
        "names-dom",
        Build("names", dom=True),
        True,
        'names are bound, and the manifest has `"dom": true`',
    ),
)
"""From what stops least to what stops most."""
