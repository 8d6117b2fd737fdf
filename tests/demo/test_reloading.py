"""Tests for bridge.demo.reloading."""

from __future__ import annotations

from importlib.resources import files

from twisted.trial.unittest import SynchronousTestCase
from twisted.web.test.requesthelper import DummyRequest

from bridge.demo.page import page_site
from bridge.demo.reloading import LISTENERS, Builds

from ..directories import fresh_directory


class ReloadingTests(SynchronousTestCase):
    """Tests for the page that reloads itself."""

    def setUp(self):
        """Make a site."""
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

    def test_each_build(self):
        """A page receives the newest build, and each one after it."""
        request = self.get(b"builds")
        kind = request.responseHeaders.getRawHeaders(b"content-type")
        self.assertEqual(kind, [b"text/event-stream"])
        self.builds.built()
        self.builds.built()
        self.assertEqual(
            request.written,
            [b"data: run.0\n\n", b"data: run.1\n\n", b"data: run.2\n\n"],
        )

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
        """A page that has left receives nothing."""
        request = self.get(b"builds")
        request.processingFailed(OSError())
        self.builds.built()
        self.assertEqual(len(request.written), 1)

    def test_attack_many_listeners(self):
        """One more than the most takes the place of the oldest."""
        requests = [self.get(b"builds") for _ in range(LISTENERS + 1)]
        self.assertEqual([one.finished for one in requests], [1] + [0] * LISTENERS)
        self.builds.built()
        self.assertEqual([len(one.written) for one in requests], [1] + [2] * LISTENERS)

    def test_attack_another_program_later(self):
        """The script never connects again, and so obeys no other program's builds."""
        page = files("bridge").joinpath("reference")
        script = page.joinpath("page", "reload.js").read_text("utf-8")
        self.assertIn("builds.onerror = () => builds.close();", script)
