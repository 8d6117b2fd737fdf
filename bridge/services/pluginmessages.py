"""What the ``plugins`` service accepts and answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from attrs import evolve

from ..classes import frozen
from ..plugins.installed.records import KeyEntry, Trust
from ..plugins.installed.trees import ListEntry
from ..plugins.operations.candidate import Pin
from ..plugins.operations.jobs import End, Progress
from ..protocol.errors import Code
from ..protocol.limits import NAME_CHARACTERS, REF_CHARACTERS, REF_LEAST_CHARACTERS
from ..protocol.rules import Text
from ..protocol.wire import AnyParams

_Ref = Annotated[
    str,
    Text(
        REF_CHARACTERS,
        like=f"[A-Za-z0-9_-]{{{REF_LEAST_CHARACTERS},{REF_CHARACTERS}}}",
        least=REF_LEAST_CHARACTERS,
    ),
]


@frozen
class InstallParams:
    """
    What to install.

    :ivar url: An https URL of at most 512 characters, with a host; no user name,
        query or fragment.
    :ivar pin: The ``commit`` and ``digest`` of a preview, which it has to be.
    :ivar ref: The page's own name for the operation, fresh and random. A request with
        the ``ref`` of an earlier one gets the outcome of that one.
    """

    url: str
    pin: Pin | None = None
    ref: _Ref | None = None


@frozen
class AboutParams:
    """
    Which plugin.

    :ivar id: See ``uninstall``.
    """

    id: str


@frozen
class PluginIdParams:
    """
    Which plugin.

    :ivar id: 2 to 40 characters: lower-case letters, digits and hyphens.
    :ivar ref: See ``install``.
    """

    id: str
    ref: _Ref | None = None


@frozen
class UpdateParams:
    """
    Which plugin to update.

    :ivar id: 2 to 40 characters: lower-case letters, digits and hyphens.
    :ivar pin: The ``commit`` and ``digest`` of a preview, which it has to become.
    :ivar ref: See ``install``.
    """

    id: str
    pin: Pin | None = None
    ref: _Ref | None = None


@frozen
class PreviewParams:
    """
    What to preview: either a ``url`` or an ``id``.

    :ivar url: The URL of a repository; see ``install``.
    :ivar id: An installed plugin, at the URL it was installed from.
    :ivar ref: See ``install``.
    """

    url: str | None = None
    id: str | None = None
    ref: _Ref | None = None


@frozen
class BuildParams(AnyParams):
    """
    How to name a build.

    :ivar ref: See ``install``.
    """

    ref: _Ref | None = None


@frozen
class OperationParams:
    """
    Which operation.

    :ivar operation: Its name, as ``operations`` and ``progress`` have it.
    """

    operation: Annotated[str, Text(NAME_CHARACTERS)]


@frozen
class KeyParams:
    """
    Which key.

    :ivar key_id: Its fingerprint, as ``keys`` lists it.
    :ivar ref: See ``install``.
    """

    key_id: str
    ref: _Ref | None = None


@frozen
class InstallResult:
    """
    What was installed.

    :ivar plugin: Its list entry.
    """

    plugin: ListEntry


@frozen
class Refusal:
    """
    The error of an operation, as its answer had it.

    :ivar code: Its code.
    :ivar message: Its message.
    """

    code: Code
    message: str


@frozen(kw_only=True)
class OperationEntry(Progress):
    """
    An operation that is under way, or ended in the last five minutes.

    :ivar started_at: Milliseconds since the epoch.
    :ivar ended_at: Milliseconds since the epoch; only when it has ended.
    :ivar outcome: Only when it has ended.
    :ivar error: Only when it was refused or cancelled.
    :ivar result: Only when it is done: what its method answers.
    """

    started_at: int
    ended_at: int | None = None
    outcome: End | None = None
    error: Refusal | None = None
    result: dict[str, Any] | None = None


@frozen
class OperationList:
    """
    The operations of this daemon.

    :ivar operations: Those under way first, the earliest first.
    """

    operations: list[OperationEntry]


@frozen
class PluginSet:
    """
    The installed plugins, after a change.

    :ivar plugins: List entries, by id.
    """

    plugins: list[ListEntry]


@frozen
class CheckUpdatesParams(AnyParams):
    """
    How to look for updates.

    :ivar fresh: Whether to ask every repository again; otherwise what was found within
        the last minute is good enough.
    """

    fresh: bool = False


@frozen
class KeysResult:
    """
    The accepted keys.

    :ivar keys: The last used first.
    """

    keys: list[KeyEntry]


def with_trust(trust: Trust, entries: Iterable[ListEntry]) -> list[ListEntry]:
    """Add to list entries when the user accepted their keys."""
    return [evolve(one, trusted_at=trust.trusted_at(one.key_id)) for one in entries]
