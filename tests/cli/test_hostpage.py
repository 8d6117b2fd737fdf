"""The page of ``plugin-bridge dev``; ``tests/whole/test_dev.py`` opens it."""

from __future__ import annotations

import html
import stat

from twisted.internet.error import CannotListenError
from twisted.internet.testing import MemoryReactor
from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.hostpage import DevPage, HostPage
from bridge.datadir.token import PairingToken
from bridge.demo.page import Builds
from bridge.settings.options import locate

from ..directories import fresh_directory


class PageTests(SynchronousTestCase):
    """Tests for serving the page, or not."""

    def setUp(self):
        """A data directory, with the address of a daemon."""
        self.data = fresh_directory(self)
        self.reactor = MemoryReactor()
        self.printed: list[str] = []
        self.opened: list[str] = []
        self.listen("127.0.0.1:42081")
        self.token = PairingToken.load_or_create(self.data / "token").reveal()

    def listen(self, address):
        """Publish the daemon's address."""
        (self.data / "address").write_text(f"{address}\n")

    def page(self, port=0, opens=False, host="reference"):
        """Start a page; return it."""
        place = locate(host, self.data, None)
        page = DevPage(
            HostPage(self.reactor, place),
            port,
            opens,
            self.printed.append,
            Builds("run"),
            self.opened.append,
        )
        page.start()
        return page

    def test_served(self):
        """It is served to this computer only; its address names the daemon's."""
        self.page(8080)
        ((port, _, _, interface),) = self.reactor.tcpServers
        self.assertEqual((port, interface), (8080, "127.0.0.1"))
        self.assertRegex(
            self.printed[0],
            r"^page: http://127\.0\.0\.1:\d+/#endpoint=http%3A%2F%2F127.0.0.1%3A42081"
            rf"&token={self.token}$",
        )
        self.assertEqual(self.opened, [])

    def test_opened(self):
        """It is opened when the author wants that; another start changes nothing."""
        page = self.page(opens=True)
        page.start()
        self.assertEqual((len(self.opened), len(self.reactor.tcpServers)), (1, 1))
        page.stop()

    def test_attack_token_in_the_arguments_of_the_browser(self):
        """Others see a program's arguments; the token is in a file of this user."""
        page = self.page(opens=True)
        link = self.data / "page.html"
        self.assertEqual(self.opened, [link.as_uri()])
        self.assertEqual(stat.S_IMODE(link.stat().st_mode), 0o600)
        address = html.unescape(link.read_text()).partition("url=")[2]
        self.assertEqual(f"page: {address[:-3]}", self.printed[0])
        page.stop()
        self.assertFalse(link.exists())
        page.stop()

    def test_not_wanted(self):
        """With ``--no-page`` there is none, and nothing to report."""
        self.page(None).built()
        self.assertEqual((self.printed, self.reactor.tcpServers), ([], []))

    def assert_none(self, why, **options):
        """There is no page, and one line has the reason."""
        self.printed.clear()
        page = self.page(**options)
        (line,) = self.printed
        self.assertIn(f"no page: {why}", line)
        page.built()

    def test_none_possible(self):
        """Each reason why there can be none is named, and the link goes on."""
        self.assert_none("VRCNext shows its page itself", host="vrcnext")
        self.listen("unix:/run/x")
        self.assert_none(
            "it connects only to 127.0.0.1, and the daemon listens on unix:"
        )
        self.listen("[::1]:42081")
        self.assert_none("it connects only to 127.0.0.1")
        (self.data / "address").unlink()
        self.assert_none("the daemon's address cannot be read")
        self.listen("127.0.0.1:42081")
        (self.data / "token").unlink()
        self.assert_none("the daemon's token cannot be read")

    def test_taken_port(self):
        """A port that another program has is named."""

        def taken(*_, **__):
            raise CannotListenError("127.0.0.1", 8080, OSError())

        self.patch(self.reactor, "listenTCP", taken)
        self.assert_none("port 8080 cannot be used", port=8080)
