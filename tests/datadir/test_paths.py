import os
import stat
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bridge.datadir.ownership import NotOwnError
from bridge.datadir.paths import DataDir, DataDirError, write_atomically

from ..directories import fresh_directory, open_all_above, planted
from ..disk import going_wrong


class DataDirTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.root = fresh_directory(self) / "deep" / "data"

    def test_create(self) -> None:
        """It is made with its parents, for the owner alone; a second time is fine."""
        data = DataDir(self.root)
        for _ in range(2):
            self.assertIsNone(data.create())
        for path in (self.root, data.plugins, data.build):
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o700)
        self.assertEqual(sorted(os.listdir(self.root)), ["build", "plugins"])

    def test_attack_open_directory(self) -> None:
        """A directory that others may enter is closed to them, with a notice."""
        self.root.mkdir(parents=True)
        for mode in (0o777, 0o770, 0o750, 0o705, 0o701):
            self.root.chmod(mode)
            notice = DataDir(self.root).create() or ""
            self.assertIn(f"mode {mode:04o}", notice)
            self.assertEqual(stat.S_IMODE(self.root.stat().st_mode), 0o700)
            self.assertIsNone(DataDir(self.root).create())

    def test_directory_for_all(self) -> None:
        """A directory such as ``/tmp`` is not taken away from the others."""
        root = fresh_directory(self)
        root.chmod(0o1777)
        self.assertRaisesRegex(DataDirError, "for all users", DataDir(root).create)
        self.assertEqual(stat.S_IMODE(root.stat().st_mode), 0o1777)
        self.assertEqual(list(root.iterdir()), [])

    def test_attack_directory_of_another_user(self) -> None:
        """Another user's directory is refused: its owner could change everything."""
        self.root.mkdir(parents=True)
        self.patch(os, "geteuid", lambda: self.root.stat().st_uid + 1)
        error = self.assertRaises(DataDirError, DataDir(self.root).create)
        self.assertEqual(str(error), f"{self.root} belongs to another user")

    def test_attack_planted_directories(self) -> None:
        """What others left in an open directory, which builds would use, is refused."""
        data = DataDir(self.root)
        data.create()
        for path in (data.bin, data.host, data.plugins, data.build):
            path.mkdir(exist_ok=True)
            self.root.chmod(0o777)
            path.chmod(0o777)
            error = self.assertRaises(DataDirError, data.create)
            self.assertIn(f"{path} can be written by other users", str(error))
            self.assertIn(f"run: chmod -R go-w {path}", str(error))
            path.chmod(0o700)
            planted(self, path)
            error = self.assertRaises(DataDirError, data.create)
            self.assertIn(f"{path} belongs to another user", str(error))
            # Its number may be given to the next, which is the user's own.
            path.rename(self.root.parent / path.name)

    def test_attack_planted_files(self) -> None:
        """So is what is read from the start on; what was checked once stays good."""
        backup = self.root / "state.json.bak"
        there = DataDir(self.root)
        planted_at = (there.state, backup, there.journal, there.lock, there.build / "x")
        for path in planted_at:
            data = DataDir(self.root)
            data.create()
            path.write_bytes(b"")
            path.chmod(0o666)
            error = self.assertRaises(DataDirError, DataDir(self.root).create)
            self.assertIn(f"{path} can be written by other users", str(error))
            data.create()
            self.root.chmod(0o755)
            self.assertRaises(DataDirError, data.create)
            path.unlink()

    def test_attack_planted_in_a_part(self) -> None:
        """A part is checked by one walk when it is first used, down to its files."""
        data = DataDir(self.root)
        data.create()
        tree = data.plugin("clock")
        (tree / "src").mkdir(parents=True)
        (tree / "src" / "main.ts").write_bytes(b"")
        (tree / "src" / "main.ts").chmod(0o666)
        error = self.assertRaises(NotOwnError, data.checked, tree)
        self.assertTrue(str(error).endswith(f"run: chmod -R go-w {tree}"), error)
        (tree / "src" / "main.ts").chmod(0o644)
        self.assertEqual(data.checked(tree), tree)
        (tree / "src" / "main.ts").chmod(0o666)
        self.assertEqual(data.checked(tree), tree)

    def test_attack_directory_that_can_be_replaced(self) -> None:
        """One that others could rename is refused; not in a directory like /tmp."""
        above = self.root.parent
        above.mkdir(mode=0o700)
        open_all_above(self, above.parent)
        for mode, is_refused in ((0o777, True), (0o1777, False)):
            above.parent.chmod(0o755)
            above.chmod(mode)
            if is_refused:
                error = self.assertRaises(DataDirError, DataDir(self.root).create)
                self.assertIn(f"who can write {above}", str(error))
                self.assertIn(f"run: chmod go-w {above}", str(error))
                # Behind a directory that they can't enter they can't do that.
                above.parent.chmod(0o700)
            DataDir(self.root).create()

    def test_windows_has_no_modes(self) -> None:
        """Where modes mean nothing, there is no notice."""
        self.root.mkdir(mode=0o755, parents=True)
        self.patch(os, "name", "nt")
        self.assertIsNone(DataDir(self.root).create())

    def test_paths(self) -> None:
        """Also these are where the documentation puts them."""
        data = DataDir(Path("/d"))
        self.assertEqual(data.control_socket, Path("/d/control.socket"))
        self.assertEqual(data.icons, Path("/d/icons"))

    def test_attack_address_of_a_dead_daemon(self) -> None:
        """Where it was reached, another program may wait for the token now."""
        data = DataDir(self.root)
        data.create()
        for path in (data.address, data.control_socket):
            path.write_text("127.0.0.1:5555\n")
        data.claim().release()
        self.assertFalse(data.address.exists())
        self.assertFalse(data.control_socket.exists())
        # What is no daemon's stays.
        data.control_socket.write_text("mine")
        data.claim().release()
        self.assertTrue(data.control_socket.exists())


class WriteTests(SynchronousTestCase):
    def test_synced_before_and_after_the_rename(self) -> None:
        """The content is durable before it gets its name, the name after."""
        path = fresh_directory(self) / "file"
        with going_wrong(None) as watched:
            write_atomically(path, b"x")
        calls = [name for name, _ in watched.calls if name in ("fsync", "replace")]
        self.assertEqual(calls, ["fsync", "replace", "fsync"])
