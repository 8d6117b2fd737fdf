"""Tests for bridge.http.agent: what treq can't change about a fetch."""

from __future__ import annotations

from unittest import mock

from treq.client import HTTPClient

from ..outbound.servers import HERE, OutboundCase, responding


class AgentTests(OutboundCase):
    """Tests for fetches, which go through treq."""

    async def test_treq_makes_the_request(self):
        """A fetch is a request of treq's client."""
        with mock.patch.object(
            HTTPClient, "request", autospec=True, side_effect=HTTPClient.request
        ) as made:
            await self.fetched(responding(b""))
        self.assertEqual(made.call_count, 1)
        self.assertIs(made.call_args.kwargs["allow_redirects"], False)

    async def test_hosts_that_treq_cannot_read(self):
        """A host with an underscore, or of no IDNA, is asked all the same."""
        port = self.serve(responding(b"here"))
        for host in ("a_b.example.com", "xn--a.example.com"):
            self.names[host] = [HERE]
            answer = await self.fetch(f"http://{host}:{port}/")
            self.assertEqual(answer["body"], "here")
            head = self.server.visits[-1].received.lower()
            self.assertIn(f"host: {host}:{port}\r\n".encode(), head)

    async def test_attack_cookies(self):
        """A cookie is passed on to who asked, and to no server."""
        port = self.serve(responding(b"", b"Set-Cookie: a=b; Path=/"))
        for _ in range(2):
            answer = await self.fetch(f"http://{HERE}:{port}/")
            self.assertEqual(answer["setCookie"], ["a=b; Path=/"])
        for visit in self.server.visits:
            self.assertNotIn(b"cookie", visit.received.lower())
