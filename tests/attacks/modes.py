"""The modes: how the bundle was built, for which manifest, and on which page."""

from __future__ import annotations

from typing import Final

from attrs import frozen


@frozen
class Build:
    """
    What a bundle is made with.

    :ivar bind: See ``HostProfile.bind``.
    :ivar freeze: See ``HostProfile.freeze``.
    :ivar dom: Whether the plugins' manifests have ``"dom": true``.
    """

    bind: str
    freeze: bool = False
    dom: bool = False

    @property
    def name(self) -> str:
        """A name for files."""
        words = (self.bind, "frozen" * self.freeze, "dom" * self.dom)
        return "-".join(filter(None, words))


@frozen
class Mode:
    """
    A bundle, and the page that loads it.

    :ivar name: In the data and in the docs.
    :ivar about: One line, for the docs.
    :ivar has_policy: Whether the page has its content security policy.
    """

    name: str
    about: str
    build: Build
    has_policy: bool = True


MODES: Final = (
    Mode(
        "off-open",
        "`bind` and `freeze` are off, and the page has no content security policy",
        Build("off", dom=True),
        has_policy=False,
    ),
    Mode("off", "`bind` and `freeze` are off", Build("off", dom=True)),
    Mode(
        "names-open",
        "names are bound, and the page has no content security policy",
        Build("names"),
        has_policy=False,
    ),
    Mode("names", "names are bound", Build("names")),
    Mode(
        "names-dom",
        'names are bound, and the manifest has `"dom": true`',
        Build("names", dom=True),
    ),
    Mode(
        "frozen-open",
        "names are bound, the language is frozen, and the page has no content security "
        "policy",
        Build("names", freeze=True),
        has_policy=False,
    ),
    Mode(
        "frozen",
        "names are bound, and the language is frozen",
        Build("names", freeze=True),
    ),
    Mode(
        "frozen-dom",
        'the same, and the manifest has `"dom": true`',
        Build("names", freeze=True, dom=True),
    ),
)
"""From what stops least to what stops most; with elements, less is stopped again."""
