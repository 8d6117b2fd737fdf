"""Tests of ``bridge.plugins.clone.history``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.history import Behind, Commit, compare, read_commits
from bridge.protocol.errors import BridgeError

from .commits import EMPTY, START, git, line_of, made_commit, unpacked_of
from .packs import Object, blob, commit, make_repository


def nothing() -> None:
    """Let everything go on."""


def compared(latest: Object, current: Object, *objects: Object) -> Behind:
    """Compare two commits, ``objects`` being at hand."""
    commits = read_commits(unpacked_of(objects), nothing)
    return compare(latest.name.hex(), current.name.hex(), commits, nothing)


def names(behind: Behind) -> list[str]:
    """The summaries of the changelog."""
    return [entry.summary for entry in behind.changelog]


@st.composite
def graphs(draw: st.DrawFn) -> list[Object]:
    """Commits of which each may have any earlier ones as parents, at any time."""
    made: list[Object] = []
    for number in range(draw(st.integers(2, 14))):
        chosen = st.lists(st.sampled_from(made), max_size=3, unique=True)
        parents = draw(chosen) if made else []
        at = START + draw(st.integers(0, 12))
        made.append(made_commit(b"%d" % number, *parents, at=at))
    return made


class WalkTests(SynchronousTestCase):
    """``compare``."""

    @given(graphs(), st.data())
    @settings(deadline=None, max_examples=60)
    def test_as_git(self, graph: list[Object], data: st.DataObject) -> None:
        """Count and order are those of ``git rev-list`` for any two commits."""
        latest, current = (data.draw(st.sampled_from(graph)) for _ in range(2))
        behind = compared(latest, current, *graph)
        with tempfile.TemporaryDirectory() as base:
            make_repository(Path(base), "x", [EMPTY, *graph])
            between = [latest.name.hex(), f"^{current.name.hex()}"]
            reported = git(Path(base) / "x.git", "rev-list", "--date-order", *between)
        self.assertEqual([entry.commit for entry in behind.changelog], reported)
        self.assertEqual(behind.commits, len(reported))

    def test_line(self) -> None:
        """The newest comes first, down to the one after the current."""
        line = line_of(5)
        behind = compared(line[-1], line[1], *line)
        self.assertEqual(names(behind), ["4", "3", "2"])
        self.assertEqual((behind.commits, behind.met), (3, True))
        self.assertEqual(behind.latest, line[-1].name.hex())

    def test_times(self) -> None:
        """Times are those of the committer, in UTC."""
        line = line_of(2)
        (entry,) = compared(line[1], line[0], *line).changelog
        self.assertEqual(entry.time, "2023-11-14T22:14:20Z")
        self.assertEqual(entry.commit, line[1].name.hex())

    def test_merge(self) -> None:
        """Both sides of a merge are counted, and shown by their time."""
        base = made_commit(b"base", at=START)
        left = made_commit(b"left", base, at=START + 20)
        right = made_commit(b"right", base, at=START + 10)
        right2 = made_commit(b"right 2", right, at=START + 30)
        top = made_commit(b"merge", left, right2, at=START + 40)
        behind = compared(top, base, base, left, right, right2, top)
        self.assertEqual(names(behind), ["merge", "right 2", "left", "right"])
        self.assertEqual(compared(top, left, base, left, right, right2, top).commits, 3)

    def test_parent_before_child_in_time(self) -> None:
        """A commit from before its parent's time still comes first."""
        base = made_commit(b"base", at=START)
        parent = made_commit(b"parent", base, at=START + 1000)
        child = made_commit(b"child", parent, at=START + 1)
        self.assertEqual(
            names(compared(child, base, base, parent, child)), ["child", "parent"]
        )

    def test_parent_twice(self) -> None:
        """A commit that names a parent twice is read as naming it once."""
        line = line_of(2)
        odd = made_commit(b"odd", line[1], line[1])
        self.assertEqual(names(compared(odd, line[0], *line, odd)), ["odd", "1"])

    def test_more_than_fifty(self) -> None:
        """Of a longer way 50 commits are shown, and 50 stands for more."""
        line = line_of(61)
        behind = compared(line[-1], line[0], *line)
        self.assertEqual((behind.commits, len(behind.changelog)), (50, 50))
        self.assertEqual(names(behind)[0], "60")

    def test_exactly_fifty(self) -> None:
        """The current commit may be just beyond what is at hand."""
        line = line_of(51)
        behind = compared(line[-1], line[0], *line[1:])
        self.assertEqual((behind.commits, len(behind.changelog)), (50, 50))
        self.assertTrue(behind.met)

    def test_current_out_of_reach(self) -> None:
        """Without the current commit, an incomplete history counts as 50."""
        line = line_of(9)
        behind = compared(line[-1], line[0], *line[4:])
        self.assertEqual((behind.commits, behind.met), (50, False))
        self.assertEqual(names(behind), ["8", "7", "6", "5", "4"])

    def test_other_history(self) -> None:
        """A complete history without the current commit counts as a whole."""
        line = line_of(3)
        behind = compared(line[-1], made_commit(b"gone"), *line)
        self.assertEqual((behind.commits, behind.met), (3, False))

    def test_rewritten(self) -> None:
        """What both have is not counted, when both are at hand."""
        base = line_of(4)
        ours = line_of(2, start=base[-1], name="ours ")
        theirs = line_of(3, start=base[-1], name="theirs ")
        behind = compared(theirs[-1], ours[-1], *base, *ours, *theirs)
        self.assertEqual(names(behind), ["theirs 2", "theirs 1", "theirs 0"])
        self.assertEqual((behind.commits, behind.met), (3, True))

    def test_moved_back(self) -> None:
        """An ancestor of the current commit has nothing new."""
        line = line_of(4)
        behind = compared(line[1], line[3], *line)
        self.assertEqual((behind.commits, behind.changelog), (0, []))

    def test_tip_is_missing(self) -> None:
        """A pack without the tip is refused."""
        line = line_of(2)
        error = self.assertRaises(BridgeError, compared, line[1], line[0], line[0])
        self.assertIn("an object is missing", error.message)

    def test_stopped(self) -> None:
        """Reading and comparing end when they are stopped."""
        line = line_of(2)

        def stop() -> None:
            raise InterruptedError

        self.assertRaises(InterruptedError, read_commits, unpacked_of(line), stop)
        commits = read_commits(unpacked_of(line), nothing)
        ends = line[1].name.hex(), line[0].name.hex()
        self.assertRaises(InterruptedError, compare, *ends, commits, stop)


class CommitTests(SynchronousTestCase):
    """``read_commits``, of commits of all kinds."""

    def summary(self, message: bytes) -> str:
        """The summary of a commit with this message."""
        one = made_commit(message)
        return self.read(one).entry.summary

    def read(self, one: Object) -> Commit:
        """Read a commit."""
        (commit,) = read_commits(unpacked_of([one]), nothing).values()
        self.assertEqual(commit.name.decode("ascii"), one.name.hex())
        return commit

    def test_summaries(self) -> None:
        """The first line that is not blank is the summary."""
        for message, summary in (
            (b"Fix it\n\nIn detail.\n", "Fix it"),
            (b"\n\n  Late start\n", "Late start"),
            (b"Windows\r\nline ends", "Windows"),
            (b"", ""),
            (b"   \n ", ""),
            ("Grüße 👋".encode(), "Grüße 👋"),
            (b"\xff\xfe odd", "\ufffd\ufffd odd"),
        ):
            self.assertEqual(self.summary(message), summary)

    def test_long_summary(self) -> None:
        """A summary is cut to 200 characters, whatever they are made of."""
        for text in ("a", "ü", "👋"):
            long = self.summary((text * 100_000).encode())
            self.assertEqual(long, text * 200)

    def test_hidden_characters(self) -> None:
        """Terminal sequences, control and bidi characters are taken out."""
        shown = self.summary("a\x1b[31mb\x00c\u202ed\u2066e\u2028f\x9bg".encode())
        self.assertEqual(shown, "abcdefg")

    @given(st.binary(max_size=600))
    @settings(deadline=None)
    def test_any_message(self, message: bytes) -> None:
        """A summary is one printable line, whatever the message is."""
        summary = self.summary(message)
        self.assertLessEqual(len(summary), 200)
        self.assertNotRegex(summary, "[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

    def test_strange_times(self) -> None:
        """A time that is none is empty, and sorts as the oldest."""
        base = made_commit(b"base")
        for at in (b"x", b"-5", b"", b"0", b"9" * 12, b"9" * 400):
            top = made_commit(b"top", base, at=at)
            (entry,) = compared(top, base, base, top).changelog
            self.assertEqual(entry.time, "", at)

    def test_signed_commit(self) -> None:
        """Headers after the committer are no part of the message."""
        plain = made_commit(b"Say so")
        head, _, message = plain.content.partition(b"\n\n")
        signature = b"\ngpgsig -----BEGIN\n \n abc\n -----END"
        one = Object("commit", head + signature + b"\n\n" + message)
        found = self.read(one)
        self.assertEqual((found.entry.summary, found.time), ("Say so", START))

    def test_other_objects(self) -> None:
        """What is no commit is passed over."""
        one = commit(EMPTY)
        read = read_commits(unpacked_of([blob(), EMPTY, one]), nothing)
        self.assertEqual(list(read), [one.name.hex().encode("ascii")])

    def test_not_a_commit(self) -> None:
        """What git would not make is refused."""
        for content in (b"", b"tree x\n", b"parent " + b"a" * 40 + b"\n"):
            one = Object("commit", content)
            error = self.assertRaises(
                BridgeError, read_commits, unpacked_of([one]), nothing
            )
            self.assertIn("a commit that git would not make", error.message)

    def test_very_many_parents(self) -> None:
        """Parents beyond the limit of a head are not read."""
        line = b"parent " + b"a" * 40 + b"\n"
        head = b"tree " + EMPTY.name.hex().encode("ascii") + b"\n"
        one = Object("commit", head + line * 100_000)
        found = self.read(one)
        self.assertLess(len(found.parents), 1400)
