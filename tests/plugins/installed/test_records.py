from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.installed import records
from bridge.store.state import Edit, Put, Remove

from ...strategies import loose
from ..operations.bench import OperationTestCase

RECORD = records.Record("https://forge.example/a.git", "c0ffee", "1bc6", 5, 1000, 2000)
FIELDS = {
    "url": "https://forge.example/a.git",
    "commit": "c0ffee",
    "keyId": "1bc6",
    "signedAt": 5,
    "installedAt": 1000,
    "updatedAt": 2000,
}


class RecordTests(SynchronousTestCase):
    def test_shape(self):
        """A record has exactly these fields in the store; an old one has no key."""
        self.assertEqual(RECORD.put("sample"), Put(records.RECORDS, "sample", FIELDS))
        self.assertEqual(records.read_record(FIELDS), RECORD)
        old = {k: v for k, v in FIELDS.items() if k not in ("keyId", "signedAt")}
        self.assertEqual(
            records.read_record(old), evolve(RECORD, key_id="", signed_at=0)
        )

    @given(loose | st.fixed_dictionaries(dict.fromkeys(FIELDS, loose)))
    def test_damaged_record(self, value):
        """Whatever a record has become, it is read, and can be written."""
        record = records.read_record(value)
        edit = record.put("sample")
        self.assertEqual(records.read_record(edit.value), record)


class ReadRecordsTests(OperationTestCase):
    def test_path_in_a_key(self):
        """A key that is no plugin id never becomes a path."""
        self.commit(*(RECORD.put(key) for key in ("../x", "a/b", "", "A", "sample")))
        self.assertEqual(list(records.read_records(self.bench.store)), ["sample"])

    def test_former_values_restore_every_value(self):
        """What edits changed, added or removed is as before."""
        self.commit(
            RECORD.put("sample"),
            Put("other", "kept", [1]),
            Put("other", "gone", 2),
        )
        before = self.bench.left()
        edits: list[Edit] = [
            Put(records.RECORDS, "sample", {}),
            Put(records.RECORDS, "new", {}),
            Put("fresh", "key", True),
            Remove("other", "gone"),
            Remove("other", "never"),
            Remove(records.settings_namespace("empty")),
        ]
        kept = records.former(self.bench.store, edits)
        self.commit(*edits)
        self.commit(Put(records.settings_namespace("empty"), "made", "meanwhile"))
        self.commit(*(one.edit() for one in kept))
        self.assertEqual(self.bench.left(), before)
