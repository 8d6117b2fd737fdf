from treq.testing import StubTreq
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.test.requesthelper import DummyRequest

from bridge.demo.page import LISTENERS, Builds, page_site

from ..directories import fresh_directory


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
        (self.theme / "info.json").write_text("{}")
        for one in ("/theme/info.json", "/theme/..%2fpage.css", "/../page.css/x", "/x"):
            self.assertEqual(self.get(one)[0], 404, one)

    def test_attack_rebinding(self):
        """Who calls this computer by another name gets nothing."""
        answer = self.successResultOf(self.http.get("http://evil.example/page.css"))
        self.assertEqual(answer.code, 403)


class ReloadingTests(SynchronousTestCase):
    def setUp(self):
        self.builds = Builds("run")
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
        self.builds.built()
        for path in (b"", b"index.html"):
            text = b"".join(self.get(path).written)
            self.assertEqual(text.count(b'src="reload.js" data-build="run.1"'), 1)
        self.assertIn(b"EventSource", b"".join(self.get(b"reload.js").written))

    def test_only_where_it_is_wanted(self):
        """A page that is served otherwise never reloads itself."""
        self.site = page_site(fresh_directory(self), "host")
        self.assertNotIn(b"reload.js", b"".join(self.get(b"").written))
        for path in (b"builds", b"reload.js"):
            self.assertEqual(self.get(path).responseCode, 404)

    def test_page_that_leaves(self):
        """A page receives the newest build; nothing once it has left."""
        request = self.get(b"builds")
        kind = request.responseHeaders.getRawHeaders(b"content-type")
        self.assertEqual(kind, [b"text/event-stream"])
        request.processingFailed(OSError())
        self.builds.built()
        self.assertEqual(request.written, [b"data: run.0\n\n"])

    def test_attack_many_listeners(self):
        """One more than the most takes the place of the oldest."""
        requests = [self.get(b"builds") for _ in range(LISTENERS + 1)]
        self.assertEqual([one.finished for one in requests], [1] + [0] * LISTENERS)
        self.builds.built()
        self.assertEqual([len(one.written) for one in requests], [1] + [2] * LISTENERS)
