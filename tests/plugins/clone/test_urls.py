"""Tests of ``bridge.plugins.clone.urls``."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.urls import check_url
from bridge.protocol.errors import BridgeError
from bridge.protocol.limits import URL_CHARACTERS

MARK = "zQx7"


class CheckUrlTests(SynchronousTestCase):
    """``check_url``."""

    def rule(self, url: str) -> str:
        """The rule ``url`` breaks."""
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

    def test_other_schemes(self) -> None:
        """Only https is fetched."""
        for url in (
            "http://example.org/x",
            "git://example.org/x",
            "ssh://git@example.org/x",
            "git@example.org:x",
            "file:///etc",
            "https:/example.org",
            " https://example.org/x",
            "",
        ):
            self.assertEqual(self.rule(url), "must start with https://")

    def test_too_long(self) -> None:
        """A URL has a longest length."""
        url = "https://example.org/" + "x" * (URL_CHARACTERS - 19)
        self.assertEqual(self.rule(url), "at most 512 characters")

    def test_fragment(self) -> None:
        """A fragment is refused, an empty one too."""
        self.assertEqual(self.rule("https://example.org/x#"), "no fragment")
        self.assertEqual(self.rule("https://example.org/x#main"), "no fragment")

    def test_user_name_or_password(self) -> None:
        """Credentials never get into records, prompts and logs."""
        for user in ("me", "me:secret", ":secret", "", "a@b"):
            url = f"https://{user}@example.org/x"
            self.assertEqual(self.rule(url), "no user name or password")

    def test_attack_another_repository_than_is_shown(self) -> None:
        """Dot segments, which a client leaves out before it asks, are refused."""
        for path in (
            "trusted/plugin/../../evil.git",
            "trusted/" + "x/../" * 40 + "../evil.git",
            "trusted/./plugin.git",
            "trusted/%2e%2E/evil.git",
            "trusted/.%2e/evil.git",
            "..",
        ):
            self.assertEqual(
                self.rule(f"https://example.org/{path}"),
                "no . or .. between the slashes of its path",
            )
        check_url("https://example.org/a..b/...git/.hidden")

    def test_query(self) -> None:
        """A query has no meaning for a repository."""
        self.assertEqual(self.rule("https://example.org/x?y=1"), "no query")

    def test_no_host(self) -> None:
        """A host is required."""
        for url in ("https://", "https:///x", "https://:443/x"):
            self.assertIn("the host is not a host name", self.rule(url))

    def test_bad_host(self) -> None:
        """The host is a name or an address, without a zone."""
        for host in ("a..b", ".a", "-a", "a%41", "a,b", "[::1%25lo]", "x" * 64, "a;b"):
            self.rule(f"https://{host}/x")

    def test_bad_port(self) -> None:
        """The port is a number from 1 to 65535, and of no other protocol."""
        for port in ("0", "22", "65536", "x", "-1", "1:2"):
            self.assertRegex(
                self.rule(f"https://example.org:{port}/x"), "^(the host|a port) .* not"
            )

    def test_characters(self) -> None:
        """White space, control, non-ASCII and un-URL characters are refused."""
        for character in ' \t\r\n\0\x7f\\<>"{}|^`\u00e9\u202e\uff0f\u3002':
            rule = self.rule(f"https://example.org/a{character}b")
            self.assertIn("only the characters of a URL", rule)
            self.rule(f"https://exa{character}mple.org/")

    @settings(deadline=None)
    @given(
        st.one_of(
            st.text(),
            st.text().map("https://{}".format),
            st.from_regex(r"https://[\[\]:@%0-9a-z./?-]*", fullmatch=True),
        )
    )
    @example("https://[::1]x")
    @example("https://[v1.x]/")
    @example("https://\u2100.org/")
    def test_nothing_else_is_raised(self, text: str) -> None:
        """Any text is accepted as it is or refused by a rule, and never quoted."""
        try:
            self.assertEqual(check_url(text), text)
        except BridgeError as e:
            self.assertTrue(e.message.startswith("not_https: url: "))
        try:
            check_url(text + MARK)
        except BridgeError as e:
            self.assertNotIn(MARK, e.message)
