import contextlib
from pathlib import Path

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.http_headers import Headers

from bridge.datadir.token import FollowedToken
from bridge.protocol.budgets import TokenBucket
from bridge.protocol.errors import BridgeError, Code
from bridge.web.guard import Guard, is_loopback_origin

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
        guard = make_guard(b"https://app.example:8443", b"file://")
        allowed = (b"https://app.example:8443", b"file://", b"http://localhost")
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

    def test_attack_rate_of_others_used_up(self) -> None:
        """A hostile page spends no token of others, by whatever name it reaches us."""
        alias = b"alias.example:42081"
        for _ in range(50):
            self.refused(self.headers(origin=b"https://evil.example"))
            self.refused(self.headers(sec_fetch_site=b"cross-site"))
            self.refused(self.headers(host=alias))
            self.refused(self.headers(host=alias, sec_fetch_site=b"same-origin"))
            self.refused(self.headers(host=alias, origin=b"http://localhost:9"))
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
