"""The page of ``open``, ``dev`` and ``demo``; tests in ``tests/e2e`` open it."""

import html
import io
import stat
import webbrowser
from contextlib import redirect_stdout
from unittest import mock

from twisted.internet.error import CannotListenError
from twisted.internet.testing import MemoryReactor
from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.hostpage import browse, serve_page
from bridge.cli.terminal import CommandError
from bridge.datadir.token import read_or_make_token
from bridge.settings.options import locate

from ..directories import fresh_directory


class PageTests(SynchronousTestCase):
    def setUp(self):
        self.data = fresh_directory(self)
        self.reactor = MemoryReactor()
        self.listen("127.0.0.1:42081")
        self.token = read_or_make_token(self.data / "token")

    def listen(self, address):
        (self.data / "address").write_text(f"{address}\n")

    def serve(self, port=0, host="reference"):
        """Serve the page; return its address."""
        self.place = locate(host, self.data, None)
        return serve_page(self.reactor, self.place, port)

    def test_served(self):
        """It is served to this computer only; its address names the daemon's."""
        address = self.serve(8080)
        ((port, _, _, interface),) = self.reactor.tcpServers
        self.assertEqual((port, interface), (8080, "127.0.0.1"))
        self.assertRegex(
            address,
            r"^http://127\.0\.0\.1:\d+/#endpoint=http%3A%2F%2F127.0.0.1%3A42081"
            rf"&token={self.token}$",
        )

    def test_attack_token_in_the_arguments_of_the_browser(self):
        """Others see a program's arguments; the token is in a file of this user."""
        address = self.serve()
        printed = io.StringIO()
        with mock.patch("threading.Thread") as thread, redirect_stdout(printed):
            browse(self.reactor, self.place, address)
        # One that is a snap cannot read the file.
        self.assertIn("shows no page, open that address", printed.getvalue())
        link = self.data / "page.html"
        opening = {"target": webbrowser.open, "args": (link.as_uri(),)}
        # What is served ends also while a browser is waited for.
        thread.assert_called_once_with(**opening, daemon=True)
        self.assertEqual(stat.S_IMODE(link.stat().st_mode), 0o600)
        self.assertIn(address, html.unescape(link.read_text()))
        ((forget, _, _),) = self.reactor.triggers["after"]["shutdown"]
        forget()
        self.assertFalse(link.exists())
        forget()

    def assert_none(self, why, **options):
        """There is no page, and one line has the reason."""
        error = self.assertRaises(CommandError, self.serve, **options)
        self.assertIn(why, str(error))

    def test_none_possible(self):
        """Each reason why there can be none is named."""
        self.assert_none("VRCNext shows its page itself", host="vrcnext")
        self.listen("unix:/run/x")
        self.assert_none("the daemon listens on unix:")
        self.listen("[::1]:42081")
        self.assert_none("the page connects to 127.0.0.1 only")
        (self.data / "address").unlink()
        self.assert_none("the daemon's address cannot be read")

    def test_taken_port(self):
        """A port that another program has is named."""

        def taken(*_, **__):
            raise CannotListenError("127.0.0.1", 8080, OSError())

        self.patch(self.reactor, "listenTCP", taken)
        self.assert_none("port 8080 cannot be used", port=8080)
