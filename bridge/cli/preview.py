"""What a plugin is and asks for, as the daemon previews it before a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..protocol.errors import BridgeError, Code, Prefix
from ..protocol.text import visible
from ..settings.host import HostProfile
from .command import prefix_of
from .session import Session

_NOT_NOW: Final = (Prefix.PRIVATE_ADDRESS, Prefix.BUSY)


def preview_of(session: Session, **named: str) -> Any | None:
    """
    Have the daemon preview a plugin.

    :param named: ``url``, or the ``id`` of an installed one.
    :return: What ``plugins/preview`` answers; ``None`` where only previews are refused.
    :raise BridgeError: An install or update would be refused, too.
    """
    try:
        return session.operate("preview", **named)
    except BridgeError as e:
        if prefix_of(e) in _NOT_NOW or e.code is Code.RATE_LIMITED:
            return None
        raise


def preview_lines(preview: Any, profile: HostProfile) -> list[str]:
    """Describe a plugin: its name, its author's key, and what it asks for."""
    manifest, key = preview["manifest"], preview["key"]
    author = f", by {manifest['author']}" if manifest.get("author") else ""
    known = "accepted before" if key["trusted"] else "not accepted yet"
    asks = gained(preview, profile) or ["It asks for nothing."]
    return [
        visible(f"{manifest['id']} {manifest['version']}: {manifest['name']}{author}"),
        visible(f"signed with the key {key['keyId']}, {known}"),
        *asks,
    ]


def gained(preview: Any, profile: HostProfile) -> list[str]:
    """List in words what a plugin asks for that the installed one does not."""
    found = {name: change["gained"] for name, change in preview["changes"].items()}
    lines = [*_meanings(found["permissions"], profile)]
    if later := found["optionalPermissions"]:
        lines += ["It may ask later to:", *_meanings(later, profile)]
    for name, what in (
        ("hosts", "Sites"),
        ("actions", "Things it does in the app"),
        ("events", "Events it receives"),
    ):
        if found[name]:
            lines.append(f"{what}: {', '.join(found[name])}")
    return [visible(line) for line in lines]


def _meanings(permissions: Iterable[str], profile: HostProfile) -> Iterator[str]:
    for name in permissions:
        words = profile.permission_words.get(name)
        yield f"- {words.label}: {words.effect}" if words else f"- {name}"
