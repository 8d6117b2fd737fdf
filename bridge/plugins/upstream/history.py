"""
How far one commit is behind another, computed from commits alone.

Only a part of a history is ever at hand.  What is reported of it is what
``git rev-list`` would report of the whole, or a lower bound.
"""

from __future__ import annotations

import heapq
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from attrs import frozen

from ...protocol.limits import (
    COMMIT_HEAD_BYTES,
    COMMIT_SUMMARY_CHARACTERS,
    UPDATE_COMMITS,
)
from ...protocol.text import one_line
from ..clone.objects.pack import COMMIT, Unpacked
from ..clone.transfer import clone_failed
from ..installed.trees import iso_time

# A committer's time that is not one is 0, as git reads it.
_HEAD: Final = re.compile(
    rb"tree [0-9a-f]{40}\n"
    rb"(?P<parents>(?:parent [0-9a-f]{40}\n)*)"
    rb"(?:author [^\n]*\ncommitter [^\n]*> *(?P<time>[0-9]{1,12})(?![0-9]))?"
)
_PARENT_START: Final = len(b"parent ")
_PARENT_LINE_BYTES: Final = len(b"parent \n") + 40
_MESSAGE_BYTES: Final = 4096


@frozen
class Commit:
    """
    What is read of a commit.

    :ivar parents: Their names, 20 bytes each.
    :ivar time: When it was committed, in seconds since the epoch; 0 when it is
        not recorded.
    :ivar message: The beginning of its message.
    """

    parents: tuple[bytes, ...]
    time: int
    message: bytes

    @property
    def summary(self) -> str:
        """The first line of the message, fit to be shown."""
        line = self.message.lstrip().partition(b"\n")[0]
        return one_line(line.decode("utf-8", "replace"), COMMIT_SUMMARY_CHARACTERS)


@frozen
class LogEntry:
    """
    A commit in a changelog.

    :ivar commit: 40 hexadecimal digits.
    :ivar summary: The first line of its message, cut to 200 characters.
    :ivar time: When it was committed: ISO 8601 in UTC; empty when it is not recorded.
    """

    commit: str
    summary: str
    time: str


@frozen
class Behind:
    """
    How far a commit is behind the tip of a branch.

    :ivar latest: The tip, 40 hexadecimal digits.
    :ivar commits: How many commits the tip has that the other does not; of 50, and
        when the history at hand does not reach back so far, 50.  0 when the branch
        was moved back.
    :ivar changelog: The first 50 of them, the newest first.
    :ivar met: Whether the other commit is in the history at hand.
    """

    latest: str
    commits: int
    changelog: list[LogEntry]
    met: bool


def read_commits(unpacked: Unpacked, check: Callable[[], None]) -> dict[bytes, Commit]:
    """
    Read every commit of a pack.

    :param check: Called for every object; may raise to end it.
    :raise BridgeError: ``clone_failed``: one is not a commit that git would make.
    """
    commits = {}
    for name, packed in unpacked.objects.items():
        check()
        if packed.kind == COMMIT:
            commits[name] = _read_commit(packed.content)
    return commits


def _read_commit(content: bytes) -> Commit:
    head = _HEAD.match(content, 0, COMMIT_HEAD_BYTES)
    if head is None:
        raise clone_failed("a commit that git would not make")
    lines = head["parents"].decode("ascii")
    parents = tuple(
        bytes.fromhex(lines[at + _PARENT_START : at + _PARENT_LINE_BYTES])
        for at in range(0, len(lines), _PARENT_LINE_BYTES)
    )
    start = content.find(b"\n\n", head.end())
    message = b"" if start < 0 else content[start : start + _MESSAGE_BYTES]
    return Commit(parents, int(head["time"] or 0), message)


def compare(
    latest: str,
    current: str,
    commits: Mapping[bytes, Commit],
    check: Callable[[], None],
) -> Behind:
    """
    Count how far ``current`` is behind ``latest``.

    :param commits: The history at hand, by name.
    :param check: Called for every commit; may raise to end it.
    :raise BridgeError: ``clone_failed``: ``latest`` is not at hand.
    """
    tip, other = bytes.fromhex(latest), bytes.fromhex(current)
    if tip not in commits:
        raise clone_failed("an object is missing")
    reached = _reachable(tip, commits, check)
    met = other in reached or other in commits
    missing = reached - _reachable(other, commits, check)
    at_hand = {name for name in missing if name in commits}
    count = min(len(at_hand), UPDATE_COMMITS)
    if len(at_hand) < len(missing):
        count = UPDATE_COMMITS
    newest = itertools.islice(_newest_first(tip, at_hand, commits), UPDATE_COMMITS)
    changelog = [_entry(name, commits[name]) for name in newest]
    return Behind(latest, count, changelog, met)


def _entry(name: bytes, commit: Commit) -> LogEntry:
    return LogEntry(name.hex(), commit.summary, iso_time(commit.time * 1000))


def _reachable(
    start: bytes, commits: Mapping[bytes, Commit], check: Callable[[], None]
) -> set[bytes]:
    """Name a commit and its ancestors; of what is not at hand the first ones."""
    found = {start}
    todo = [start]
    while todo:
        check()
        commit = commits.get(todo.pop())
        if commit is not None:
            todo += set(commit.parents) - found
            found.update(commit.parents)
    return found


def _newest_first(
    tip: bytes, among: set[bytes], commits: Mapping[bytes, Commit]
) -> Iterator[bytes]:
    """
    Return commits in the order of ``git rev-list --date-order``.

    No parent comes before all its children; apart from that, the newest is first.
    """
    children = Counter(
        parent for name in among for parent in set(commits[name].parents)
    )
    numbers = itertools.count()
    ready = [(0, 0, tip)] if tip in among else []
    while ready:
        name = heapq.heappop(ready)[2]
        yield name
        for parent in dict.fromkeys(commits[name].parents):
            children[parent] -= 1
            if children[parent] == 0 and parent in among:
                entry = (-commits[parent].time, next(numbers), parent)
                heapq.heappush(ready, entry)
