"""
The agent below treq: it sends the checked request to a checked address.

treq's client wraps an agent in others, which keep cookies, inflate bodies without a
bound, and add ``Accept-Encoding``; and it parses the URL itself, without IPv6
literals and underscores.  So neither the target nor any header goes through it; bodies
do, both ways.
"""

from __future__ import annotations

from typing import Any, Final

from attrs import define, field
from twisted.internet.defer import Deferred
from twisted.python.components import proxyForInterface
from twisted.web.client import Agent
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgent, IBodyProducer, IResponse
from zope.interface import implementer

from .target import CheckedRequest

ANY_URL: Final = "http://target.invalid/"
"""The URL passed to treq; nothing is ever sent there."""

_ResponseProxy: Any = proxyForInterface(IResponse)


class Bare(_ResponseProxy):  # type: ignore[misc]
    """
    A response without its headers, so that treq finds no cookie and no coding.

    :ivar received: The whole response.
    """

    def __init__(self, received: IResponse) -> None:
        super().__init__(received)
        self.received = received
        self._none = Headers()

    @property
    def headers(self) -> Headers:
        """None of them."""
        return self._none


@implementer(IAgent)
@define
class CheckedAgent:
    """
    Sends one checked request to a checked address, and follows no redirect.

    :ivar response: What was received, with its headers; ``None`` until then.
    """

    _agent: Agent
    _checked: CheckedRequest
    response: IResponse | None = field(default=None, init=False)

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
        return asking.addCallback(self._keep)

    def _keep(self, response: IResponse) -> IResponse:
        self.response = response
        bare: IResponse = Bare(response)
        return bare
