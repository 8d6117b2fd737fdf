"""
The agent below treq: it sends the checked request to a checked address.

treq's client wraps an agent in others, which keep cookies, inflate bodies without a
bound, and add ``Accept-Encoding``; and it parses the URL itself, without IPv6
literals and underscores.  So neither the target nor any header goes through it; bodies
do, both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgent, IBodyProducer, IResponse
from zope.interface import implementer

from ..classes import define
from .target import CheckedRequest

if TYPE_CHECKING:
    from twisted.web.client import Agent

ANY_URL: Final = "http://target.invalid/"
"""The URL passed to treq; nothing is ever sent there."""


@implementer(IAgent)
@define
class CheckedAgent:
    """
    Sends one checked request to a checked address, and follows no redirect.

    :ivar read_head: Receives the response with its headers, before treq does without.
    """

    _agent: Agent
    _checked: CheckedRequest
    _read_head: Callable[[IResponse], object]

    def request(
        self,
        method: bytes,
        uri: bytes,
        headers: Headers | None = None,
        bodyProducer: IBodyProducer | None = None,  # noqa: N803
    ) -> Deferred[IResponse]:
        """Send the checked request; of the arguments, only the body is used."""
        own = Headers()
        for name, value in self._checked.headers:
            own.addRawHeader(name, value.encode("latin-1"))
        asking: Deferred[IResponse] = self._agent.request(
            self._checked.method.encode("ascii"),
            self._checked.target.url.encode("ascii"),
            own,
            bodyProducer,
        )
        return asking.addCallback(self._bare)

    def _bare(self, response: Any) -> IResponse:
        """Take the headers off, so that treq finds no cookie and no coding."""
        self._read_head(response)
        response.headers = Headers()
        bare: IResponse = response
        return bare
