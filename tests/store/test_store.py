import gc
import json
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred, execute
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import STATE_DAEMON_BYTES
from bridge.store.state import Generations, Put, Remove, StoreError, read_state
from bridge.store.store import Store

from ..directories import fresh_directory, planted
from ..disk import ALL, full, going_wrong
from ..threads import Threads
from .test_state import edited, edits


class StoreCase(SynchronousTestCase):
    """A store whose writes happen when the test lets them."""

    def setUp(self) -> None:
        self.directory = fresh_directory(self)
        self.path = self.directory / "state.json"
        self.thread = Threads(slow="replace")
        self.store = Store.open(self.path, self.thread)

    def in_file(self) -> Any:
        return json.loads(self.path.read_bytes())

    def reopened(self) -> Store:
        return Store.open(self.path, execute)

    def put(self, value: Any, key: str = "k", ns: str = "host") -> Deferred[None]:
        return self.store.commit([Put(ns, key, value)])

    def refused(self, commit: Deferred[None]) -> BridgeError:
        return self.failureResultOf(commit, BridgeError).value

    def fail_write(self) -> None:
        with going_wrong(full()):
            self.thread.step()

    def fail_to_sync(self) -> None:
        """Let the write that waits fail once its file is in place."""
        other = Generations(self.path.with_name("other"))
        if self.path.exists():
            other.replace([b"{}"])
        with going_wrong(None) as watched:
            other.replace([b"{}"])
        names = [name for name, _ in watched.calls]
        at = len(names) - names[::-1].index("replace")
        with going_wrong(full(at, ALL)):
            self.thread.step()


class CommitTests(StoreCase):
    def test_group_commit(self) -> None:
        """They fire when they are in the file; those during a write share the next."""
        commits = [self.put(number, f"k{number}") for number in range(10)]
        self.assertNoResult(commits[0])
        self.assertFalse(self.path.exists())
        self.thread.step()
        self.successResultOf(commits[0])
        for commit in commits[1:]:
            self.assertNoResult(commit)
        self.thread.step()
        for commit in commits[1:]:
            self.successResultOf(commit)
        self.assertEqual(self.thread.waiting, [])
        self.assertEqual(self.reopened().entries("host")["k9"], 9)


class RefusedTests(StoreCase):
    def test_failed_write(self) -> None:
        """All that is not durable yet is undone: later commits may rest on it."""
        self.put(1)
        self.thread.step()
        commits = [self.put(2), self.put(3), self.put(3, "k", "new")]
        self.fail_write()
        words = "state.json could not be written: No space left on device"
        for commit in commits:
            error = self.refused(commit)
            self.assertEqual((error.code, error.message), (Code.INTERNAL, words))
        self.assertEqual(self.store._tables.namespaces(), ["host"])
        self.assertEqual(self.store.get("host", "k"), 1)
        self.assertEqual(self.in_file(), {"host": {"k": 1}})

    def test_writes_after_a_failure_even_what_is_unchanged(self) -> None:
        """Nothing is answered from memory alone while the file may not be durable."""
        commit = self.put(1)
        self.fail_to_sync()
        self.refused(commit)
        unchanged = self.put(1)
        self.assertNoResult(unchanged)
        self.thread.step()
        self.successResultOf(unchanged)
        self.successResultOf(self.put(1))

    def test_not_an_os_error(self) -> None:
        """A failure of another kind is named by its kind, or by what it says."""
        no_thread = BridgeError(Code.UNAVAILABLE, "no room for a thread")
        for error, words in (
            (ZeroDivisionError(), "ZeroDivisionError"),
            (no_thread, "could not be written: no room for a thread"),
        ):
            self.thread.failing = {"replace": error}
            self.assertIn(words, self.refused(self.put(1)).message)

    def test_goes_on_after_a_defect(self) -> None:
        """Whatever ends a write, the next commit is written."""
        with mock.patch.object(Store, "_refuse", side_effect=MemoryError):
            self.put(1)
            self.fail_write()
        gc.collect()
        self.assertEqual(len(self.flushLoggedErrors(MemoryError)), 1)
        last = self.put(2)
        self.thread.step()
        self.successResultOf(last)
        self.assertEqual(self.in_file()["host"]["k"], 2)

    def test_bad_value(self) -> None:
        """A refused value fails at once, and nothing is written."""
        error = self.refused(self.put(object()))
        self.assertEqual(error.code, Code.BAD_REQUEST)
        self.assertEqual(error.message, "value: not JSON")
        self.assertEqual(self.thread.waiting, [])


class InsistTests(StoreCase):
    def setUp(self) -> None:
        super().setUp()
        self.previous = self.path.with_name("state.json.bak")
        self.put(1)
        self.thread.step()

    def test_committed_before_a_write_that_is_owed(self) -> None:
        """Memory and file agree on what came before the second write of an insisted."""
        for is_durable in (False, True):
            self.store.insist([Put("host", "k", 2)]).addErrback(lambda _: None)
            later = self.put(3)
            self.thread.step()
            if is_durable:
                self.thread.step()
                self.successResultOf(later)
            else:
                self.fail_to_sync()
                self.refused(later)
            self.assertEqual(self.store.get("host", "k"), 3)
            self.assertEqual(self.in_file(), {"host": {"k": 3}})

    def test_insisted_during_a_write(self) -> None:
        """That write is none of the two that are owed."""
        self.put(6)
        insisted = self.store.insist([Put("host", "k", 2)])
        for _ in range(2):
            self.thread.step()
            self.assertNoResult(insisted)
        self.thread.step()
        self.successResultOf(insisted)
        self.assertNotIn(b"6", self.previous.read_bytes())

    def test_full_disk(self) -> None:
        """The last stays in memory, and is in the file with what is written next."""
        self.store.insist([Put("host", "k", 7)]).addErrback(lambda _: None)
        for is_seven_written in (True, False):
            insisted = self.store.insist([Put("host", "k", 2), Remove("x")])
            if is_seven_written:
                self.thread.step()
            self.fail_write()
            self.refused(insisted)
        self.assertEqual(self.store._insisted, [])  # a full disk fills no memory
        self.assertEqual(self.store.get("host", "k"), 2)
        other = self.put(3, "other")
        self.fail_write()
        self.refused(other)
        self.assertEqual(self.store.entries("host"), {"k": 2})
        again = self.put(2)
        for _ in range(2):
            self.assertNoResult(again)
            self.thread.step()
        self.successResultOf(again)
        self.assertEqual(self.in_file(), {"host": {"k": 2}})

    def test_written_at_the_end(self) -> None:
        """Closing tries again."""
        self.store.insist([Put("host", "k", 2)]).addErrback(lambda _: None)
        self.fail_write()
        closed = self.store.close()
        for _ in range(2):
            self.thread.step()
        self.successResultOf(closed)
        self.assertEqual(self.in_file(), {"host": {"k": 2}})

    def test_no_limit(self) -> None:
        """What is taken back fits, whatever has grown meanwhile."""
        large = "x" * STATE_DAEMON_BYTES
        insisted = self.store.insist([Put("bridge.x", "k", large)])
        for _ in range(2):
            self.thread.step()
        self.successResultOf(insisted)


class CloseTests(StoreCase):
    def test_no_more_commits(self) -> None:
        """A closed store refuses commits, and can still be read, as what insists."""
        self.store.close()
        self.assertEqual(self.refused(self.put(1)).code, Code.UNAVAILABLE)
        self.assertIsNone(self.store.get("host", "k"))
        self.refused(self.store.insist([Put("host", "k", 2)]))
        self.assertEqual(self.store.get("host", "k"), 2)
        self.assertEqual(self.thread.waiting, [])

    def test_after_a_failed_write(self) -> None:
        """Closing tries once more after a failure, and ends when it fails again."""
        commit = self.put(1)
        self.fail_to_sync()
        self.refused(commit)
        closed = self.store.close()
        self.assertNoResult(closed)
        self.fail_write()
        self.successResultOf(closed)


class OpenTests(StoreCase):
    def test_unusable_directory(self) -> None:
        """A file that can be neither read nor set aside is a start-up failure."""
        self.path.write_bytes(b"damaged")
        with going_wrong(full(0, ALL)):
            error = self.assertRaises(StoreError, self.reopened)
        self.assertIn("No space left", str(error))
        self.assertEqual(self.path.read_bytes(), b"damaged")

    def test_strays(self) -> None:
        """The file of an interrupted write is removed."""
        self.path.with_name("state.json.tmp").write_bytes(b"half")
        self.assertIsNone(self.reopened().notice)
        self.assertEqual(list(self.directory.iterdir()), [])


class ViewTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = fresh_directory(self) / "state.json"

    def test_entries(self) -> None:
        """Without the file it is the generation before it, and without both empty."""
        self.assertEqual(read_state(self.path).entries("a"), {})
        for path, number in (("state.json.bak", 1), ("state.json", 2)):
            self.path.with_name(path).write_bytes(b'{"a":{"b":%d}}' % number)
            view = read_state(self.path)
            self.assertEqual(view.entries("a"), {"b": number})
            self.assertEqual(view.entries("c"), {})

    def test_nothing_is_touched(self) -> None:
        """A damaged or unknown file is refused, and stays; so does a daemon's."""
        temporary = self.path.with_name("state.json.tmp")
        temporary.write_bytes(b"half")
        for content in (b"{{", b"[]", b'{"a":1}'):
            self.path.write_bytes(content)
            self.assertRaises(StoreError, read_state, self.path)
            self.assertEqual(self.path.read_bytes(), content)
        self.assertTrue(temporary.exists())

    def test_attack_planted(self) -> None:
        """Another user's file is not read; the message has the command."""
        self.path.write_bytes(b"{}")
        planted(self, self.path)
        error = self.assertRaises(StoreError, read_state, self.path)
        self.assertIn(f'run: sudo chown -R "$USER" {self.path}', str(error))

    def test_unreadable(self) -> None:
        """An error of the system is reported in its words."""
        self.path.mkdir()
        error = self.assertRaises(StoreError, read_state, self.path)
        self.assertIn("cannot be read: not a regular file", str(error))


steps: st.SearchStrategy[tuple[str, Any]] = st.one_of(
    st.tuples(st.just("commit"), st.lists(edits, min_size=1, max_size=3)),
    st.tuples(st.just("write"), st.none() | st.integers(0, 16)),
    st.tuples(st.just("insist"), st.just([])),
    st.tuples(st.just("reopen"), st.none()),
)


class PropertyTests(SynchronousTestCase):
    @given(st.lists(steps, max_size=25))
    def test_acknowledged_is_what_is_there(self, history: list[Any]) -> None:
        """After a restart the store holds what was acknowledged, and nothing else."""
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "state.json"
            thread = Threads(slow="replace")
            store = Store.open(path, thread)
            durable: dict[str, dict[str, Any]] = {}
            pending: list[tuple[Deferred[None], list[Any]]] = []
            for step, argument in history:
                if step in ("commit", "insist"):
                    made = store.commit(argument) if argument else store.insist([])
                    pending.append((made, argument))
                elif step == "write" and thread.waiting:
                    with going_wrong(None if argument is None else full(argument)):
                        thread.step()
                elif step == "reopen":
                    self.killed(pending, durable, path)
                    thread = Threads(slow="replace")
                    store = Store.open(path, thread)
                    pending = []
                pending = self.settled(pending, durable, path)
                expected = json.loads(json.dumps(durable))
                for _, changes in pending:
                    for edit in changes:
                        edited(expected, edit)
                held = {ns: store.entries(ns) for ns in store._tables.namespaces()}
                self.assertEqual(held, expected)
                if not thread.waiting:
                    self.assertEqual(pending, [])
            self.killed(pending, durable, path)
            store = Store.open(path, execute)
            self.assertIsNone(store.notice)
            held = {ns: store.entries(ns) for ns in store._tables.namespaces()}
            self.assertEqual(held, durable)

    def settled(self, pending, durable, path):
        """
        Move what was acknowledged into ``durable``; drop what was refused.

        Of that, the first ones may be in the file: those of a write that was not known
        to be durable.
        """
        waiting, refused = [], []
        for commit, made in pending:
            if not commit.called:
                waiting.append((commit, made))
            elif commit.addErrback(lambda f: f.trap(BridgeError)).result is None:
                for edit in made:
                    edited(durable, edit)
            else:
                refused.append(made)
        if refused:
            self.found(refused, durable, path)
        return waiting

    def killed(self, pending: list[Any], durable: dict[str, Any], path: Path) -> None:
        """Move what the file has already, although it was not answered."""
        self.found([made for _, made in pending], durable, path)

    def found(self, unsure: list[Any], durable: dict[str, Any], path: Path) -> None:
        """Find the first ones of some edits in the file, or none."""
        held = json.loads(path.read_bytes()) if path.exists() else {}
        for made in unsure:
            if durable == held:
                break
            for edit in made:
                edited(durable, edit)
        self.assertEqual(durable, held)
