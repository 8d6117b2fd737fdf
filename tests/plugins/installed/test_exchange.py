import contextlib
import itertools
import json
import os
from unittest import mock

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.installed import exchange as module
from bridge.plugins.installed.exchange import Exchange, Journal, JournalError
from bridge.plugins.installed.records import KEYS, RECORDS, Former, former
from bridge.protocol.limits import STATE_DAEMON_BYTES
from bridge.protocol.steps import Operation
from bridge.store.state import Edit, Put, Remove
from bridge.system.files import remove

from ...directories import fresh_directory, planted, read_files, write_files
from ...disk import full, going_wrong
from ..operations.bench import Bench

NEW, OLD = ".tmp-0000000000000001", ".tmp-0000000000000002"
RECORD = {"url": "new"}
KINDS = {
    "install": Exchange(Operation.INSTALL, "good", NEW, None, RECORD),
    "update": Exchange(Operation.UPDATE, "good", NEW, OLD, RECORD),
    "repair": Exchange(Operation.UPDATE, "good", NEW, None, RECORD),
    "uninstall": Exchange(Operation.UNINSTALL, "good", None, OLD, None),
    "forget": Exchange(Operation.UNINSTALL, "good", None, None, None),
}


class ExchangeTests(SynchronousTestCase):
    def setUp(self):
        self.bench = Bench(self)
        self.directory = self.bench.data.plugins

    def before(self, exchange):
        """Make what is there before an exchange."""
        remove(self.directory)
        self.directory.mkdir()
        if exchange.new is not None:
            self.write(exchange.new, "new")
        if exchange.old is not None:
            self.write("good", "old")
        return read_files(self.directory)

    def write(self, name, content):
        write_files(self.directory, {f"{name}/main.ts": content})

    def after(self, exchange):
        there = {} if exchange.new is None else {"good/main.ts": b"new"}
        return there if exchange.old is None else {**there, f"{OLD}/main.ts": b"old"}

    def test_durable(self):
        """What was done, undone or ended survives a loss of power."""
        journal = Journal(self.bench.data.journal)
        for exchange in KINDS.values():
            self.before(exchange)
            journal.begin(exchange)
            with mock.patch.object(module, "sync_directory") as synced:
                exchange.do(self.directory)
                exchange.undo(self.directory)
                journal.end()
            places = [self.directory, self.directory, self.bench.data.root]
            self.assertEqual([call.args[0] for call in synced.mock_calls], places)

    def test_crash_between_any_two_calls(self):
        """Wherever either way was interrupted, both ways go on from there."""
        for kind, at, back, on in itertools.product(
            KINDS.values(), range(5), (False, True), (False, True)
        ):
            before = self.before(kind)
            if back:
                kind.do(self.directory)
            with going_wrong(full(at)), contextlib.suppress(OSError):
                (kind.undo if back else kind.do)(self.directory)
            (kind.do if on else kind.undo)(self.directory)
            expected = self.after(kind) if on else before
            self.assertEqual(read_files(self.directory), expected, (kind, at, back, on))

    def test_it_replaces_nothing(self):
        """What is in the way stays: a tree, an empty directory, a dead link."""
        place = self.directory / "good"
        for make in (
            lambda: self.write("good", "foreign"),
            place.mkdir,
            lambda: place.symlink_to("nowhere"),
        ):
            self.before(KINDS["install"])
            make()
            before = os.lstat(place)
            for _ in range(2):
                self.assertRaises(FileExistsError, KINDS["install"].do, self.directory)
            KINDS["install"].undo(self.directory)
            self.assertEqual(os.lstat(place), before)
            self.assertTrue((self.directory / NEW).is_dir())

    def test_nothing_is_restored_that_was_not_changed(self):
        """Values are left alone while the state has no new record, or still the old."""
        before = former(self.bench.store, [Put("plugin:good", "colour", "red")])
        exchange = evolve(KINDS["install"], before=before)
        self.assertEqual(exchange.rollback_edits(self.bench.store), [])
        self.bench.store.commit([Put(RECORDS, "good", None)])
        self.assertFalse(KINDS["uninstall"].is_done(self.bench.store))

    def test_attack_forgotten_key(self):
        """A key that was forgotten meanwhile is not accepted again by taking back."""
        kept = [Put(KEYS, "one", {"label": "a"}), Put(KEYS, "two", {"label": "b"})]
        self.successResultOf(self.bench.store.commit(kept))
        before = former(self.bench.store, kept)
        exchange = evolve(KINDS["install"], before=before)
        later: list[Edit] = [Remove(KEYS, "one"), Put(RECORDS, "good", RECORD)]
        self.successResultOf(self.bench.store.commit(later))
        self.assertEqual(exchange.rollback_edits(self.bench.store), kept[1:])


BEFORE = [
    Former("bridge.plugins", "good", {"signedAt": 4}),
    Former("bridge.plugin-keys", "new"),
    Former("plugin:good"),
]
EXCHANGE = Exchange(
    Operation.UPDATE, "good", ".tmp-0a", ".tmp-0b", {"signedAt": 5}, BEFORE
)


class JournalTests(SynchronousTestCase):
    def setUp(self):
        self.path = fresh_directory(self) / "journal"
        self.journal = Journal(self.path)

    def test_attack_planted(self):
        """Another user's journal would move trees: it is not read, and it is kept."""
        self.journal.begin(EXCHANGE)
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.journal.read(), EXCHANGE)
        planted(self, self.path)
        error = self.assertRaises(JournalError, self.journal.read)
        self.assertIn(f"{self.path} belongs to another user", str(error))
        self.assertTrue(self.journal.exists())

    def test_large(self):
        """It holds as much as the state may have held."""
        value = {"x": "x" * STATE_DAEMON_BYTES}
        large = evolve(EXCHANGE, before=[Former(RECORDS, "good", value)])
        self.journal.begin(large)
        self.assertEqual(self.journal.read(), large)

    def test_other_shapes(self):
        """What is no journal of this version is refused, and stays."""
        self.journal.begin(EXCHANGE)
        good = json.loads(self.path.read_bytes())
        for bad in (
            "text",
            {**good, "op": "trust_key"},
            {**good, "before": [{"key": "a"}]},
            {**good, "pluginId": "../x"},
            {**good, "new": "../../home"},
            {**good, "old": "other"},
            {**good, "new": 5},
            {**good, "version": 2},
        ):
            self.path.write_text(json.dumps(bad))
            error = self.assertRaises(JournalError, self.journal.read)
            self.assertIn(str(self.path), str(error))
            self.assertTrue(self.path.exists())
        remove(self.path)
        self.path.mkdir(mode=0o700)
        self.assertRaises(JournalError, self.journal.read)

    @given(st.binary(max_size=200))
    def test_any_bytes(self, content):
        """Whatever is in the file, it is a journal or refused."""
        self.path.write_bytes(content)
        self.assertRaises(JournalError, self.journal.read)
