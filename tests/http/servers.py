"""Servers that a fetch meets: of HTTP, of TLS, and of names; on loopback, all real."""

from collections.abc import Callable, Sequence
from typing import Any

import trustme
from OpenSSL import SSL
from twisted.internet.defer import Deferred, gatherResults, maybeDeferred, succeed
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.trial.unittest import TestCase
from zope.interface import implementer

from bridge.concurrency.threads import Pool
from bridge.http.client import HttpClient
from bridge.http.target import AddressPolicy
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.strictjson import dumps, loads
from bridge.rpc import HTTP_CALLER
from bridge.services.outbound import Outbound

from ..certificates import authority, certificate
from ..directories import fresh_directory
from ..reactors import reactor
from ..schemas.checking import CheckedRegistry

Answer = Callable[["Visit"], Any]
"""Answers a request whose head has been received."""

HERE = "127.0.0.1"


class Visit(Protocol):
    """One connection to a server, and the request that came over it."""

    def connectionMade(self):
        self.received = b""
        self.answered = False
        self.closed: Deferred[None] = Deferred()
        self.factory.visits.append(self)
        if self.factory.greets:
            self.answer()

    def dataReceived(self, data):
        """Keep the request, and answer it when its head is there."""
        self.received += data
        if b"\r\n\r\n" in self.received:
            self.answer()

    def answer(self):
        if not self.answered:
            self.answered = True
            self.factory.answer(self)

    def connectionLost(self, reason=connectionDone):
        self.closed.callback(None)

    def send(self, *pieces: bytes, close: bool = False) -> None:
        self.transport.write(b"".join(pieces))
        if close:
            self.transport.loseConnection()

    def ok(self, body: bytes, *headers: bytes, status: bytes = b"200 OK") -> None:
        lines = [b"HTTP/1.1 " + status, *headers, b"Content-Length: %d" % len(body)]
        self.send(b"\r\n".join(lines), b"\r\n\r\n", body)

    def stream(self, piece: bytes, head: bytes = b"") -> None:
        """Send a head, and the same piece for ever, as fast as it is read."""
        sender = Endless(self, piece)
        self.transport.write(head)
        self.transport.registerProducer(sender, False)


def sending(*pieces: bytes, close: bool = False) -> Answer:
    """Answer with some bytes."""
    return lambda visit: visit.send(*pieces, close=close)


def responding(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> Answer:
    """Answer with an honest response."""
    return lambda visit: visit.ok(body, *headers, status=status)


class Endless:
    """Produces the same bytes for ever."""

    def __init__(self, visit: Visit, piece: bytes) -> None:
        self.visit, self.piece = visit, piece

    def resumeProducing(self):
        self.visit.transport.write(self.piece)
        self.visit.factory.sent += len(self.piece)

    def stopProducing(self):
        """The other side has gone."""


class Server(Factory):
    protocol: Any = Visit
    noisy = False

    def __init__(self, answer: Answer, greets: bool = False) -> None:
        self.answer = answer
        self.greets = greets
        self.visits: list[Visit] = []
        self.sent = 0
        self.port: Any = None

    def listen(self, tls: Any = None, interface: str = HERE) -> int:
        if tls is None:
            self.port = reactor.listenTCP(0, self, interface=interface)
        else:
            self.port = reactor.listenSSL(0, self, tls, interface=HERE)
        return self.port.getHost().port

    async def stop(self) -> None:
        await maybeDeferred(self.port.stopListening)
        for visit in self.visits:
            if not visit.closed.called:
                visit.transport.abortConnection()
        await gatherResults([visit.closed for visit in self.visits])


@implementer(IOpenSSLServerConnectionCreator)
class Context:
    """What a TLS server needs, as Twisted asks for it; notes the names asked for."""

    def __init__(self, certificate: trustme.LeafCert) -> None:
        self.asked: list[bytes | None] = []
        self._context = SSL.Context(SSL.TLS_METHOD)
        with certificate.private_key_and_cert_chain_pem.tempfile() as path:
            self._context.use_privatekey_file(path)
            self._context.use_certificate_chain_file(path)
        self._context.set_tlsext_servername_callback(
            lambda connection: self.asked.append(connection.get_servername())
        )

    def serverConnectionForTLS(self, tlsProtocol):
        return SSL.Connection(self._context, None)


class Certificates:
    """One of our authorities, and contexts of servers whose certificates it signs."""

    def __init__(self, issuer: str = "trusted") -> None:
        self._issuer = issuer

    @property
    def pem(self) -> bytes:
        return authority(self._issuer).cert_pem.bytes()

    def context(self, *names: str, days: int = 0) -> Context:
        """Return a server's context for some names; ``days``: see ``certificate``."""
        return Context(certificate(*names, issuer=self._issuer, days=days))


class OutboundCase(TestCase):
    """The service over real servers, called as a page's request is."""

    timeout = 60

    def setUp(self):
        self.pool = Pool(reactor, "test", 2)
        self.pool.start()
        self.addCleanup(self.pool.stop)
        self.names: dict[str, list[str]] = {}
        self.allowed: set[tuple[str, int]] = set()
        self.trusted: list[bytes] = []

    def look_up(self, host: str) -> Deferred[Sequence[str]]:
        return succeed(self.names.get(host, []))

    def service(self, look_up: Any = None) -> Outbound:
        """Make a service that reaches what has been allowed so far."""
        ca_file = None
        if self.trusted:
            ca_file = fresh_directory(self) / "trusted.pem"
            ca_file.write_bytes(b"".join(self.trusted))
        client = HttpClient(reactor, self.pool.call, look_up or self.look_up)
        client = client.trusting(ca_file)
        policy = AddressPolicy(also=frozenset(self.allowed))
        service = Outbound(policy, client._reactor, self.pool.call, client)
        self.addCleanup(service.close)
        return service

    def serve(
        self, answer: Answer, tls: Any = None, greets: bool = False, interface=HERE
    ) -> int:
        """Start a server, and allow it; gives its port."""
        self.server = server = Server(answer, greets)
        port = server.listen(tls, interface)
        self.addCleanup(lambda: Deferred.fromCoroutine(server.stop()))
        self.allowed.add((interface, port))
        return port

    def calling(self, params, service=None, caller=HTTP_CALLER):
        """Call ``outbound/fetch``; fires with plain JSON, as it is sent."""
        registry = CheckedRegistry()
        registry.register("outbound", service or self.service())
        call = registry.call("outbound", "fetch", params, caller)
        answering = Deferred.fromCoroutine(call)
        return answering.addCallback(lambda result: loads(dumps(result)))

    async def fetch(self, url: str, **params: Any) -> Any:
        return await self.calling({"url": url, **params})

    async def fetched(self, answer: Answer, path: str = "/", **params: Any) -> Any:
        """Serve an answer over plain HTTP, and fetch it."""
        port = self.serve(answer)
        return await self.fetch(f"http://{HERE}:{port}{path}", **params)

    async def refusal(self, url: str, **params: Any) -> tuple[Code, str]:
        """Fetch what is refused: the code, and the message."""
        failure = await self.assertFailure(
            self.calling({"url": url, **params}), BridgeError
        )
        return failure.code, failure.message

    async def refused(self, answer: Answer, **params: Any) -> tuple[Code, str]:
        port = self.serve(answer)
        return await self.refusal(f"http://{HERE}:{port}/", **params)
