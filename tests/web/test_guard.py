"""Tests for bridge.web.guard: the head of a request, and the token."""

import contextlib
import errno
import os
from pathlib import Path
from unittest import mock

from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.http_headers import Headers

from bridge.datadir.token import make_token, read_or_make_token
from bridge.protocol.budgets import TokenBucket
from bridge.protocol.errors import BridgeError, Code
from bridge.web.guard import LOOK_SECONDS, FollowedToken, Guard, is_loopback_origin

from ..datadir.test_token import TokenCase

PORT = 42081
GOOD_HOST = b"127.0.0.1:42081"


def make_guard(*added: bytes, clock: Clock | None = None) -> Guard:
    """Make a guard with small buckets."""
    now = (clock or Clock()).seconds
    token = FollowedToken(Path("token"), "right", lambda: 0.0)
    programs, pages, foreign = (TokenBucket(1.0, 5, now) for _ in range(3))
    return Guard(frozenset(added), token, programs, pages, foreign, PORT)


class OriginTests(SynchronousTestCase):
    def test_loopback(self) -> None:
        """A page this machine serves may ask, whatever its port and scheme."""
        for origin in b"""
            http://localhost http://localhost:9000 http://LOCALHOST:22500
            https://127.0.0.1 http://[::1]:8080 http://[::1] http://127.9.9.9:80
        """.split():
            self.assertTrue(is_loopback_origin(origin), origin)

    def test_names_made_to_look_like_loopback(self) -> None:
        """Suffixes, prefixes, fragments, users and paths fool nobody."""
        for origin in (
            *(b"", b"http://localhost evil.com", b"http://localhost\n"),
            *b"""
            null file:// localhost http:// http://localhost.example.com
            http://notlocalhost http://127.0.0.1.example.com
            http://evil.com#localhost http://evil.com?localhost http://user@localhost:80
            http://localhost:80@evil.com http://localhost:80/path http://localhost/
            http://localhost: http://localhost:80:80 http://localhost:123456
            http://localhost\\evil.com http://192.168.2.11:8080 http://0.0.0.0:42081
            http://[::] http://[::2] http://[::1 http://::1 http://127.1
            http://2130706433 http://0x7f000001 HTTP://localhost ftp://localhost
            chrome-extension://localhost http://localhost\xff
            http://\xe2\x93\x81ocalhost
            """.split(),
        ):
            self.assertFalse(is_loopback_origin(origin), origin)

    def test_added_compares_exactly(self) -> None:
        """What the operator adds is allowed as it stands, and nothing near it."""
        guard = make_guard(b"https://app.example:8443", b"file://", b"tauri://app")
        allowed = (*guard.origins, b"http://localhost")
        near = b"https://app.example https://app.example:8443/ HTTPS://app.example:8443"
        for origin in (*allowed, *near.split()):
            found = guard.allowed_origin(Headers({b"origin": [origin]}))
            self.assertEqual(found, origin if origin in allowed else None)

    def test_null_is_never_allowed(self) -> None:
        """Any sandboxed frame has the origin ``null``; adding it does not help."""
        headers = Headers({b"origin": [b"null"]})
        self.assertIsNone(make_guard(b"null").allowed_origin(headers))


class GuardTests(SynchronousTestCase):
    """Tests for who pays from which bucket, and for the Host header."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.guard = make_guard(b"https://app.example", clock=self.clock)

    def admit(self, headers: Headers) -> None:
        """Apply the checks of every request, in the order of the site."""
        self.guard.draw(headers)
        self.guard.check_host(headers)
        self.guard.check_origin(headers)

    def headers(self, **given: bytes) -> Headers:
        """Build headers: ``sec_fetch_site`` is ``Sec-Fetch-Site``."""
        values = {"host": GOOD_HOST, **given}
        return Headers(
            {name.replace("_", "-").encode(): [values[name]] for name in values}
        )

    def refused(self, headers: Headers) -> BridgeError:
        """Return the error that a request with these headers is refused with."""
        return self.assertRaises(BridgeError, self.admit, headers)

    def test_attack_health_poller(self) -> None:
        """A program that polls leaves a page its probe, and learns how long to wait."""
        for _ in range(5):
            self.admit(self.headers())
        error = self.refused(self.headers())
        self.assertEqual((error.code, error.retry_after), (Code.RATE_LIMITED, 1))
        self.admit(self.headers(origin=b"http://localhost:9"))
        self.clock.advance(1)
        self.admit(self.headers())

    def test_token_has_come_since(self) -> None:
        """Who is refused waits a second, though there is a token again by then."""
        times = iter((0.0, 0.0, 0.0, 1.0))
        self.guard.programs = TokenBucket(1.0, 1, times.__next__)
        self.admit(self.headers())
        self.assertEqual(self.refused(self.headers()).retry_after, 1)

    def test_attack_rate_of_others_used_up(self) -> None:
        """A hostile page spends no token of others, by whatever name it reaches us."""
        alias = b"alias.example:42081"
        for _ in range(50):
            self.refused(self.headers(origin=b"https://evil.example"))
            self.refused(self.headers(sec_fetch_site=b"cross-site"))
            self.refused(self.headers(host=alias))
            self.refused(self.headers(host=alias, sec_fetch_site=b"same-origin"))
            self.refused(self.headers(host=alias, origin=b"http://localhost:9"))
            self.refused(Headers({b"host": [GOOD_HOST] * 2}))
        for bucket in (self.guard.programs, self.guard.pages):
            self.assertEqual([bucket.take() for _ in range(5)], [0.0] * 5)

    def test_attack_upgrades_of_programs(self) -> None:
        """Nothing uses up the upgrades of pages, not even a false Origin."""
        page = self.headers(origin=b"http://localhost:9")
        for headers in (self.headers(), self.headers(origin=b"https://evil.example")):
            for _ in range(6):
                with contextlib.suppress(BridgeError):
                    self.guard.draw(headers, upgrade=True)
            self.assertRaises(BridgeError, self.guard.draw, headers, upgrade=True)
        for _ in range(500):
            self.guard.draw(page, upgrade=True)

    def test_default_port(self) -> None:
        """A daemon on port 80 is named without it too."""
        self.guard.port = 80
        self.admit(self.headers(host=b"localhost"))
        self.admit(self.headers(host=b"localhost:80"))


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
        self.clock.advance(LOOK_SECONDS * 1.5)
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
        self.assertEqual(self.token.secrets(), (self.first.decode(),))
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
