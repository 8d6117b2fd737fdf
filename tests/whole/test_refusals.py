"""
Refusals that take more than a request or a frame, asked of real daemons over TCP.

Each check is named after its condition; the others are in ``test_contract``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ..rawsocket import RawSocket, text
from ..web.stack import Answer, Header, read_answer, write_request
from ..web.test_requestscontract import ALWAYS
from .daemon import Daemon, running
from .test_http import EVIL, JSON, exchange
from .test_remote import Asked, push_to

Check = Callable[[Daemon], None]
CALL = "/v1/state/list"
LIST = {"type": "request", "service": "state", "method": "list", "params": {"ns": "x"}}

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


# Section 7 of the specification, and what is decided about the surface.


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

    def test_dev(self) -> None:
        """See ``DEV``."""
        freely = "--rate=1000", "--burst=1000"
        self.check(DEV, "--dev", "--sink=freedesktop", *freely)

    def test_paced(self) -> None:
        """See ``PACED``: an upgrade and one probe are what its budget pays for."""
        self.check(PACED, "--rate=0.017", "--burst=2")
