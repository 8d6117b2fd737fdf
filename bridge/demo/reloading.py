"""
Lets a page that this process serves load itself again after each build.

The page that an application serves never does that; see docs/decisions/0013.
"""

from __future__ import annotations

from typing import Final

from attrs import field
from twisted.python.failure import Failure
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request

from ..classes import define

BUILDS_PATH: Final = "builds"
SCRIPT_FILE: Final = "reload.js"
LISTENERS: Final = 16
"""The pages that can listen; one more takes the place of the oldest."""

_END_OF_HEAD: Final = b"</head>"


@define(eq=False)
class Builds:
    """
    The builds, and the pages that wait for the next one.

    :ivar run: Names this process, so that no build of another has the same name.
    """

    run: str
    _count: int = field(default=0, init=False)
    _waiting: list[Request] = field(factory=list, init=False)

    @property
    def current(self) -> str:
        """The name of the newest build."""
        return f"{self.run}.{self._count}"

    def built(self) -> None:
        """Let every page load itself again."""
        self._count += 1
        for request in self._waiting:
            request.write(self._message())

    def add(self, request: Request) -> None:
        """Send a page the newest build, and each one after it."""
        self._waiting.append(request)
        if len(self._waiting) > LISTENERS:
            self._waiting.pop(0).finish()
        request.notifyFinish().addBoth(self._remove, request)
        request.write(self._message())

    def _remove(self, _: Failure | None, request: Request) -> None:
        if request in self._waiting:
            self._waiting.remove(request)

    def _message(self) -> bytes:
        return f"data: {self.current}\n\n".encode("ascii")

    def with_script(self, page: bytes) -> bytes:
        """Return a page with the script that reloads it."""
        script = f'<script src="{SCRIPT_FILE}" data-build="{self.current}"></script>'
        return page.replace(_END_OF_HEAD, script.encode("ascii") + _END_OF_HEAD, 1)


class BuildsResource(Resource):
    """The builds, as an event stream."""

    isLeaf = True

    def __init__(self, builds: Builds) -> None:
        super().__init__()
        self._builds = builds

    def render_GET(self, request: Request) -> int:
        """Keep the request open."""
        request.setHeader(b"content-type", b"text/event-stream")
        request.setHeader(b"cache-control", b"no-store")
        self._builds.add(request)
        return NOT_DONE_YET
