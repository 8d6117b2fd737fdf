"""Tests of ``bridge.plugins.clone.urls``."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.urls import check_url
from bridge.protocol.errors import BridgeError
from bridge.protocol.limits import URL_CHARACTERS


class CheckUrlTests(SynchronousTestCase):
    def rule(self, url: str) -> str:
        error = self.assertRaises(BridgeError, check_url, url)
        start, _, rule = error.message.partition("not_https: url: ")
        self.assertEqual(start, "")
        return str(rule)

    def test_accepted(self) -> None:
        """A URL is returned as it was given."""
        for url in (
            "https://example.org/me/plugin.git",
            "HTTPS://Example.ORG/me/plugin",
            "https://example.org:8443/~me/a%20b/",
            "https://192.168.1.5/x",
            "https://[2001:db8::1]:443/x",
            "https://forge_1.lan/@me/x;y=(1)",
            "https://example.org",
            "https://example.org./x",
            "https://example.org/" + "x" * (URL_CHARACTERS - 20),
        ):
            self.assertEqual(check_url(url), url)

    def test_attack_refused(self) -> None:
        """Any other URL is refused by a rule that is named."""
        scheme, host = "must start with https://", "the host is not a host name"
        dots = "no . or .. between the slashes of its path"
        characters = "only the characters of a URL, without spaces or control"
        at = "https://example.org/{}"
        for rule, url, parts in (
            (scheme, "{}", ("file:///etc", "https:/example.org", "")),
            (
                scheme,
                "{}example.org/x",
                ("http://", "git://", "ssh://g@", "g@", " https://"),
            ),
            ("at most 512 characters", at, ["x" * (URL_CHARACTERS - 19)]),
            ("no fragment", at, ("x#", "x#main")),
            ("no query", at, ["x?y=1"]),
            # Credentials never get into records, prompts and logs.
            (
                *("no user name or password", "https://{}@example.org/x"),
                ("me", "me:secret", ":secret", "", "a@b"),
            ),
            # A client leaves these out before it asks: for another one than was shown.
            (dots, at, ("trusted/../../evil.git", "trusted/./x.git", "..")),
            (dots, at, ("trusted/%2e%2E/evil.git", "trusted/.%2e/evil.git")),
            (dots, at, ["trusted/" + "x/../" * 40 + "../evil.git"]),
            (host, "https://{}", ("", "/x", ":443/x")),
            ("", "https://{}/x", ("a..b", ".a", "-a", "a%41", "a,b", "[::1%25lo]")),
            ("", "https://{}/x", ("x" * 64, "a;b", "[::1]x", "[v1.x]", "\u2100.org")),
            ("", "https://example.org:{}/x", ("0", "22", "65536", "x", "-1", "1:2")),
            (characters, f"{at}b", ' \t\r\n\0\x7f\\<>"{}|^`\u00e9\u202e\uff0f\u3002'),
        ):
            for part in parts:
                found = self.rule(url.format(part))
                self.assertTrue(found.startswith(rule), (url, part, found))
        check_url("https://example.org/a..b/...git/.hidden")
