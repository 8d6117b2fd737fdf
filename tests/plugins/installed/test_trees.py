import os
import shutil
import tracemalloc
from unittest.mock import Mock, patch

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.installed import trees
from bridge.plugins.installed.records import Record
from bridge.plugins.installed.trees import Broken, LinkedTree
from bridge.plugins.tree.tree import Tree
from bridge.protocol.limits import MIB
from bridge.system.files import remove

from ..operations.bench import (
    COMMIT,
    KEY,
    NOW,
    OTHER_KEY,
    OTHER_SEED,
    Bench,
    files_of,
    manifest,
    url_of,
    write_tree,
)

RECORD = Record(url_of("sample"), COMMIT, KEY, NOW, NOW * 1000, NOW * 1000 + 60_000)


class TreesTestCase(SynchronousTestCase):
    def setUp(self):
        self.bench = Bench(self)
        self.trees = self.bench.trees
        self.data = self.bench.data

    def write(self, plugin_id="sample", files=None, **how):
        root = self.data.plugin(plugin_id)
        write_tree(root, files or files_of(plugin_id), plugin_id, **how)
        return root


class ListingTests(TreesTestCase):
    def fault(self, record=RECORD):
        """The reason for which ``sample`` is not built."""
        sound, faults = self.trees.verified_trees({"sample": record})
        self.assertEqual(sound, {})
        listing = self.trees.listing({"sample": record})
        self.assertEqual(listing.broken, [Broken("sample", faults["sample"])])
        for entry in listing.plugins:
            self.assertEqual(entry.problem, faults["sample"])
        return faults["sample"]

    def test_unsound(self):
        """What is not as it was signed is not built, but listed, with its manifest."""
        bidi = {"plugin.json": manifest("sample", name="A\u202eplugin")}
        older = RECORD.signed_at - 1
        downgrade = "downgrade: the tree is older than the one that was installed"
        place = self.data.plugin("sample")

        def link(root):
            root.rename(self.data.root / "elsewhere")
            root.symlink_to(self.data.root / "elsewhere")

        def changed(root):
            (root / "main.ts").write_text("steal();")

        for files, how, change, why, listed in (
            ({}, {"signed_at": older}, None, downgrade, True),
            ({}, {"seed": OTHER_SEED}, None, "not_trusted: ", True),
            ({}, {}, changed, "unsigned: the tree was changed", True),
            ({}, {}, shutil.rmtree, "not_installed: its directory is gone", False),
            ({}, {}, link, "not_installed: something else", False),
            (bidi, {}, None, "manifest_invalid: name", False),
        ):
            remove(place)
            root = self.write(files=files_of("sample") | files, **how)
            if change:
                change(root)
            self.assertEqual(self.fault()[: len(why)], why)
            self.assertIsNone(self.trees.sound_manifest("sample", RECORD))
            entries = self.trees.entries({"sample": RECORD})
            self.assertEqual([one.id for one in entries], ["sample"] * listed)

    def test_record(self):
        """What the record says decides; not the clock, which may be set back."""
        self.write(seed=OTHER_SEED, signed_at=NOW + 10**9)
        by_other = evolve(RECORD, key_id=OTHER_KEY)
        self.assertEqual(self.trees.verified_trees({"sample": by_other})[1], {})
        reason = self.fault(evolve(RECORD, key_id=""))
        self.assertTrue(reason.startswith("reinstall_required: "))

    def test_attack_times_restored(self):
        """Every byte is read each time: what was verified before counts for nothing."""
        main = self.write() / "main.ts"
        self.assertEqual(self.trees.verified_trees({"sample": RECORD})[1], {})
        before, content = main.stat(), main.read_bytes()
        main.write_bytes(content.swapcase())
        os.utime(main, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.assertEqual(main.stat().st_size, before.st_size)
        self.assertTrue(self.fault().startswith("unsigned: the tree was changed"))
        main.write_bytes(content)
        self.assertEqual(self.trees.verified_trees({"sample": RECORD})[1], {})

    def test_attack_link_to_itself(self):
        """A link that leads nowhere is that plugin's fault, and no other's."""
        (self.write() / "loop").symlink_to("loop")
        why = "unsigned: the tree cannot be read: Too many levels of symbolic links"
        self.assertEqual(self.fault(), why)
        # It is not gone.
        self.trees.directory.rename(self.data.root / "elsewhere")
        self.trees.directory.symlink_to(self.trees.directory)
        self.assertEqual(self.fault(), why)

    def test_attack_planted(self):
        """A tree that another user could change, if only its ``.git``, is not used."""
        for place in ("main.ts", ".git/hooks/x", ".git/hooks", ""):
            root = self.write()
            (root / ".git" / "hooks").mkdir(parents=True)
            (root / ".git" / "hooks" / "x").write_text("")
            (root / place).chmod(0o777)
            fault = self.fault()
            self.assertTrue(fault.startswith("not_trusted: "), fault)
            self.assertIn(f"{root / place} can be written by other users", fault)
            self.assertEqual(self.trees.entries({"sample": RECORD}), [])
            remove(root)
        self.write()
        self.assertEqual(self.trees.verified_trees({"sample": RECORD})[1], {})

    def test_device_name(self):
        """What an earlier version installed as a device of Windows is left out."""
        write_tree(self.data.plugin("con"), files_of("con"), "con")
        sound, faults = self.trees.verified_trees({"con": RECORD})
        self.assertEqual(sound, {})
        self.assertTrue(faults["con"].startswith("invalid_id: "))

    def test_another_plugin_in_its_place(self):
        """One whose manifest has another id is not listed under this one, nor built."""
        self.write(files=files_of("other"))
        self.assertIsNone(self.trees.entry("sample", RECORD))
        self.assertTrue(self.fault().startswith("manifest_invalid: id"))
        self.assertEqual(self.trees.listing({"sample": RECORD}).plugins, [])

    def test_what_no_plugin_can_import(self):
        """It is verified as the rest is, and not kept for the build."""
        kept = {**files_of("sample"), "lib/a.mts": "", "a.json": "1", "a.txt": ""}
        root = self.write(files={**kept, "icon.png": "x", "README.md": "x"})
        sound, _ = self.trees.verified_trees({"sample": RECORD})
        self.assertEqual(sound["sample"].files.keys(), kept.keys())
        (root / "icon.png").write_text("y")
        self.assertTrue(self.fault().startswith("unsigned: the tree was changed"))

    def test_memory(self):
        """However many are listed, one tree at a time is in memory."""
        names = [f"sample-{number}" for number in range(6)]
        for name in names:
            self.write(name, {**files_of(name), "data.txt": "x" * MIB})
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        listing = self.trees.listing(dict.fromkeys(names, RECORD))
        self.assertEqual([one.id for one in listing.plugins], names)
        self.assertLess(tracemalloc.get_traced_memory()[1], 4 * MIB)


class LinkedTests(TreesTestCase):
    """Tests for linked trees; what they stand for, ``test_linking`` has."""

    def test_failed_link(self):
        """When the new one can't be written, the old one is there still."""
        linked = LinkedTree(Mock(), Tree({"main.ts": b""}), Mock())
        self.trees.link("sample", linked)
        full = patch.object(trees, "write_files", side_effect=OSError(28, "No space"))
        with full, self.assertRaises(OSError):
            self.trees.link("sample", evolve(linked, tree=Tree({})))
        self.assertEqual(self.bench.left()[0], [".tmp-dev-sample"])
        self.assertIs(self.trees.linked["sample"], linked)
