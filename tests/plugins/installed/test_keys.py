"""Which keys are accepted."""

from typing import Any

from attrs import evolve

from bridge.plugins.installed.records import KEYS, MARKS
from bridge.plugins.tree.tree import Signed, key_id, public_key_of
from bridge.protocol.errors import BridgeError
from bridge.protocol.wire import unstructure
from bridge.store.state import Put

from ..operations.bench import OperationTestCase

ONE = public_key_of(b"\x01" * 32)
TWO = public_key_of(b"\x02" * 32)
URL = "https://forge.example/one.git"
SIGNED = Signed(key_id(ONE), ONE, 1000, "00" * 32)
BY_TWO = Signed(key_id(TWO), TWO, 500, "00" * 32)


class TrustTestCase(OperationTestCase):
    def setUp(self):
        super().setUp()
        self.trust = self.bench.trust

    def record(self) -> dict[str, Any]:
        return self.bench.store.entries(KEYS)[SIGNED.key_id]

    def accept(self, plugin_id: str, signed: Signed, now_ms: int = 5) -> None:
        """Commit a tree of a plugin, as an operation would."""
        self.commit(*self.trust.acceptance(plugin_id, URL, signed, now_ms))


class AcceptanceTests(TrustTestCase):
    def test_record(self):
        """It has the fields that exist in the wild; use changes some of them."""
        for plugin_id, now in (("one", 5), ("another", 6), ("one", 7)):
            self.accept(plugin_id, SIGNED, now)
        fields: Any = {"publicKey": ONE, "label": f"one ({URL})"}
        fields |= {"trustedAt": 5, "lastUsedAt": 7}
        plugins, by_one = ["one", "another"], SIGNED.key_id
        self.assertEqual(self.record(), {**fields, "plugins": plugins})
        # It is listed with what it signed, and what is installed by it.
        row = {"keyId": by_one, **fields, "seenFor": plugins}
        row["installed"] = ["also", "one"]
        listed = self.trust.keys({"one": by_one, "also": by_one, "x": "other"})
        self.assertEqual(unstructure(listed), [row])

    def test_attack_forged_record(self):
        """A record that is not of the key it is kept under accepts nothing."""
        self.accept("one", SIGNED)
        good = self.record()
        bad: Any
        for bad in (
            *(None, 1, [], {}, {**good, "publicKey": TWO}, {**good, "plugins": "one"}),
            *({**good, "publicKey": ONE.upper()}, {**good, "trustedAt": "5"}),
        ):
            self.commit(Put(KEYS, SIGNED.key_id, bad))
            self.assertFalse(self.trust.is_trusted(SIGNED.key_id), bad)
            self.assertEqual(self.trust.keys({}), [])
        self.accept("one", SIGNED)
        self.assertTrue(self.trust.is_trusted(SIGNED.key_id))


class MarkTests(TrustTestCase):
    """How far a plugin has been signed."""

    def test_highest(self):
        """The mark is the highest date committed, and never falls."""
        self.assertEqual(self.trust.mark("one", SIGNED.key_id), 0)
        for signed_at, mark in ((1000, 1000), (900, 1000), (1001, 1001)):
            self.accept("one", evolve(SIGNED, signed_at=signed_at))
            self.assertEqual(self.trust.mark("one", SIGNED.key_id), mark)

    def test_attack_release_dated_ahead(self):
        """A mark is of a plugin and a key; forgetting that lifts it, and no other's."""
        self.accept("one", evolve(SIGNED, signed_at=10**9))
        self.accept("one", BY_TWO)
        self.accept("two", SIGNED)
        error = self.assertRaises(BridgeError, self.trust.check_mark, "one", SIGNED)
        self.assertEqual(
            error.message,
            "downgrade: it was signed at 1970-01-01T00:16:40Z, before the release of "
            "2001-09-09T01:46:40Z that was installed; to go back, uninstall the "
            "plugin, forget its key, and install it again",
        )
        self.trust.check_mark("one", BY_TWO)
        self.trust.check_mark("two", SIGNED)
        self.commit(*self.trust.forgetting(SIGNED.key_id))
        self.assertFalse(self.trust.is_trusted(SIGNED.key_id))
        self.assertTrue(self.trust.is_trusted(BY_TWO.key_id))
        self.trust.check_mark("one", SIGNED)
        self.assertEqual(self.bench.store.entries(MARKS), {"one": {BY_TWO.key_id: 500}})

    def test_damaged(self):
        """What is no mark counts as none."""
        bad: Any
        for bad in (1, [], {SIGNED.key_id: "1"}, {SIGNED.key_id: True}):
            self.commit(Put(MARKS, "one", bad))
            self.assertEqual(self.trust.mark("one", SIGNED.key_id), 0)


class KeysTests(TrustTestCase):
    """The keys a user can see and forget."""

    def test_order(self):
        """The key last used is first; keys used at once are in a fixed order."""
        self.assertEqual(self.trust.keys({}), [])
        self.accept("one", SIGNED, 5)
        self.accept("two", BY_TWO, 6)
        self.assertEqual(self.listed(), [BY_TWO.key_id, SIGNED.key_id])
        self.accept("one", SIGNED, 7)
        self.assertEqual(self.listed(), [SIGNED.key_id, BY_TWO.key_id])
        self.accept("two", BY_TWO, 7)
        self.assertEqual(self.listed(), sorted([SIGNED.key_id, BY_TWO.key_id]))

    def listed(self) -> list[str]:
        return [row.key_id for row in self.trust.keys({})]
