"""The link of one working tree to a daemon, through its control socket."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from attrs import field
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, UNIXClientEndpoint
from twisted.internet.error import ConnectError
from twisted.internet.protocol import Factory, connectionDone
from twisted.protocols.basic import LineReceiver
from twisted.python.failure import Failure

from ...classes import define
from ...datadir.token import PairingToken
from ...plugins.policy.rules.table import Hit
from ...protocol.errors import BridgeError
from ...protocol.limits import FRAME_BYTES
from ...protocol.strictjson import dumps, loads
from ...protocol.text import escaped
from ..authoring.sources import hit_lines, quoted, source_line
from ..authoring.worktree import published
from ..connection import hello, is_dev, refusal, why_closed
from ..hostpage import DevPage
from ..terminal import CommandError
from .pluginlog import PluginLog
from .watch import IGNORED, Watch

_TIME: Final = "%H:%M:%S"


@define(eq=False)
class Session:
    """
    The link of one working tree.

    Its last argument returns why a plugin of an id may not run, for its author.

    :ivar failure: Why it ended, unless the user has ended it.
    """

    _reactor: Any
    _root: Path
    _page: DevPage
    _log: PluginLog
    _show: Callable[[str], None]
    _token: PairingToken
    _nobody: str
    _warnings: Callable[[str], list[str]] = lambda _: []
    _clock_text: Callable[[], str] = lambda: time.strftime(_TIME)
    failure: str = field(default="", init=False)
    _connection: _Connection | None = field(default=None, init=False)
    _watch: Watch = field(init=False)
    _waiting: bool = field(default=False, init=False)
    _linked_as: str | None = field(default=None, init=False)
    _ended: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._watch = Watch(self._root, self._reactor, self._send)

    def begin(self, address: str | tuple[str, int]) -> Deferred[None]:
        """Connect to the daemon; a failure ends the session."""
        endpoint: Any
        if isinstance(address, tuple):
            endpoint = TCP4ClientEndpoint(self._reactor, *address)
        else:
            endpoint = UNIXClientEndpoint(self._reactor, address)
        connecting: Deferred[Any] = endpoint.connect(
            Factory.forProtocol(lambda: _Connection(self))
        )
        connecting.addCallbacks(self._connected, self._not_connected)
        return connecting

    def _connected(self, connection: _Connection) -> None:
        self._connection = connection
        connection.send(hello(self._token))

    def _not_connected(self, failure: Failure) -> None:
        failure.trap(ConnectError)
        self.fail(self._nobody)

    def fail(self, why: str) -> None:
        """End the session, and the process."""
        if self._ended:
            return
        self.failure = why
        self.end()
        self._reactor.stop()

    def end(self) -> None:
        """End the session; that is what makes the daemon unlink the plugin."""
        self._ended = True
        self._watch.stop()
        self._log.stop()
        if self._connection is not None:
            self._connection.close()

    def received(self, message: Any) -> None:
        """Receive a frame of the daemon."""
        kind = message.get("type")
        if kind == "welcome":
            self._welcomed(message)
        elif kind == "response":
            self._waiting = False
            self._answered(message)
        elif kind == "close":
            self.fail(why_closed(str(message["reason"])))
        elif kind != "push":
            self.fail("the daemon has another version")

    def _welcomed(self, welcome: Any) -> None:
        if not is_dev(welcome):
            self.fail(self._nobody)
            return
        self._show(f"watching {self._root}; press Ctrl-C to stop")
        self._page.start()
        self._watch.start().addErrback(self._broke)

    def _answered(self, answer: Any) -> None:
        if answer.get("ok") is not True:
            code, why = refusal(answer)
            self._show_refused({"message": f"{code}: {why}", "hits": []})
        elif (linked := answer["result"].get("linked")) is None:
            self._show_refused(answer["result"])
        else:
            self._show_linked(linked)

    def _broke(self, failure: Failure) -> None:
        self.fail(f"the tree cannot be watched: {failure.value}")

    def _send(self) -> bool:
        if self._waiting or self._connection is None:
            return False
        try:
            names = published(self._root, IGNORED)
            for name in names:
                name.encode()
        except CommandError as e:
            self._show_at(f"not sent: {e}")
            return True
        except UnicodeEncodeError:
            self._show_at("not sent: the name of a file is not UTF-8")
            return True
        self._waiting = True
        tree = {"directory": str(self._root), "files": names}
        request = {"type": "request", "id": "tree", "service": "dev", "method": "link"}
        self._connection.send({**request, "params": tree})
        return True

    def _show_linked(self, message: Any) -> None:
        what = f"{message['id']} {message['version']}"
        if what != self._linked_as:
            self._linked_as = what
            more = "; it replaces the installed plugin" if message["shadows"] else ""
            self._show_at(f"linked {escaped(what)}{more}")
        report = message["report"]
        self._show_at(f"built in {report['durationMs']} ms")
        self._show_lines(report["errors"])
        self._show_lines(self._warnings(message["id"]))
        self._log.follow(message["id"], self._show_at)
        self._page.built()

    def _show_refused(self, message: Any) -> None:
        first, *rest = message["message"].split("\n")
        hits = [Hit(**hit) for hit in message["hits"]]
        self._show_at(f"refused: {escaped(first)}")
        self._show_lines([*rest, *quoted(self._root, first)])
        for hit in hits:
            for line in hit_lines(hit, source_line(self._root, hit)):
                self._show(line)
        if self._linked_as is not None:
            self._show("  the last good build stays in use")

    def _show_lines(self, lines: list[str]) -> None:
        for line in lines:
            self._show(f"  {escaped(line)}")

    def _show_at(self, line: str) -> None:
        self._show(f"{self._clock_text()} {line}")


class _Connection(LineReceiver):
    delimiter = b"\n"
    MAX_LENGTH = FRAME_BYTES

    def __init__(self, session: Session) -> None:
        self._session = session

    def lineReceived(self, line: bytes) -> None:
        try:
            self._session.received(loads(line))
        except (BridgeError, CommandError, AttributeError, KeyError, TypeError):
            self._session.fail("the daemon has another version")

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._session.fail("the daemon has stopped")

    def send(self, message: Any) -> None:
        self._wire.write(dumps(message) + b"\n")

    def close(self) -> None:
        self._wire.loseConnection()

    @property
    def _wire(self) -> Any:
        return self.transport
