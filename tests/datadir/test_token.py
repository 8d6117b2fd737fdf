import errno
import os
import secrets
import stat
from collections.abc import Callable
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.datadir.token import TokenError, make_token, read_or_make_token, read_token

from ..directories import fresh_directory, open_files
from ..disk import going_wrong

OPEN = (0o640, 0o604, 0o620, 0o601, 0o644)
"""Modes that give something to group or others."""


class TokenCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.directory = fresh_directory(self)
        self.path = self.directory / "token"

    def write(self, content: bytes, mode: int = 0o600) -> None:
        self.path.write_bytes(content)
        self.path.chmod(mode)

    def refused(self) -> str:
        return str(self.assertRaises(TokenError, read_or_make_token, self.path))

    def during_the_write(self, act: Callable[[], str]) -> list[str]:
        """Have another process act while this one writes; what that returned."""
        fsync, results = os.fsync, list[str]()

        def fsync_late(fd: int) -> None:
            self.patch(os, "fsync", fsync)
            with mock.patch("os.getpid", return_value=1):
                results.append(act())
            fsync(fd)

        self.patch(os, "fsync", fsync_late)
        return results

    def files(self) -> list[str]:
        return sorted(os.listdir(self.directory))


class CreateTests(TokenCase):
    def test_made(self) -> None:
        """Durable: 32 random bytes as base64url and a newline, for the owner alone."""
        with going_wrong(None) as watched:
            self.patch(secrets, "token_bytes", lambda n: bytes(range(n)))
            token = make_token(self.path)
        self.assertEqual([name for name, _ in watched.calls].count("fsync"), 2)
        expected = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
        self.assertEqual(token, expected)
        self.assertEqual(self.path.read_bytes(), expected.encode() + b"\n")
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o600)
        self.assertEqual(self.files(), ["token"])

    def test_kept(self) -> None:
        """It is random, 0600 under any umask, and the next start's, edited or not."""
        self.addCleanup(os.umask, os.umask(0))
        first = read_or_make_token(self.path)
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o600)
        self.path.write_bytes(b"\n" + self.path.read_bytes() + b"\r\n")
        self.assertEqual(read_or_make_token(self.path), first)
        self.assertNotEqual(make_token(self.path), first)

    def test_attack_planted_temporary_link(self) -> None:
        """A link where the temporary file goes is not written through, and goes."""
        victim = self.directory / "victim"
        victim.write_bytes(b"kept")
        (self.directory / f"token.{os.getpid()}").symlink_to(victim)
        read_or_make_token(self.path)
        self.assertEqual(victim.read_bytes(), b"kept")
        self.assertEqual(self.files(), ["token", "victim"])

    def test_daemon_and_command_at_once(self) -> None:
        """Where two processes find no token, both have the one that comes first."""
        found = self.during_the_write(lambda: read_or_make_token(self.path))
        self.assertEqual([read_or_make_token(self.path)], found)
        self.assertEqual(self.files(), ["token"])

    def test_no_hard_links(self) -> None:
        """Where a file can't have two names, both have one token all the same."""
        with mock.patch("os.link", side_effect=PermissionError):
            found = self.during_the_write(lambda: read_or_make_token(self.path))
            made = read_or_make_token(self.path)
        self.assertEqual([read_token(self.path), *found], [made, made])
        self.assertEqual(self.files(), ["token"])


class RefusedTests(TokenCase):
    def test_attack_other_kinds(self) -> None:
        """Links, even to a good token, and what others own or read are refused."""
        read_or_make_token(self.directory / "other")
        before = open_files()
        for make, why in (
            # Who made it could swap it.
            (lambda: self.path.symlink_to(self.directory / "other"), "is a link"),
            (lambda: self.path.symlink_to(self.directory / "nowhere"), "is a link"),
            (lambda: self.path.mkdir(mode=0o700), "is not a file"),
            (lambda: os.mkfifo(self.path, 0o600), "is not a file"),
            *((lambda m=m: self.write(b"x" * 43, m), "can be read") for m in OPEN),
        ):
            make()
            self.assertIn(why, self.refused())
            self.path.rmdir() if self.path.is_dir() else self.path.unlink()
        self.assertEqual(open_files(), before)
        self.assertEqual(self.files(), ["other"])
        self.write(b"x" * 43, 0o400)
        read_or_make_token(self.path)
        with mock.patch("os.fstat", side_effect=OSError(errno.EIO, "")):
            self.assertIn("cannot be read", self.refused())
        other = os.geteuid() + 1
        self.patch(os, "geteuid", lambda: other)
        self.assertIn("belongs to another user", self.refused())

    def test_other_content(self) -> None:
        """What is no token of ours is refused and kept; the message has the fix."""
        for content in (b"", b"hello", b"x" * 42, b"x" * 44, b"!" * 43, b"x" * 5000):
            self.write(content)
            message = self.refused()
            self.assertIn("--rotate-token", message)
            self.assertIn(str(self.path), message)
            self.assertNotIn("hello", message)
            self.assertEqual(self.path.read_bytes(), content)
            self.assertEqual(make_token(self.path), read_or_make_token(self.path))

    def test_windows(self) -> None:
        """Where files have no mode, their directory is what protects them."""
        read_or_make_token(self.path)
        self.path.chmod(0o644)
        self.patch(os, "name", "nt")
        self.assertEqual(len(read_token(self.path)), 43)


class RotateTests(TokenCase):
    def test_attack_link_in_its_place(self) -> None:
        """A link is replaced; what it pointed to is not touched."""
        victim = self.directory / "victim"
        victim.write_bytes(b"kept")
        self.path.symlink_to(victim)
        make_token(self.path)
        self.assertFalse(self.path.is_symlink())
        self.assertEqual(victim.read_bytes(), b"kept")

    def test_two_at_once(self) -> None:
        """Two rotations at once both succeed, and the last one counts."""
        first = make_token(self.path)
        found = self.during_the_write(lambda: make_token(self.path))
        mine = make_token(self.path)
        self.assertEqual(read_token(self.path), mine)
        self.assertEqual(len({first, mine, *found}), 3)
        self.assertEqual(self.files(), ["token"])

    def test_failure_leaves_nothing(self) -> None:
        """What can't be written is reported, and stays; no temporary file is left."""
        self.path.mkdir()
        nowhere = self.directory / "no" / "token"
        for path, why in (self.path, "Is a directory"), (nowhere, "No such file or"):
            error = self.assertRaises(TokenError, make_token, path)
            self.assertIn(f"{path} cannot be written: {why}", str(error))
        self.assertEqual(self.files(), ["token"])
