"""The call that shows a note, as notification servers want it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .messages import Byte, Call, RemoteInterface
from .notes import Note


def notify_call(
    remote: RemoteInterface, note: Note, actions: Sequence[tuple[str, str]]
) -> Call:
    """
    Make the call of ``Notify`` for a note; only what is given is sent.

    :param remote: The server that is to show it.
    :param actions: The key and the label of each button.
    """
    hints: dict[str, Any] = {"urgency": Byte(note.urgency)}
    if note.suppress_sound:
        hints["suppress-sound"] = True
    if note.image_path:
        hints["image-path"] = note.image_path
    if note.desktop_entry:
        hints["desktop-entry"] = note.desktop_entry
    return Call(
        remote,
        "Notify",
        "susssasa{sv}i",
        [
            note.application,
            0,
            note.icon,
            note.summary,
            note.body,
            [text for action in actions for text in action],
            hints,
            note.expire_ms,
        ],
    )
