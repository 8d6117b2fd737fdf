import errno
import os
from unittest import mock

from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent

from bridge.datadir.token import (
    LOOK_SECONDS,
    FollowedToken,
    make_token,
    read_or_make_token,
)

from ..datadir.test_token import TokenCase


class FollowedTests(TokenCase):
    def setUp(self) -> None:
        super().setUp()
        self.replaced: list[None] = []
        self.clock = Clock()
        first = read_or_make_token(self.path)
        self.token = FollowedToken(self.path, first, self.clock.seconds)
        self.token.replaced = lambda: self.replaced.append(None)
        self.first = first.encode()

    def logged(self) -> list[str]:
        """Look at the file; what is logged then."""
        with capturedLogs() as logs:
            self.token.look()
        return [formatEvent(event) for event in logs]

    def test_rotation(self) -> None:
        """A second after a rotation the new token counts, and the old one does not."""
        self.token.look()
        new = make_token(self.path).encode()
        self.clock.advance(LOOK_SECONDS - 0.1)
        self.assertTrue(self.token.matches(self.first))
        self.clock.advance(0.1)
        self.assertFalse(self.token.matches(self.first))
        self.assertTrue(self.token.matches(new))
        self.assertEqual(len(self.replaced), 1)

    def test_changed_between_reading_and_following(self) -> None:
        """What changed the file before the first look is found by it."""
        token = FollowedToken(self.path, "O" * 43, self.clock.seconds)
        token.look()
        self.assertTrue(token.matches(self.first))

    def test_every_way_to_change_it(self) -> None:
        """A look finds whatever has changed the file, and nothing where nothing has."""
        for change in (self.replace, self.rewrite, self.link):
            change()
            before = len(self.replaced)
            self.assertIn("every page must pair again", self.logged()[-1])
            self.assertEqual(len(self.replaced), before + 1)
            self.assertEqual(self.logged(), [])

    def replace(self) -> None:
        """Replace the file, as the command does."""
        make_token(self.path)

    def rewrite(self) -> None:
        """Write into the file, as an editor may."""
        self.path.write_bytes(b"R" * 43)

    def link(self) -> None:
        other = self.path.with_name("other")
        other.write_bytes(b"L" * 43)
        other.chmod(0o600)
        self.path.unlink()
        os.link(other, self.path)

    def test_unusable_for_the_moment(self) -> None:
        """While the file is gone or unusable nothing is accepted; that is logged."""
        self.path.rename(self.path.with_name("away"))
        (line,) = self.logged()
        self.assertIn(f"{self.path} is missing", line)
        for offered in (self.first, b""):
            self.assertFalse(self.token.matches(offered))
        for content, mode, why in (
            (b"hello", 0o600, "does not hold a token"),
            (self.first, 0o644, "can be read by others"),
        ):
            self.write(content, mode)
            (line,) = self.logged()
            self.assertIn(why, line)
            self.assertEqual(self.logged(), [])
            self.assertFalse(self.token.matches(self.first))
        self.assertEqual(self.token.reveal(), self.first.decode())
        self.path.chmod(0o600)
        self.assertEqual(self.logged(), ["the pairing token can be used again"])
        self.assertTrue(self.token.matches(self.first))
        self.assertEqual(self.replaced, [])
        self.path.chmod(0o640)  # its content is as old as before
        self.assertIn("can be read by others", self.logged()[0])

    def test_cannot_be_read_for_the_moment(self) -> None:
        """What is unreadable is read again, though nothing changed its status."""
        make_token(self.path)
        too_many = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        with mock.patch.object(os, "open", side_effect=too_many):
            self.assertIn("cannot be read", self.logged()[0])
            self.assertEqual(self.logged(), [])
        self.assertEqual(self.logged()[0], "the pairing token can be used again")

    def test_not_shown(self) -> None:
        """The token's representation, which may reach a log, does not show it."""
        self.assertNotIn(self.first.decode(), repr(self.token))
