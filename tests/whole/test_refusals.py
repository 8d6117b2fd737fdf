"""
Every refusal that can be seen from outside, asked of real daemons over TCP.

Each check is named after its condition.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.limits import (
    REST_BODY_BYTES,
)

from ..rawsocket import TEXT, RawSocket, frame, text
from ..web.stack import Answer, Header, read_answer, write_request
from ..web.test_request import ALWAYS
from .daemon import Daemon, running
from .test_http import EVIL, JSON, exchange
from .test_remote import Asked, push_to

Check = Callable[[Daemon], None]
OWN: Header = ("Origin", "http://localhost:9000")
PNA: Header = ("Access-Control-Request-Private-Network", "true")
CALL = "/v1/state/list"
LIST = {"type": "request", "service": "state", "method": "list", "params": {"ns": "x"}}

PLAIN: dict[str, Check] = {}
"""Asked of a daemon without ``--dev``."""

DEV: dict[str, Check] = {}
"""Asked of one with ``--dev``, whose only sink can't start."""

PACED: dict[str, Check] = {}
"""Asked, in this order, of one that lets two requests through, and one each minute."""


def asked_of(table: dict[str, Check]) -> Callable[[Check], Check]:
    """Note a check under its name."""

    def note(check: Check) -> Check:
        table[check.__name__] = check
        return check

    return note


def ask(
    daemon: Daemon,
    method: str,
    path: str,
    *headers: Header,
    body: bytes | None = None,
    host: str | None = "127.0.0.1:{port}",
) -> Answer:
    """Make one request, its headers as they are given; what is always sent is there."""
    named = None if host is None else host.format(port=daemon.port)
    close = ("Connection", "close")
    sent = write_request(method, path, (*headers, close), body, named)
    answer = read_answer(exchange(daemon, sent), method)
    for name, value in ALWAYS.items():
        if name != "content-type" or answer.body:
            assert answer.headers[name] == value, answer
    assert "server" not in answer.headers
    return answer


def bearer(daemon: Daemon) -> Header:
    """Give the header with the right token."""
    return "Authorization", f"Bearer {daemon.token}"


def call(daemon: Daemon, path: str, params: Any, *headers: Header) -> Answer:
    """Call a method by HTTP."""
    body = json.dumps(params).encode("utf-8")
    return ask(daemon, "POST", path, bearer(daemon), JSON, *headers, body=body)


def expect(answer: Answer, status: int, code: str, *words: str) -> None:
    """Expect one refusal in the one form."""
    assert answer.status == status, answer
    assert answer.json["ok"] is False, answer
    assert set(answer.json["error"]) - {"retryAfter"} == {"code", "message"}, answer
    assert answer.code == code, answer
    for word in words:
        assert word in answer.json["error"]["message"], answer


@contextmanager
def paired(daemon: Daemon) -> Iterator[RawSocket]:
    """Open a socket and send hello."""
    with RawSocket(daemon.port) as raw:
        assert raw.hello(daemon.token)["type"] == "welcome"
        yield raw


def closed(daemon: Daemon, *sent: bytes, hello: bool = True) -> tuple[int | None, str]:
    """Open a socket, send, and give how it is closed."""
    with RawSocket(daemon.port) as raw:
        if hello:
            raw.hello(daemon.token)
        raw.send(*sent)
        end = raw.ended()
        assert not end.reset
        return end.code, end.reason


# Section 7 of the specification, and what is decided about the surface.


@asked_of(PLAIN)
def any_path_without_dev(daemon: Daemon) -> None:
    """A path other than the two is 404, and names what is missing."""
    for method, path in (("GET", "/v1/describe"), ("POST", CALL), ("PUT", "/x")):
        expect(ask(daemon, method, path), 404, "not_found", "--dev")


@asked_of(PLAIN)
def upgrade_from_another_site(daemon: Daemon) -> None:
    """An upgrade with an origin that is not allowed is 403, ``null`` among them."""
    for origin in ("https://evil.example", "null", "http://localhost.evil.example"):
        upgrade = (
            ("Origin", origin),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        )
        expect(ask(daemon, "GET", "/v1/ws", *upgrade), 403, "forbidden_origin")


@asked_of(PLAIN)
def cross_site_without_origin(daemon: Daemon) -> None:
    """So is a request of another site by its fetch metadata, as for an image."""
    metadata = ("Sec-Fetch-Site", "cross-site")
    expect(ask(daemon, "GET", "/v1/health", metadata), 403, "forbidden_origin")


@asked_of(PLAIN)
def host_missing_or_twice(daemon: Daemon) -> None:
    """Without one Host header nobody knows whom it is for: 400."""
    local = ("Host", f"127.0.0.1:{daemon.port}")
    for headers in ((), (local, local)):
        answer = ask(daemon, "GET", "/v1/health", *headers, host=None)
        expect(answer, 400, "bad_request", "Host")


@asked_of(PLAIN)
def host_of_another(daemon: Daemon) -> None:
    """A name that was made to point here, and another port, are 403."""
    for host in ("evil.example:{port}", "127.0.0.1:1", "localhost", "10.0.0.1:{port}"):
        expect(ask(daemon, "GET", "/v1/health", host=host), 403, "forbidden_host")


@asked_of(PLAIN)
def preflight(daemon: Daemon) -> None:
    """An allowed page may ask on, over a private network too; another is 403."""
    allowed = ask(daemon, "OPTIONS", CALL, OWN, PNA)
    assert (allowed.status, allowed.body) == (204, b"")
    assert allowed.headers["access-control-allow-origin"] == OWN[1]
    assert allowed.headers["access-control-allow-private-network"] == "true"
    refused = ask(daemon, "OPTIONS", CALL, EVIL, PNA)
    expect(refused, 403, "forbidden_origin")
    assert not [name for name in refused.headers if name.startswith("access-control")]


@asked_of(PLAIN)
def first_frame_is_no_hello(daemon: Daemon) -> None:
    """Any other first frame closes: 1008, and its reason."""
    for first in (text({**LIST, "id": "1"}), text([]), frame(TEXT, b"{")):
        assert closed(daemon, first, hello=False) == (1008, "hello_required")


@asked_of(PLAIN)
def hello_with_a_wrong_token(daemon: Daemon) -> None:
    """A wrong token closes: 1008, and its reason."""
    hello = text({"type": "hello", "token": "A" * 43, "client": "c/1.0.0"})
    assert closed(daemon, hello, hello=False) == (1008, "unauthorized")


@asked_of(PLAIN)
def no_first_frame(daemon: Daemon) -> None:
    """Five seconds of silence close: 1008, and its reason."""
    assert closed(daemon, hello=False) == (1008, "hello_required")


@asked_of(PLAIN)
def refused_frame_with_an_id(daemon: Daemon) -> None:
    """It is answered under its id, whether JSON or not, and the socket stays open."""
    head = b'{"type":"request","id":"7","service":"state","method":"list","params":'
    deep = b"[" * 100 + b"]" * 100
    with paired(daemon) as raw:
        for params in (b"NaN", b"Infinity", b'"\\ud800"', deep, b"[]", b'{"a":1,}'):
            raw.send(frame(TEXT, head + b'{"ns":"x","more":' + params + b"}}"))
            got = raw.receive()
            assert (got["type"], got["id"], got["ok"]) == ("response", "7", False), got
            assert got["error"]["code"] == "bad_request", got
        raw.send(text({**LIST, "id": "8"}))
        assert raw.receive()["ok"]


@asked_of(PLAIN)
def refused_frame_without_an_id(daemon: Daemon) -> None:
    """Its own socket gets an ``error`` push, no other; both stay open."""
    with paired(daemon) as raw, paired(daemon) as other:
        for wrong in (b"{", b"[]", b'{"type":"nothing"}', b'{"type":"request"}'):
            raw.send(frame(TEXT, wrong))
            got = raw.receive()
            assert (got["type"], got["event"]) == ("push", "error"), got
            assert got["data"]["code"] == "bad_request", got
        for each in (raw, other):
            each.send(text({**LIST, "id": "8"}))
            assert each.receive()["id"] == "8"


@asked_of(PLAIN)
def service_or_method_unknown(daemon: Daemon) -> None:
    """A service and a method that are not there have a code each."""
    with daemon.page() as page:
        for service, method, code in (
            ("nobody", "list", "unknown_service"),
            ("state", "nothing", "unknown_method"),
            ("remote", "eval", "unknown_service"),
        ):
            assert page.call(service, method)["error"]["code"] == code


@asked_of(DEV)
def token_missing(daemon: Daemon) -> None:
    """A call and ``describe`` without a token are 401, and name the scheme."""
    for method, path in (("POST", CALL), ("GET", "/v1/describe")):
        for headers in ((), (("Authorization", f"Basic {daemon.token}"),)):
            answer = ask(daemon, method, path, *headers)
            expect(answer, 401, "unauthorized")
            challenge = answer.headers["www-authenticate"]
            assert challenge == 'Bearer realm="plugin-bridge"'


@asked_of(DEV)
def token_wrong(daemon: Daemon) -> None:
    """A wrong token is 401, and is called wrong (RFC 6750)."""
    answer = ask(daemon, "POST", CALL, ("Authorization", "bearer " + "A" * 43))
    expect(answer, 401, "unauthorized")
    challenge = answer.headers["www-authenticate"]
    assert challenge == 'Bearer realm="plugin-bridge", error="invalid_token"'


@asked_of(DEV)
def token_twice(daemon: Daemon) -> None:
    """Two Authorization headers are 400, be both right."""
    both = bearer(daemon), bearer(daemon)
    expect(ask(daemon, "GET", "/v1/describe", *both), 400, "bad_request")


@asked_of(DEV)
def no_sink(daemon: Daemon) -> None:
    """A notification that nobody can show is 503."""
    answer = call(daemon, "/v1/notify/send", {"title": "Door"})
    expect(answer, 503, "unavailable")


@asked_of(DEV)
def nobody_evaluates(daemon: Daemon) -> None:
    """Without a page, and with one that does not answer in time: 503."""
    snippet = {"code": "return 1", "timeoutMs": 50}
    expect(call(daemon, "/v1/remote/eval", snippet), 503, "unavailable")
    with paired(daemon):
        expect(call(daemon, "/v1/remote/eval", snippet), 503, "unavailable")


@asked_of(DEV)
def snippet_that_threw(daemon: Daemon) -> None:
    """What it threw is the answer, and nothing else."""
    with daemon.page() as page:
        asking = Asked(daemon, code="throw new Error('no')")
        number = push_to(page)["id"]
        page.result(
            "remote", "result", {"id": number, "ok": False, "error": "Error: no"}
        )
        assert asking.answer() == {"ok": False, "error": "Error: no"}


@asked_of(DEV)
def body_of_another_type(daemon: Daemon) -> None:
    """A body that is not called JSON is 415: a form would need no preflight."""
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
    ):
        headers = bearer(daemon), ("Content-Type", kind)
        answer = ask(daemon, "POST", CALL, *headers, body=b"{}")
        expect(answer, 415, "unsupported_media_type")


@asked_of(DEV)
def body_too_large(daemon: Daemon) -> None:
    """8 MiB may come; what is declared larger is 413 before it is sent."""
    length = ("Content-Length", str(REST_BODY_BYTES + 1))
    answer = ask(daemon, "POST", CALL, bearer(daemon), JSON, length)
    expect(answer, 413, "payload_too_large")
    fits = json.dumps({"ns": "x"}).encode().ljust(REST_BODY_BYTES)
    answer = ask(daemon, "POST", CALL, bearer(daemon), JSON, body=fits)
    assert answer.status == 200, answer


@asked_of(DEV)
def body_that_is_no_json(daemon: Daemon) -> None:
    """What is no UTF-8, no JSON, or JSON with NaN, is 400."""
    for body, code in (
        (b"\xff", "malformed_body"),
        (b"{", "bad_request"),
        (b'{"ns":NaN}', "bad_request"),
        (b"[]", "bad_request"),
    ):
        answer = ask(daemon, "POST", CALL, bearer(daemon), JSON, body=body)
        expect(answer, 400, code)


@asked_of(DEV)
def another_method(daemon: Daemon) -> None:
    """A method that a path does not accept is 405, and names those it accepts."""
    for method, path, allow in (
        ("GET", CALL, "POST"),
        ("DELETE", "/v1/health", "GET, HEAD"),
        ("POST", "/v1/describe", "GET, HEAD"),
    ):
        answer = ask(daemon, method, path, bearer(daemon))
        expect(answer, 405, "method_not_allowed")
        assert answer.headers["allow"] == allow


@asked_of(DEV)
def services_listed_twice(daemon: Daemon) -> None:
    """``describe`` lists just the services that ``welcome`` lists."""
    described = ask(daemon, "GET", "/v1/describe", bearer(daemon)).json
    fields = {"version", "protocol", "socket", "services", "description"}
    assert set(described) == fields
    with daemon.page() as page:
        assert described["services"] == page.welcome["services"]
        assert described["version"] == page.welcome["version"]
    health = ask(daemon, "GET", "/v1/health").json
    assert set(health) == {"ok", "version", "protocol", "services"}
    assert sorted(health["services"]) == sorted(described["services"])


@asked_of(DEV)
def pushes_of_an_operation(daemon: Daemon) -> None:
    """What an operation pushes comes before its response."""
    with daemon.page() as page:
        page.call("plugins", "install", {"url": "https://127.0.0.1:1024/nothing"})
        events = [push["event"] for push in page.pushes]
        assert "progress" in events, events
        page.call("state", "list", {"ns": "x"})
        later = [push["event"] for push in page.pushes[len(events) :]]
        assert "progress" not in later, later


@asked_of(PACED)
def socket_over_its_rate(daemon: Daemon) -> None:
    """What can't begin within three seconds is refused, with when to come again."""
    with paired(daemon) as raw:
        for number in range(4):
            dropped = {**LIST, "method": "delete", "params": {"ns": "x", "key": "k"}}
            raw.send(text({**dropped, "id": str(number)}))
        got = {answer["id"]: answer for answer in (raw.answer() for _ in range(4))}
    assert [got[str(number)]["ok"] for number in range(4)] == [True, True, False, False]
    for late in "23":
        error = got[late]["error"]
        assert error["code"] == "rate_limited", error
        assert error["retryAfter"] >= 1, error


@asked_of(PACED)
def flood_of_another_site(daemon: Daemon) -> None:
    """It is refused by a bucket of its own: others pay nothing for it."""
    answers = [ask(daemon, "GET", "/v1/health", EVIL) for _ in range(4)]
    assert [answer.status for answer in answers] == [403, 403, 429, 429]
    assert ask(daemon, "GET", "/v1/health").status == 200
    assert int(answers[-1].headers["retry-after"]) >= 1


@asked_of(PACED)
def flood_of_requests(daemon: Daemon) -> None:
    """Over the rate everything is 429, preflights too, with when to come again."""
    for method, path in (("GET", "/v1/health"), ("OPTIONS", CALL), ("GET", "/v1/ws")):
        answer = ask(daemon, method, path)
        expect(answer, 429, "rate_limited")
        assert int(answer.headers["retry-after"]) >= 1


class RefusalTests(SynchronousTestCase):
    """A daemon for each table, asked everything in it."""

    def check(self, table: dict[str, Check], *options: str) -> None:
        """Run a daemon; do every check, and name those that fail."""
        failed: dict[str, str] = {}
        with (
            TemporaryDirectory(prefix="bridge-home-") as home,
            running(Path(home), *options) as daemon,
        ):
            for name, check in table.items():
                try:
                    check(daemon)
                except Exception as e:  # noqa: BLE001
                    failed[name] = f"{type(e).__name__}: {e}"[:2000]
        self.assertFalse(failed, "\n".join(map(": ".join, failed.items())))
        for wrong in ("Traceback", "Unhandled"):
            self.assertNotIn(wrong, "".join(daemon.lines))

    def test_plain(self) -> None:
        """See ``PLAIN``."""
        self.check(PLAIN, "--rate=1000", "--burst=1000")

    def test_dev(self) -> None:
        """See ``DEV``."""
        freely = "--rate=1000", "--burst=1000"
        self.check(DEV, "--dev", "--sink=freedesktop", *freely)

    def test_paced(self) -> None:
        """See ``PACED``: an upgrade and one probe are what its budget pays for."""
        self.check(PACED, "--rate=0.017", "--burst=2")
