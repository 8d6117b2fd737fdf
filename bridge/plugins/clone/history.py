"""
How far one commit is behind another, computed from commits alone.

Only a part of a history is ever at hand.  What is reported of it is what
``git rev-list`` would report of the whole, or a lower bound.
"""

from __future__ import annotations

import heapq
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from graphlib import TopologicalSorter
from typing import Final

from ...classes import frozen
from ...protocol import limits
from ...protocol.errors import clone_failed
from ...protocol.text import iso_time, one_line
from .pack import COMMIT, Unpacked

# A committer's time that is not one is 0, as git reads it.
_HEAD: Final = re.compile(
    rb"tree [0-9a-f]{40}\n"
    rb"(?P<parents>(?:parent [0-9a-f]{40}\n)*)"
    rb"(?:author [^\n]*\ncommitter [^\n]*> *(?P<time>[0-9]{1,12})(?![0-9]))?"
)
_MESSAGE_BYTES: Final = 1024


@frozen
class Commit:
    """
    What is read of a commit.

    :ivar name: 40 hexadecimal digits, as its parents have them.
    :ivar time: When it was committed, in seconds since the epoch; 0 when it is
        not recorded.
    :ivar message: The beginning of its message.
    """

    name: bytes
    parents: tuple[bytes, ...]
    time: int
    message: bytes

    @property
    def entry(self) -> LogEntry:
        """What a changelog has of it; its summary is fit to be shown."""
        line = self.message.lstrip().partition(b"\n")[0].decode("utf-8", "replace")
        summary = one_line(line, limits.COMMIT_SUMMARY_CHARACTERS)
        return LogEntry(self.name.decode("ascii"), summary, iso_time(self.time * 1000))


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
    :return: By name.
    :raise BridgeError: ``clone_failed``: one is not a commit that git would make.
    """
    commits = {}
    for name, packed in unpacked.objects.items():
        check()
        if packed.kind == COMMIT:
            commit = _read_commit(name.hex().encode("ascii"), packed.content)
            commits[commit.name] = commit
    return commits


def _read_commit(name: bytes, content: bytes) -> Commit:
    head = _HEAD.match(content, 0, limits.COMMIT_HEAD_BYTES)
    if head is None:
        raise clone_failed("a commit that git would not make")
    # A parent that is named twice is one.
    parents = tuple(dict.fromkeys(head["parents"].split()[1::2]))
    blank = content.find(b"\n\n", head.end())
    start = blank + 2 if blank >= 0 else len(content)
    message = content[start : start + _MESSAGE_BYTES]
    return Commit(name, parents, int(head["time"] or 0), message)


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
    tip, other = latest.encode("ascii"), current.encode("ascii")
    if tip not in commits:
        raise clone_failed("an object is missing")
    reached = _reachable(tip, commits, check)
    missing = reached - _reachable(other, commits, check)
    new = {name: commits[name] for name in missing & commits.keys()}
    count = (
        min(len(new), limits.UPDATE_COMMITS)
        if len(new) == len(missing)
        else limits.UPDATE_COMMITS
    )
    newest = itertools.islice(_newest_first(new), limits.UPDATE_COMMITS)
    changelog = [commit.entry for commit in newest]
    return Behind(latest, count, changelog, other in reached or other in commits)


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


def _newest_first(commits: Mapping[bytes, Commit]) -> Iterator[Commit]:
    """
    Return commits in the order of ``git rev-list --date-order``.

    No parent comes before all its children; apart from that, the newest is first.
    """
    waiting: TopologicalSorter[bytes] = TopologicalSorter()
    for name, commit in commits.items():
        waiting.add(name)
        for parent in commit.parents:
            if parent in commits:
                waiting.add(parent, name)
    waiting.prepare()
    numbers = itertools.count()
    ready: list[tuple[int, int, bytes]] = []
    while waiting:
        for name in waiting.get_ready():
            heapq.heappush(ready, (-commits[name].time, next(numbers), name))
        newest = heapq.heappop(ready)[2]
        yield commits[newest]
        waiting.done(newest)
