"""Fetches through a real daemon, asked for by a page."""

from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge import tap
from bridge.http.addresspolicy import AddressPolicy
from bridge.http.client import Reach

from ..directories import fresh_directory
from ..outbound.servers import HERE, Certificates, Server, responding
from .daemon import paired, running


class RefusedTests(SynchronousTestCase):
    """A daemon as it is delivered."""

    def test_attack_own_ports(self) -> None:
        """A page can't make the daemon ask this machine, not even look at a plugin."""
        home = fresh_directory(self)
        with (
            running(home, "--rate=100", "--burst=100") as daemon,
            daemon.page() as page,
        ):
            self.assertEqual(page.welcome["services"]["outbound"]["bodies"], "text")
            port = daemon.port
            # Others are compared in tests/http/test_target.py.
            for host in ("127.0.0.1", "localhost", "0x7f.1", "192.168.1.1"):
                url = f"http://{host}:{port}/v1/health"
                message = page.refusal("outbound", "fetch", {"url": url})
                self.assertEqual(message, "url: not a public address", host)
                url = f"https://{host}:{port}/x.git"
                message = page.refusal("plugins", "preview", {"url": url})
                self.assertTrue(message.startswith("private_address: "), message)
            # A machine without internet has no route, and no answer.
            wanted = {"url": "https://1.1.1.1/", "timeoutMs": 100}
            got = page.call("outbound", "fetch", wanted)
            self.assertTrue(got["ok"] or got["error"]["code"] == "unavailable")


class AllowedTests(TestCase):
    """A daemon that was made with another reach."""

    async def test_fetched(self) -> None:
        """A page fetches from a server of TLS; a large answer comes whole."""
        certificates = Certificates()
        body = '{"é": "\\n"}' * 100_000
        server = Server(responding(body.encode("utf-8"), b"Set-Cookie: a=b"))
        port = server.listen(certificates.context("api.good.net"))
        self.addCleanup(lambda: Deferred.fromCoroutine(server.stop()))
        options = tap.Options()
        data = fresh_directory(self) / "data"
        ca_file = data.parent / "ca.pem"
        ca_file.write_bytes(certificates.pem)
        options.parseOptions(
            ["--host=reference", "--listen=127.0.0.1:0", f"--data-dir={data}"]
        )
        policy = AddressPolicy(also=frozenset({(HERE, port)}))
        reach = Reach(policy, lambda host: succeed([HERE]), ca_file)
        daemon: Any = tap.assemble(reactor, options, reach)
        daemon.startService()
        self.addCleanup(lambda: maybeDeferred(daemon.stopService))
        bridge_port = daemon._port.getHost().port

        def converse() -> Any:
            with paired(bridge_port, data) as page:
                url = f"https://api.good.net:{port}/"
                return page.result("outbound", "fetch", {"url": url})

        answer = await deferToThread(converse)
        self.assertEqual((answer["status"], answer["body"]), (200, body))
        self.assertEqual(answer["setCookie"], ["a=b"])
