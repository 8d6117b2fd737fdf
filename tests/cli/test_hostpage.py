"""The page of ``open``, ``dev`` and ``demo``; tests in ``tests/e2e`` open it."""

import html
import io
import stat
import webbrowser
from contextlib import redirect_stdout
from unittest import mock

from treq.testing import StubTreq
from twisted.internet.error import CannotListenError, ConnectionDone
from twisted.internet.testing import MemoryReactor, StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.test.requesthelper import DummyRequest

from bridge.cli.hostpage import LISTENERS, Builds, browse, page_site, serve_page
from bridge.cli.terminal import CommandError
from bridge.datadir.token import read_or_make_token
from bridge.settings.host import locate

from ..directories import fresh_directory


class _Connection(StringTransport):
    def abortConnection(self):
        self.loseConnection()


class BodyTests(SynchronousTestCase):
    def test_attack_bodies(self):
        """A page of any site may send one of any length: it is cut off at its head."""
        site = page_site(fresh_directory(self), "host")
        for line, is_cut in (
            (b"Content-Length: 0", False),
            (b"Content-Length: 1", True),
            (b"Content-Length: 99999999999", True),
            (b"Transfer-Encoding: chunked", True),
            (b"Expect: 100-continue\r\nContent-Length: 9", True),
        ):
            channel, transport = site.buildProtocol(None), _Connection()
            channel.makeConnection(transport)
            channel.dataReceived(
                b"GET / HTTP/1.1\r\nHost: localhost\r\n%b\r\n\r\n" % line
            )
            self.assertEqual(transport.disconnecting, is_cut, line)
            channel.connectionLost(Failure(ConnectionDone()))


class ServedTests(SynchronousTestCase):
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
        ((forget, _, how),) = self.reactor.triggers["after"]["shutdown"]
        forget(**how)
        self.assertFalse(link.exists())
        forget(**how)

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


class PageTests(SynchronousTestCase):
    def setUp(self):
        self.theme = fresh_directory(self)
        self.http = StubTreq(page_site(self.theme, "host").resource)

    def get(self, path):
        """Fetch a file: status, content type, text."""
        answer = self.successResultOf(self.http.get(f"http://127.0.0.1{path}"))
        kind = answer.headers.getRawHeaders("content-type", [""])[0]
        return answer.code, kind, self.successResultOf(answer.text())

    def test_page(self):
        """The page is at the root, with its style, and may run only its own script."""
        status, kind, text = self.get("/")
        self.assertEqual((status, kind), (200, "text/html; charset=utf-8"))
        self.assertIn("theme/reference-host.js", text)
        self.assertEqual(self.get("/page.css")[1], "text/css; charset=utf-8")
        answer = self.successResultOf(self.http.get("http://127.0.0.1/"))
        (policy,) = answer.headers.getRawHeaders("content-security-policy")
        self.assertIn("script-src 'self'", policy)
        self.assertFalse(answer.headers.hasHeader("server"))
        self.assertTrue(policy.endswith("; frame-ancestors 'none'"))
        # The same that the page has, for its frame and its workers too.
        self.assertIn(policy.removesuffix("; frame-ancestors 'none'"), text)

    def test_attack_other_sites(self):
        """Theirs neither embed the page, nor keep a hold of one that they opened."""
        answer = self.successResultOf(self.http.get("http://127.0.0.1/"))
        for what in ("resource", "opener"):
            policy = answer.headers.getRawHeaders(f"cross-origin-{what}-policy")
            self.assertEqual(policy, ["same-origin"])

    def test_attack_evaluating_in_the_page(self):
        """Only a page served for snippets may evaluate: by both of its policies."""
        for snippets, found in ((False, 0), (True, 1)):
            http = StubTreq(page_site(self.theme, "host", snippets).resource)
            answer = self.successResultOf(http.get("http://127.0.0.1/"))
            text = self.successResultOf(answer.text())
            (policy,) = answer.headers.getRawHeaders("content-security-policy")
            for where in (text, policy):
                self.assertEqual(where.count("script-src 'self'"), 1)
                self.assertEqual(where.count("script-src 'self' 'unsafe-eval' "), found)

    def test_bundle_is_read_again(self):
        """A bundle is served as soon as it is published, and never a stale one."""
        self.assertEqual(self.get("/theme/host.js")[0], 404)
        for text in ("one", "two"):
            (self.theme / "host.js").write_text(text)
            got = self.get("/theme/host.js")
            self.assertEqual(got, (200, "text/javascript; charset=utf-8", text))

    def test_attack_path_traversal(self):
        """Nothing but the named files is served, however it is spelled."""
        for name in ("info.json", "host.js"):
            (self.theme / name).write_text("{}")
        theirs = ("/theme/info.json", "/theme/..%2fpage.css", "/theme/x/host.js")
        for one in (*theirs, "/../page.css/x", "/x"):
            self.assertEqual(self.get(one)[0], 404, one)

    def test_attack_rebinding(self):
        """Who calls this computer by another name gets nothing."""
        answer = self.successResultOf(self.http.get("http://evil.example/page.css"))
        self.assertEqual(answer.code, 403)


class ReloadingTests(SynchronousTestCase):
    def setUp(self):
        self.builds = Builds()
        self.site = page_site(fresh_directory(self), "host", builds=self.builds)

    def get(self, path):
        """Request a path; return the request."""
        request = DummyRequest([path])
        resource = self.site.getResourceFor(request)
        body = resource.render(request)
        if type(body) is bytes:
            request.write(body)
        return request

    def test_page_knows_its_build(self):
        """The page has the script, with the build it was served after."""
        first = self.builds.current
        self.builds.built()
        self.assertNotIn(self.builds.current, (first, Builds().current))
        script = f'src="reload.js" data-build="{self.builds.current}"'.encode()
        for path in (b"", b"index.html"):
            text = b"".join(self.get(path).written)
            self.assertEqual(text.count(script), 1)
        self.assertIn(b"EventSource", b"".join(self.get(b"reload.js").written))

    def test_only_where_it_is_wanted(self):
        """A page that is served otherwise never reloads itself."""
        self.site = page_site(fresh_directory(self), "host")
        self.assertNotIn(b"reload.js", b"".join(self.get(b"").written))
        for path in (b"builds", b"reload.js"):
            self.assertEqual(self.get(path).responseCode, 404)

    def test_page_that_leaves(self):
        """A page receives the newest build; nothing once it has left."""
        request, first = self.get(b"builds"), self.builds.current
        kind = request.responseHeaders.getRawHeaders(b"content-type")
        self.assertEqual(kind, [b"text/event-stream"])
        request.processingFailed(OSError())
        self.builds.built()
        self.assertEqual(request.written, [f"data: {first}\n\n".encode()])

    def test_attack_many_listeners(self):
        """One more than the most takes the place of the oldest."""
        requests = [self.get(b"builds") for _ in range(LISTENERS + 1)]
        self.assertEqual([one.finished for one in requests], [1] + [0] * LISTENERS)
        self.builds.built()
        self.assertEqual([len(one.written) for one in requests], [1] + [2] * LISTENERS)
