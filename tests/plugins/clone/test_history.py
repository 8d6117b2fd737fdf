import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.history import Behind, Commit, compare, read_commits
from bridge.protocol.errors import BridgeError

from .clones import run_git
from .packs import (
    EMPTY,
    START,
    Object,
    blob,
    commit,
    line_of,
    made_commit,
    make_repository,
    unpacked_of,
)


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
    @given(graphs(), st.data())
    @settings(max_examples=60)
    def test_as_git(self, graph: list[Object], data: st.DataObject) -> None:
        """Count and order are those of ``git rev-list`` for any two commits."""
        latest, current = (data.draw(st.sampled_from(graph)) for _ in range(2))
        behind = compared(latest, current, *graph)
        with tempfile.TemporaryDirectory() as base:
            make_repository(Path(base), "x", [EMPTY, *graph])
            between = [latest.name.hex(), f"^{current.name.hex()}"]
            run = ("rev-list", "--date-order", *between)
            reported = run_git(Path(base) / "x.git", *run).split()
        self.assertEqual([entry.commit for entry in behind.changelog], reported)
        self.assertEqual(behind.commits, len(reported))

    def test_histories(self) -> None:
        """The newest fifty at hand are shown; what is not at hand counts as fifty."""
        line = line_of(61)
        # One parent is named twice.
        odd = made_commit(b"odd", line[1], line[1])
        newest = [str(number) for number in range(60, 10, -1)]
        for latest, current, objects, commits, shown, met in (
            (odd, line[0], [*line[:2], odd], 2, ["odd", "1"], True),
            # Fifty stand for more, and for what is just beyond what is at hand.
            (line[60], line[0], line, 50, newest, True),
            (line[60], line[10], line[11:], 50, newest, True),
            (line[8], line[0], line[4:9], 50, ["8", "7", "6", "5", "4"], False),
            # All of it without the other commit.
            (line[2], made_commit(b"gone"), line[:3], 3, ["2", "1", "0"], False),
        ):
            behind = compared(latest, current, *objects)
            found = (behind.commits, names(behind), behind.met)
            self.assertEqual(found, (commits, shown, met))
            self.assertEqual(behind.latest, latest.name.hex())

    def test_times(self) -> None:
        """Times are those of the committer, in UTC."""
        line = line_of(2)
        (entry,) = compared(line[1], line[0], *line).changelog
        self.assertEqual(entry.time, "2023-11-14T22:14:20Z")
        self.assertEqual(entry.commit, line[1].name.hex())

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
    def summary(self, message: bytes) -> str:
        """The summary of a commit with this message."""
        one = made_commit(message)
        return self.read(one).entry.summary

    def read(self, one: Object) -> Commit:
        (commit,) = read_commits(unpacked_of([one]), nothing).values()
        self.assertEqual(commit.name.decode("ascii"), one.name.hex())
        return commit

    def test_summaries(self) -> None:
        """The first line that is not blank is the summary, cut, and fit to be shown."""
        for message, summary in (
            (b"Fix it\n\nIn detail.\n", "Fix it"),
            (b"\n\n  Late start\n", "Late start"),
            (b"Windows\r\nline ends", "Windows"),
            (b"", ""),
            (b"   \n ", ""),
            ("Grüße 👋".encode(), "Grüße 👋"),
            (b"\xff\xfe odd", "\ufffd\ufffd odd"),
            *((text.encode() * 100_000, text * 200) for text in ("a", "ü", "👋")),
            # Terminal sequences, control and bidi characters are taken out.
            ("a\x1b[31mb\x00c\u202ed\u2066e\u2028f\x9bg".encode(), "abcdefg"),
        ):
            self.assertEqual(self.summary(message), summary)

    def test_strange_times(self) -> None:
        """A time that is none is empty, and sorts as the oldest."""
        base = made_commit(b"base")
        for at in (b"x", b"-5", b"", b"0", b"9" * 12, b"9" * 400):
            top = made_commit(b"top", base, at=at)
            (entry,) = compared(top, base, base, top).changelog
            self.assertEqual(entry.time, "", at)

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
