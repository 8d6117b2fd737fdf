import grp
import os
import pwd
import stat
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.datadir import paths
from bridge.datadir.paths import (
    DataDir,
    DataDirError,
    NotOwnError,
    check,
    check_tree,
    write_atomically,
)
from bridge.system import files

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


class OwnershipCase(SynchronousTestCase):
    def setUp(self):
        self.root = fresh_directory(self)
        self.path = self.root / "a b"
        self.path.write_bytes(b"x")
        self.path.chmod(0o600)

    def refusal(self, *arguments, of=check):
        return str(self.assertRaises(NotOwnError, of, *arguments))


class CheckTests(OwnershipCase):
    def test_own(self):
        """The user's files pass, in every mode that keeps others out; no file, too."""
        for mode in (0o600, 0o644, 0o755, 0o700, 0o400, 0o4755):
            self.path.chmod(mode)
            check(self.path)
        (self.root / "link").symlink_to("no")
        for path in ("", "no", "a b/below", "link"):
            check(self.root / path)
        with mock.patch("os.lstat", side_effect=PermissionError):
            check(self.path)

    def test_attack_planted(self):
        """Another user's file is refused; the message has path and command."""
        planted(self, self.path)
        expected = (
            f"{self.path} belongs to another user, so it is not used; remove it, or if "
            f"""you know what is in it run: sudo chown -R "$USER" '{self.path}'"""
        )
        self.assertEqual(self.refusal(self.path), expected)

    def test_attack_writable_by_everybody(self):
        """So is a file or a directory that everybody may write."""
        for path in self.path, self.root:
            path.chmod(0o702)
            self.assertIn("can be written by other users", self.refusal(path))
            self.assertIn("chmod -R go-w ", self.refusal(path))

    def test_attack_links(self):
        """Of a link, what another user made counts: it, or what it leads to."""
        for link in (self.root / "one", self.root / "two"):
            link.symlink_to(self.path)
            check(link)
            planted(self, link if link.name == "one" else self.path)
            self.assertIn(f"{link} belongs to another user", self.refusal(link))

    def test_attack_name_with_control_codes(self):
        """Nothing in a planted name reaches a terminal as more than a letter."""
        path = self.root / "a\n\x1b[31m\u202e\udcff"
        path.write_bytes(b"")
        planted(self, path)
        message = self.refusal(path)
        self.assertTrue(message.isprintable(), message)
        self.assertIn("a??[31m??", message)

    def test_root(self):
        """What root made is used by everybody."""
        self.patch(files, "owner", lambda found: 0)
        self.patch(os, "geteuid", lambda: 12345)
        check(self.path)

    def test_windows(self):
        """Neither modes nor owners mean anything there."""
        self.path.chmod(0o666)
        self.patch(files, "owner", lambda found: os.geteuid() + 1)
        self.patch(os, "name", "nt")
        check(self.path)
        check_tree(self.root)
        self.assertTrue(files.is_own(self.path.stat()))
        self.assertTrue(files.is_user(os.geteuid() + 1))
        self.assertTrue(files.is_group_of_one.__wrapped__(1, 2))


class GroupTests(OwnershipCase):
    def setUp(self):
        """Let the group write, and know what groups there are."""
        super().setUp()
        self.path.chmod(0o660)
        self.path.chmod(0o664)
        self.user = SimpleNamespace(pw_name="ann", pw_gid=self.path.stat().st_gid)
        self.group = SimpleNamespace(gr_name="ann", gr_mem=[])
        self.patch(pwd, "getpwuid", lambda uid: self.user)
        self.patch(grp, "getgrgid", lambda gid: self.group)
        uncached = files.is_group_of_one.__wrapped__
        self.patch(paths, "is_group_of_one", uncached)

    def test_private_group(self):
        """A group that is the user alone, as with umask 002, is nobody else."""
        check(self.path)
        self.group.gr_mem = ["ann"]
        check(self.path)

    def test_attack_shared_group(self):
        """One with other members, not the user's own, or not the primary one isn't."""
        gid = self.user.pw_gid
        for members, name, primary in (
            (["ann", "bob"], "ann", gid),
            ([], "users", gid),
            ([], "ann", gid + 1),
        ):
            self.group.gr_mem, self.group.gr_name = members, name
            self.user.pw_gid = primary
            self.assertIn("can be written by other users", self.refusal(self.path))

    def test_attack_access_list(self):
        """An access list may let others write with the group's mode."""
        self.patch(os, "listxattr", lambda path: ["system.posix_acl_access"])
        self.refusal(self.path)

    def test_unknown_group(self):
        """A group or a user without a name is refused."""
        self.patch(grp, "getgrgid", mock.Mock(side_effect=KeyError))
        self.refusal(self.path)

    def test_no_extended_attributes(self):
        """Where there are none, or they can't be listed, the mode decides."""
        self.patch(os, "listxattr", mock.Mock(side_effect=OSError))
        check(self.path)


class TreeTests(OwnershipCase):
    def test_own(self):
        """A tree of the user's passes; no link is followed out of it."""
        (self.root / "deep" / "er").mkdir(parents=True)
        (self.root / "deep" / "dangling").symlink_to("/no/such/file")
        check_tree(self.root)
        check_tree(self.root / "no")

    def test_attack_planted_deep_in_a_tree(self):
        """One file or directory anywhere refuses the tree, and is named."""
        folder = self.root / "deep" / "er"
        folder.mkdir(parents=True)
        planted(self, folder)
        message = self.refusal(self.root, of=check_tree)
        self.assertIn(f"{folder} belongs to another user", message)
        self.assertTrue(message.endswith(f' "$USER" {self.root}'), message)
