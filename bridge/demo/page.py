"""Serves the reference host's page, with the bundle that the daemon publishes."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from twisted.web.resource import Resource
from twisted.web.server import Request, Site
from twisted.web.static import File

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src http://127.0.0.1:* ws://127.0.0.1:* http://localhost:* "
    "ws://localhost:*; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class _Policed(Request):
    """Adds what a careful page's server adds."""

    def process(self) -> None:
        self.setHeader(b"content-security-policy", _POLICY.encode("ascii"))
        self.setHeader(b"x-content-type-options", b"nosniff")
        self.setHeader(b"cache-control", b"no-cache")
        super().process()


class _Quiet(Site):
    requestFactory = _Policed  # noqa: N815 (Twisted's name)

    def log(self, request: Any) -> None:
        """Write no access log: the demo's terminal is for its reader."""


def page_site(theme: Path) -> Site:
    """
    Make the site: ``/`` is the page, ``/theme/`` the published bundle.

    :param theme: The theme's own folder, which need not exist yet.
    """
    root = Resource()
    page = File(str(files("bridge").joinpath("reference", "page")))
    for name in ("index.html", "page.css"):
        root.putChild(name.encode("ascii"), page.getChild(name, None))
    root.putChild(b"", page.getChild("index.html", None))
    root.putChild(b"theme", File(str(theme)))
    return _Quiet(root)
