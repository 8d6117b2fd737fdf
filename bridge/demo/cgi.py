"""Runs one CGI program for one HTTP request, and streams its response."""

from __future__ import annotations

import contextlib
from typing import Any

from twisted.internet.error import ProcessExitedAlready
from twisted.internet.interfaces import IPushProducer
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure
from twisted.web.http import INTERNAL_SERVER_ERROR, Request
from zope.interface import implementer

_END_OF_HEADERS = b"\r\n\r\n"


@implementer(IPushProducer)
class CGIAnswer(ProcessProtocol):
    """
    Feeds a program the request's body and sends what it writes as the answer.

    :param body: All of the request's body.
    """

    def __init__(self, request: Request, body: bytes) -> None:
        self._request = request
        self._body = body
        self._head: bytes | None = b""
        self._gone = False

    def connectionMade(self) -> None:
        """See ``ProcessProtocol.connectionMade``."""
        finished = self._request.notifyFinish()
        finished.addErrback(self._abandoned)
        self._request.registerProducer(self, True)
        self._transport.write(self._body)
        self._transport.closeStdin()

    def outReceived(self, data: bytes) -> None:
        """See ``ProcessProtocol.outReceived``."""
        if self._head is not None:
            self._head += data
            head, end, data = self._head.partition(_END_OF_HEADERS)
            if not end:
                return
            self._head = None
            self._start(head)
        self._request.write(data)

    def processEnded(self, reason: Failure) -> None:
        """See ``ProcessProtocol.processEnded``."""
        if self._gone:
            return
        if self._head is not None:
            self._request.setResponseCode(INTERNAL_SERVER_ERROR)
        self._request.unregisterProducer()
        self._request.finish()

    def pauseProducing(self) -> None:
        """See ``IPushProducer.pauseProducing``."""
        self._transport.pauseProducing()

    def resumeProducing(self) -> None:
        """See ``IPushProducer.resumeProducing``."""
        self._transport.resumeProducing()

    def stopProducing(self) -> None:
        """See ``IProducer.stopProducing``: ``notifyFinish`` reports it too."""

    @property
    def _transport(self) -> Any:
        return self.transport

    def _start(self, head: bytes) -> None:
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b": ")
            if name.lower() == b"status":
                self._request.setResponseCode(int(value[:3]))
            else:
                self._request.responseHeaders.addRawHeader(name, value)

    def _abandoned(self, reason: Failure) -> None:
        self._gone = True
        with contextlib.suppress(ProcessExitedAlready):
            self._transport.signalProcess("KILL")
        # What it has started ends when it is not read any more.
        self._transport.loseConnection()
