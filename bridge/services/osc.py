"""The ``osc`` service: Open Sound Control on loopback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final

from attrs import field
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..classes import define, frozen
from ..osc.packets import OSC_ARGUMENT, Message, encode, read_argument
from ..osc.ports import Listener, Sender
from ..protocol import limits
from ..protocol.errors import BridgeError, bad_request
from ..protocol.wire import (
    AnyParams,
    between,
    entries,
    string,
    structure,
    unstructure,
)
from ..rpc import Caller, Event, method
from ..store.state import DAEMON_PREFIX, Edit, Put, Remove
from ..store.store import Store

# Graphic ASCII, except what OSC 1.0 reserves for patterns and packets.
_ADDRESS = string(
    limits.OSC_ADDRESS_BYTES,
    like=r"/((?![#*,?\[\]{}])[!-~])*",
    least=1,
    meaning="a slash and then printable ASCII, without spaces and # * , ? [ ] { }",
)

Port = Annotated[int, between(limits.OSC_LEAST_PORT, 65535)]


@frozen(eq=False, repr=False)
class SendParams(AnyParams):
    """
    One message to send.

    :ivar address: Where in the receiver it goes; no pattern.
    :ivar args: A whole number of at most 32 bits is sent as an integer, any other
        number as a float.
    :ivar port: The port of 127.0.0.1, 9000 by default; not the daemon's own,
        nor the overlay's.
    """

    address: Annotated[str, _ADDRESS]
    args: Annotated[
        list[Annotated[Any, OSC_ARGUMENT]], entries(limits.OSC_ARGUMENTS)
    ] = field(factory=list)
    port: Port = limits.OSC_SEND_PORT


@frozen(eq=False, repr=False)
class SendResult:
    """
    What was sent.

    :ivar ok: Always true; UDP reports no receipt.
    :ivar bytes: How large the datagram was.
    :ivar port: Where it went.
    """

    ok: bool
    bytes: int
    port: int


@frozen(eq=False, repr=False)
class ListenParams(AnyParams):
    """
    Where to listen.

    :ivar port: The port of 127.0.0.1, 9001 by default; not the daemon's own,
        nor the overlay's.
    """

    port: Port = limits.OSC_LISTEN_PORT


@frozen(eq=False, repr=False)
class ListenResult:
    """
    What is listened on.

    :ivar ok: Always true.
    :ivar port: The port; the only one.
    :ivar started: False when it was listened on already.
    """

    ok: bool
    port: int
    started: bool


@frozen(eq=False, repr=False)
class StopResult:
    """
    What became of the port.

    :ivar ok: Always true.
    :ivar stopped: Whether it was closed; not when others hold it, or have left a lease.
    """

    ok: bool
    stopped: bool


@frozen(eq=False, repr=False)
class Status:
    """
    The state of the port; every field after the first two is absent without one.

    :ivar listening: Whether a port is.
    :ivar send_port: Where ``send`` sends to by default.
    :ivar listen_port: The port.
    :ivar received: How many messages came since it was opened.
    :ivar dropped: How many of these were not pushed, because they came too fast.
    :ivar undecodable: How many datagrams were not OSC.
    """

    listening: bool
    send_port: int
    listen_port: int | None = None
    received: int | None = None
    dropped: int | None = None
    undecodable: int | None = None


@frozen
class KeptLease:
    """
    What pages hold, as it is written down.

    :ivar leases: How many of them do.
    :ivar left: When each lease that was left behind ends, in seconds since the epoch.
    """

    port: Port
    leases: Annotated[int, between(0, limits.SOCKETS_AUTHENTICATED)]
    left: Annotated[list[int], entries(limits.SOCKETS_AUTHENTICATED)]


_NAMESPACE: Final = f"{DAEMON_PREFIX}osc"
_KEY: Final = "held"


@define(eq=False, repr=False)
class Osc:
    """
    Sends and receives OSC on loopback.

    Every page is pushed what is received, and a port is listened on for as long as
    any page wants it. A page that reconnects still does, also after a restart of the
    daemon: see docs/decisions/0026.

    :ivar push: Pushes an event to every page.
    :ivar reserved_ports: Ports that must not be sent to or listened on.
    :ivar now: The time of day, in seconds since the epoch.
    """

    _reactor: Any
    _push: Callable[[str, Any], None]
    _reserved_ports: frozenset[int]
    _store: Store
    _now: Callable[[], float]
    _sender: Sender = field(init=False)
    _listener: Listener = field(init=False)
    _closed: bool = field(default=False, init=False)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        self._sender = Sender(self._reactor)
        self._listener = Listener(self._reactor, self._received, self._write_down)

    def describe(self) -> dict[str, Any]:
        """Return the ports, the event and the status."""
        return {
            "sendPort": limits.OSC_SEND_PORT,
            "listenPort": limits.OSC_LISTEN_PORT,
            "event": str(Event.OSC),
            "status": unstructure(self._status()),
        }

    @method(SendParams, SendResult)
    async def send(self, params: SendParams) -> SendResult:
        """
        Send one message.

        :raise BridgeError: ``bad_request`` for an address or argument that breaks a
            rule, a reserved port, and a message over 8192 bytes;
            ``unavailable`` when the system does not accept it.
        """
        self._check(params.port)
        args = [argument for arg in params.args if (argument := read_argument(arg))]
        datagram = encode(Message(params.address, args))
        if len(datagram) > limits.OSC_DATAGRAM_BYTES:
            raise bad_request(f"args: at most {limits.OSC_DATAGRAM_BYTES} bytes as OSC")
        self._sender.send(datagram, params.port)
        return SendResult(ok=True, bytes=len(datagram), port=params.port)

    @method(ListenParams, ListenResult)
    async def listen(self, params: ListenParams, caller: Caller) -> ListenResult:
        """
        Listen on one port, instead of any other, until ``stop``; a page that
        disconnects, and authenticates again within five minutes, still listens.

        :raise BridgeError: ``bad_request`` for a reserved port;
            ``unavailable`` when another program has it: what was listened on before
            still is.
        """
        self._check(params.port)
        started = self._listener.hold(caller, params.port)
        # Watched only now: a page that has gone already leaves what is held first.
        caller.on_close(self._ended)
        return ListenResult(ok=True, port=params.port, started=started)

    @method(AnyParams, StopResult)
    async def stop(self, params: AnyParams, caller: Caller) -> StopResult:
        """Release this page's lease at once; the last lease closes the port."""
        return StopResult(ok=True, stopped=self._listener.release(caller))

    @method(AnyParams, Status)
    async def status(self, params: AnyParams) -> Status:
        """Return the port that is listened on, and counts of what came."""
        return self._status()

    def restore(self) -> None:
        """Listen again on the port that pages held, or had left, when it ended."""
        kept = self._store.get(_NAMESPACE, _KEY)
        try:
            held = structure(kept, KeptLease)
        except BridgeError:  # none was, or another version wrote it
            return
        if held.port in self._reserved_ports:
            return
        most, now = limits.OSC_LEASE_SECONDS, self._now()
        left = [min(most, until - now) for until in held.left if until > now]
        try:
            self._listener.restore(held.port, [most] * held.leases + left)
        except BridgeError as e:
            why = "no page receives OSC until one listens, or the port is free: {why}"
            self._log.warn(why, why=e)

    def _write_down(self) -> None:
        """Keep what pages hold, for the next start; no caller waits for it."""
        listener = self._listener
        port = listener.port
        # The leases are gone, and pages may still call; or the port is waited for.
        if self._closed or (listener.is_leased and port is None):
            return
        edit: Edit = Remove(_NAMESPACE, _KEY)
        if port is not None and listener.is_leased:
            # A program by HTTP may hold it too: one more than pages can come back.
            most, now = limits.SOCKETS_AUTHENTICATED, self._now()
            left = [round(now + seconds) for seconds in listener.left][:most]
            held = min(len(listener.holders), most)
            edit = Put(_NAMESPACE, _KEY, unstructure(KeptLease(port, held, left)))
        self._store.commit([edit]).addErrback(self._not_written, edit)

    def _not_written(self, failure: Failure, edit: Edit) -> None:
        failure.trap(BridgeError)  # it does not fit, or the store has logged it
        self._store.insist([edit]).addErrback(lambda _: None)

    def joined(self, page: Caller) -> None:
        """Pass a lease that another page has left to one that has authenticated."""
        page.on_close(self._ended)
        self._listener.adopt(page)

    def close(self) -> None:
        """Close both ports; what pages held is kept."""
        self._closed = True
        self._listener.close()
        self._sender.close()

    def _check(self, port: int) -> None:
        if port in self._reserved_ports:
            raise bad_request("port: not the daemon's own, nor the overlay's")

    def _ended(self, caller: Caller) -> None:
        if caller.is_page:
            self._listener.release_later(caller)
        else:
            # A command does not come back, and its lease would pass to a page.
            self._listener.release(caller)

    def _received(self, message: Message) -> None:
        self._push(Event.OSC, unstructure(message))

    def _status(self) -> Status:
        receiver = self._listener.receiver
        if receiver is None:
            return Status(listening=False, send_port=limits.OSC_SEND_PORT)
        return Status(
            listening=True,
            send_port=limits.OSC_SEND_PORT,
            listen_port=self._listener.port,
            received=receiver.received,
            dropped=receiver.pacing.dropped,
            undecodable=receiver.undecodable,
        )
