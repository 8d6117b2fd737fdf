import grp
import os
import pwd
from types import SimpleNamespace
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.datadir import ownership
from bridge.datadir.ownership import NotOwnError, check, check_tree
from bridge.system import files

from ..directories import fresh_directory, planted


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
        self.patch(ownership, "is_group_of_one", uncached)

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
