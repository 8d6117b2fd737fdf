"""Tests for ``bridge.system.users``."""

import os

from twisted.trial.unittest import SynchronousTestCase

from bridge.system import users
from bridge.system.users import has_owners, is_group_of_one, is_own, is_user

from ..directories import fresh_directory


class UsersTests(SynchronousTestCase):
    """Tests for whose a file is."""

    def setUp(self) -> None:
        """A file of this user."""
        self.path = fresh_directory(self) / "file"
        self.path.touch()
        self.found = self.path.stat()
        self.other = self.found.st_uid + 1

    def test_without_owners(self) -> None:
        """Where files have no owners, everything is the user's."""
        self.patch(users, "owner", lambda found: self.other)
        self.patch(os, "name", "nt")
        self.assertFalse(has_owners())
        self.assertTrue(is_own(self.found))
        self.assertTrue(is_user(os.geteuid() + 1))
        self.assertTrue(is_group_of_one.__wrapped__(1, 2))
