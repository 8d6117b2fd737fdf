"""What is answered to requests: one table, in memory here, in tests/e2e by TCP."""

import re
from collections.abc import Iterable

from attrs import field, frozen
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import limits
from bridge.web.request import phrase

from ..strategies import SECRET, nested
from .stack import (
    BEARER,
    EVIL,
    HOST,
    JSON,
    PAGE,
    PORT,
    TOKEN,
    Answer,
    Header,
    Stack,
    read_answer,
    write_request,
)

ALWAYS = {
    "content-type": "application/json",
    "cache-control": "no-store",
    "connection": "close",
    "content-security-policy": "default-src 'none'",
    "cross-origin-resource-policy": "same-origin",
    "vary": "Origin",
    "x-content-type-options": "nosniff",
}
_STATUS = re.compile(rb"HTTP/1\.[01] [0-9]{3} ")
UPGRADE: tuple[Header, ...] = (
    ("Upgrade", "websocket"),
    ("Connection", "Upgrade"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ("Sec-WebSocket-Version", "13"),
)
PREFLIGHT = (
    ("Access-Control-Request-Method", "POST"),
    ("Access-Control-Request-Headers", "authorization,content-type"),
)
PRIVATE_NETWORK = ("Access-Control-Request-Private-Network", "true")
CHUNKED = ("Transfer-Encoding", "chunked")
LENGTH = ("Content-Length", "100")
GOOD = (BEARER, JSON)
CALL = "/v1/state/list"
PARAMS = b'{"ns":"x"}'
OTHER = ("GET", "POST", "PUT", "DELETE", "PATCH", "FOO", "TRACE")
LARGE = limits.REST_BODY_BYTES + 1
NOWHERE = (
    *("/", "*", "/v1", "/v1/", "/V1/HEALTH", "/v2/health", "/index.html"),
    *("/v1/health/", "/v1//health", "/../v1/health", "/v1/ws/"),
    *("/v1/%ff", "/v1/%ff/%fe", f"{CALL}/", "/v1/health;x=y", "/v1/h%65alth"),
    *("/v1%2fhealth", f"https://{HOST}/v1/health", f"http://{HOST}/v1/health/"),
    *(f"/{SECRET}", f"/v1/health/{SECRET}?{SECRET}=<b>", f"/v1/{SECRET}%e4/{SECRET}"),
)
"""Paths that are nowhere, whatever the daemon's options."""


@frozen
class Row:
    """
    What is sent on a connection of its own, and how it is answered.

    :ivar headers: What the answer has besides ``ALWAYS``; ``None`` is what it has not.
    """

    sent: bytes
    status: int
    code: str = ""
    headers: dict[str, str | None] = field(factory=dict)


def ask(
    method: str,
    path: str,
    status: int,
    code: str = "",
    *headers: Header,
    body: bytes | None = None,
    host: str | None = HOST,
    answer: dict[str, str | None] | None = None,
) -> Row:
    """Make a row of one request."""
    sent = write_request(method, path, headers, body, host)
    return Row(sent, status, code, answer or {})


def post(
    status: int,
    code: str = "",
    *headers: Header,
    path: str = CALL,
    body: bytes | None = PARAMS,
    host: str = HOST,
) -> Row:
    """Make a row of a call, with these headers alone."""
    return ask("POST", path, status, code, *headers, body=body, host=host)


def raw(status: int, code: str, *sent: bytes) -> Iterable[Row]:
    """Make rows of bytes that are answered alike."""
    return [Row(one, status, code) for one in sent]


class RequestsContract:
    """
    What every daemon answers to requests.

    The test case sends bytes in ``exchange``, to a daemon with or without ``--dev``,
    and returns all that is answered.
    """

    def check(self, *rows: Row, dev: bool = True) -> list[Answer]:
        """Send each row, and return the answers."""
        return [self.checked(row, dev) for row in rows]

    def checked(self, row: Row, dev: bool) -> Answer:
        """Send one row; what holds of every answer is compared here."""
        shown = row.sent[:200]
        received = self.exchange(row.sent, dev)
        self.assertEqual(len(_STATUS.findall(received)), 1, shown)
        line = received.partition(b"\r\n")[0].partition(b" ")[2]
        self.assertEqual(line, b"%d %s" % (row.status, phrase(row.status)), shown)
        self.assertNotIn(SECRET.encode(), received)
        method = row.sent.partition(b" ")[0].decode("latin-1")
        answer = read_answer(received, method)
        for name, value in ALWAYS.items():
            if name != "content-type" or row.status != 204:
                self.assertEqual(answer.headers[name], value, shown)
        self.assertNotIn("server", answer.headers)
        for name, expected in row.headers.items():
            self.assertEqual(answer.headers.get(name), expected, shown)
        if row.sent.count(PAGE[1].encode()) != 1:
            readable = [n for n in answer.headers if n.startswith("access-")]
            self.assertEqual(readable, [], shown)
        if row.code and method != "HEAD":
            self.assertEqual(answer.code, row.code, shown)
            self.assertEqual(set(answer.json), {"ok", "error"})
            self.assertIs(answer.json["ok"], False)
        return answer

    def test_health(self) -> None:
        """The probe needs no token, HEAD has no body, and HTTP/1.0 is fine."""
        old = write_request("GET", "/v1/health", ()).replace(b"HTTP/1.1", b"HTTP/1.0")
        rows = (
            ask("GET", "/v1/health", 200),
            ask("GET", "/v1/health?x=1", 200, "", JSON),
            Row(old, 200),
            ask("HEAD", "/v1/health", 200),
        )
        for dev in (False, True):
            *bodies, head = self.check(*rows, dev=dev)
            for answer in bodies:
                self.assertEqual(
                    set(answer.json), {"ok", "version", "protocol", "services"}
                )
            self.assertEqual(head.body, b"")
            self.assertEqual(head.headers, bodies[0].headers)

    def test_paths_without_dev(self) -> None:
        """There are two, and any other names the option."""
        paths = (*NOWHERE, "/v1/describe", "/v1/health/x", CALL, f"http://{HOST}{CALL}")
        for answer in self.check(
            *(
                ask(method, path, 404, "not_found", *GOOD, body=b"{}")
                for method in OTHER
                for path in paths
            ),
            dev=False,
        ):
            self.assertIn(b"--dev", answer.body)

    def test_paths(self) -> None:
        """Only the exact paths are paths: 404 for every disguise and other form."""
        for answer in self.check(
            *(
                post(404, "not_found", *GOOD, path=path)
                for path in (
                    *(*NOWHERE, "/v1/State/list", "/v1/state/" + "a" * 65),
                    *("/v1/state/..", "/v1/state/%0a", "/v1/state/list%00"),
                    *("/v1/%ff/list", "/v1/state%2flist", "/v1/state%2Flist"),
                    *("/v1%2fstate/list", "/v1/state/list%2f", "/v1/./state/list"),
                    *("/v1/%2e%2e/state/list", "/v1/state/../state/list"),
                    *("/v1/state//list", "//v1/state/list", "/v1/state/list;x=y"),
                    *("/v1/state;x/list", "/v1/state\\list", "/v1/state/list#x"),
                    *("/%761/state/list", "/v1/state", f"https://{HOST}{CALL}"),
                    *(f"http:/{HOST}{CALL}", f"http://{HOST}/{CALL}"),
                    *(f"http://{HOST}", f"{HOST}{CALL}", HOST),
                )
            ),
            ask("CONNECT", HOST, 404, "not_found"),
            ask("GET", f"http://{HOST}?/v1/health", 404, "not_found"),
        ):
            self.assertNotIn(b"--dev", answer.body)

    def test_methods(self) -> None:
        """A method that a path does not accept is 405, and names those it does."""
        read: dict[str, str | None] = {"allow": "GET, HEAD"}
        call: dict[str, str | None] = {"allow": "POST"}
        for dev in (False, True):
            self.check(
                *(
                    ask(method, path, 405, "method_not_allowed", body=b"", answer=read)
                    for method in (*OTHER[1:], "CONNECT", "get")
                    for path in ("/v1/health", "/v1/ws")
                ),
                dev=dev,
            )
        self.check(
            ask("POST", "/v1/describe", 405, "method_not_allowed", *GOOD, answer=read),
            *(
                ask(method, CALL, 405, "method_not_allowed", *GOOD, answer=call)
                for method in ("GET", "HEAD", "DELETE")
            ),
        )

    def test_calls(self) -> None:
        """A call is answered; its body may be in chunks, and its path is decoded."""
        chunks = b"4\r\n" + PARAMS[:4] + b"\r\n6\r\n" + PARAMS[4:] + b"\r\n0\r\n\r\n"
        for answer in self.check(
            post(200, "", *GOOD),
            post(200, "", *GOOD, path="/v1/state/l%69st"),
            post(200, "", *GOOD, body=PARAMS.ljust(LARGE - 1)),
            *(
                Row(write_request("POST", CALL, (*GOOD, encoding)) + chunks, 200)
                for encoding in (CHUNKED, ("Transfer-Encoding", "CHUNKED"))
            ),
            post(200, "", BEARER, ("content-TYPE", "Application/JSON; charset=utf-8")),
        ):
            self.assertEqual(answer.json, {"entries": {}})
        (described,) = self.check(ask("GET", "/v1/describe", 200, "", BEARER))
        self.assertIn("state", described.json["services"])

    def test_bodies(self) -> None:
        """What is no UTF-8 and no JSON object of the right fields is refused."""
        self.check(
            *(
                post(400, "bad_request", *GOOD, body=body)
                for body in (
                    *(None, b"", b" \r\n", b"{", b'{"ns":NaN}', b'{"ns":1e999}'),
                    *(b'{"ns":"\\ud800"}', b"[]", b'"text"', b"null"),
                    *(b'{"ns":"x","more":1}', b'{"ns":%s}' % nested(limits.JSON_DEPTH)),
                    b"{" + SECRET.encode(),
                )
            ),
            post(400, "malformed_body", *GOOD, body=b"\xff"),
            post(400, "malformed_body", *GOOD, body=b'{"ns":"\xed\xa0\x80"}'),
            post(404, "unknown_service", *GOOD, path="/v1/nothing/list"),
            post(404, "unknown_method", *GOOD, path="/v1/state/nothing"),
        )

    def test_order(self) -> None:
        """Token before type, type before size; all before the body has come."""
        text = ("Content-Type", "text/plain")
        large = ("Content-Length", str(LARGE))
        self.check(
            post(401, "unauthorized", JSON, path="/v1/nothing/list"),
            post(401, "unauthorized", text, large, body=None),
            post(415, "unsupported_media_type", BEARER, text, large, body=None),
            post(415, "unsupported_media_type", BEARER),
            post(413, "payload_too_large", *GOOD, large, body=None),
            *(
                row
                for length in (LENGTH, CHUNKED)
                for row in (
                    post(403, "forbidden_origin", EVIL, *GOOD, length, body=None),
                    post(404, "not_found", *GOOD, length, path="/nothing", body=None),
                    post(401, "unauthorized", JSON, length, body=None),
                    post(415, "unsupported_media_type", BEARER, length, body=None),
                    ask("OPTIONS", CALL, 413, "payload_too_large", PAGE, length),
                    ask("GET", "/v1/health", 413, "payload_too_large", length),
                    ask(
                        "GET", "/v1/describe", 413, "payload_too_large", BEARER, length
                    ),
                    ask("GET", "/v1/ws", 413, "payload_too_large", *UPGRADE, length),
                )
            ),
            post(
                401, "unauthorized", JSON, ("Expect", "100-continue"), LENGTH, body=None
            ),
        )
        chunk = b"%x\r\n%s\r\n" % (LARGE, b"x" * LARGE)
        head = write_request("POST", CALL, (*GOOD, CHUNKED))
        self.check(*raw(413, "payload_too_large", head + chunk))

    def test_attack_token(self) -> None:
        """Without the one right token a call is 401, and names the scheme."""
        realm, wrong = 'Bearer realm="plugin-bridge"', ', error="invalid_token"'
        for headers, challenge in (
            ((), realm),
            *(
                ((("Authorization", value),), realm + wrong)
                for value in (
                    *("Bearer wrong", "bearer " + "A" * 43, "Bearer \xff\xfe"),
                    *(f"Bearer {TOKEN} {TOKEN}", f"Bearer {SECRET}"),
                )
            ),
            *(
                ((("Authorization", value),), realm)
                for value in (
                    *("", "Bearer", "Bearer ", f"Bearer{TOKEN}", f"Basic {TOKEN}"),
                    *(TOKEN, f"B\xe9arer {TOKEN}"),
                )
            ),
        ):
            answer: dict[str, str | None] = {"www-authenticate": challenge}
            for method, path in (("GET", "/v1/describe"), ("POST", CALL)):
                row = ask(method, path, 401, "unauthorized", *headers, answer=answer)
                self.check(row)
        other = ("Authorization", "Bearer wrong")
        self.check(
            *(
                ask("GET", "/v1/describe", 400, "bad_request", *both)
                for both in ((BEARER, BEARER), (other, BEARER))
            ),
            *(
                ask("GET", "/v1/describe", 200, "", ("Authorization", f"{good} "))
                for good in (f"bearer {TOKEN}", f"BEARER  {TOKEN}")
            ),
        )

    def test_attack_token_guessed_without_dev(self) -> None:
        """Whether the token is right can't be learned without ``--dev``."""
        wrong = ("Authorization", "Bearer x")
        answers = self.check(
            *(ask("GET", CALL, 404, "", token) for token in (BEARER, wrong)), dev=False
        )
        self.assertEqual(*answers)

    def test_attack_dns_rebinding(self) -> None:
        """A foreign name or port is refused, token and same origin notwithstanding."""
        same = ("Sec-Fetch-Site", "same-origin")
        for host in (
            *(f"evil.example:{PORT}", f"localhost.evil.example:{PORT}"),
            *(f"127.0.0.1.nip.io:{PORT}", f"[127.0.0.1]:{PORT}", f"[localhost]:{PORT}"),
            *(f"0.0.0.0:{PORT}", f"[::]:{PORT}", f"192.168.1.2:{PORT}"),
            *(f"host.docker.internal:{PORT}", f"localhost.:{PORT}", "127.0.0.1:1"),
            *("127.0.0.1", "localhost", "127.0.0.1:", f"127.0.0.1:{PORT}:{PORT}"),
            *(f"127.0.0.1:0{PORT}x", f"::1:{PORT}", f"user@127.0.0.1:{PORT}"),
            *(f"127.0.0.1:{PORT}/", f"127.0.0.1 :{PORT}", f"\xff:{PORT}", ""),
        ):
            self.check(
                post(403, "forbidden_host", *GOOD, same, EVIL, host=host),
                ask("GET", "/v1/health", 403, "forbidden_host", host=host),
                ask("GET", "/v1/ws", 403, "forbidden_host", *UPGRADE, host=host),
            )
        own = ("Host", HOST)
        self.check(
            *(
                ask("GET", "/v1/health", 400, "bad_request", *hosts, host=None)
                for hosts in ((), (own, own), (own, ("Host", "evil.example")))
            ),
            *(
                ask("GET", "/v1/health", 200, host=f"{name}:{PORT}")
                for name in ("localhost", "LOCALHOST", "[::1]", "127.0.0.2")
            ),
        )

    def test_attack_absolute_target_of_another_host(self) -> None:
        """A foreign name in the target is refused, whatever the Host header is."""
        for authority in (
            *("", "evil.example", f"evil.example:{PORT}", "127.0.0.1"),
            *(f"user@{HOST}", f"{HOST}@evil.example", f"{HOST}\\"),
        ):
            target = f"http://{authority}/v1/health"
            self.check(ask("GET", target, 403, "forbidden_host"))
        for target in (f"http://{HOST}/v1/health", f"HTTP://{HOST}/v1/health?x=/y"):
            self.check(
                ask("GET", target, 200),
                ask("GET", target, 200, host="evil.example"),
                ask("GET", target, 400, "bad_request", host=None),
            )

    def test_attack_other_sites(self) -> None:
        """A page of another site is refused, and can't read that it was."""
        for headers in (
            *((("Origin", origin),) for origin in (EVIL[1], "null", "*", "file://")),
            (("Origin", "http://localhost.evil.example"),),
            *((("Origin", ""),), (("Origin", SECRET),)),
            (PAGE, PAGE),
            *(
                tuple(("Sec-Fetch-Site", site) for site in sites)
                for sites in (
                    *(("cross-site",), ("same-site",), ("",), ("nonsense",), ("NONE",)),
                    ("none", "cross-site"),
                )
            ),
        ):
            self.check(
                ask("GET", "/v1/health", 403, "forbidden_origin", *headers),
                ask("GET", "/v1/ws", 403, "forbidden_origin", *UPGRADE, *headers),
                ask("OPTIONS", CALL, 403, "forbidden_origin", *PREFLIGHT, *headers),
                post(403, "forbidden_origin", *GOOD, *headers),
            )

    def test_attack_forms(self) -> None:
        """A form can't call: neither its origin nor its content type passes."""
        for kinds in (
            *((), ("",), ("text/plain",), ("application/x-www-form-urlencoded",)),
            *(("multipart/form-data; boundary=x",), ("text/plain; application/json",)),
            *(("application/jsonp",), ("application/json, text/plain",), ("\xff",)),
            *((JSON[1], JSON[1]), (SECRET,)),
        ):
            form = [("Content-Type", kind) for kind in kinds]
            self.check(
                post(403, "forbidden_origin", EVIL, *form),
                post(415, "unsupported_media_type", PAGE, BEARER, *form),
            )
        self.check(post(200, "", BEARER, ("Content-Type", " application/json ;x=y")))

    def test_allowed_page(self) -> None:
        """An allowed page may read the answer, refusals too, and go on."""
        read: dict[str, str | None] = {
            "access-control-allow-origin": PAGE[1],
            "access-control-allow-credentials": None,
            "access-control-allow-private-network": None,
        }
        for path, status in (("/v1/health", 200), ("/nothing", 404)):
            self.check(ask("GET", path, status, "", PAGE, answer=read))
        further = {
            **read,
            "access-control-allow-methods": "GET, POST, OPTIONS",
            "access-control-allow-headers": "content-type, authorization",
            "access-control-max-age": "600",
            "content-type": None,
        }
        private = {**further, "access-control-allow-private-network": "true"}
        asked = (*PREFLIGHT, PRIVATE_NETWORK)
        for path in ("/v1/health", CALL, "/nothing", "*"):
            for answer in self.check(
                ask("OPTIONS", path, 204, "", PAGE, *PREFLIGHT, answer=further),
                ask("OPTIONS", path, 204, "", PAGE, *asked, answer=private),
                ask("OPTIONS", path, 204, "", *asked),
            ):
                self.assertEqual(answer.body, b"")

    def test_no_http(self) -> None:
        """What is no HTTP is refused in the same form."""
        host = b"\r\nHost: " + HOST.encode() + b"\r\n\r\n"
        self.check(
            *raw(
                *(400, "bad_request"),
                b"nonsense\r\n\r\n",
                b"GET /v1/health\r\n",
                b"GET  /v1/health HTTP/1.1\r\n\r\n",
                b"GET /v1/health HTTP/2.0\r\n\r\n",
                b"GET /v1/health HTTP/1.1 x\r\n\r\n",
                b"G\xc3\xa9T / HTTP/1.1\r\n\r\n",
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
                b"GET / HTTP/1.1\r\nbad name: x" + host,
                b"GET / HTTP/1.1\r\nX: a\x00b" + host,
                b"GET / HTTP/1.1\nHost: x\n\nGET / HTTP/1.1\r\n\r\n",
                write_request("GET", "/v1/health", ()).replace(
                    b"\r\n\r\n", b"\r\nOrigin: http://localhost\rX-Evil: 1\r\n\r\n"
                ),
            )
        )

    def test_attack_tls(self) -> None:
        """A client that begins TLS is answered at once, though it ends no line."""
        hellos = b"\x16", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20
        for answer in self.check(*raw(400, "bad_request", *hellos)):
            self.assertIn(b"this port does not speak TLS", answer.body)

    def test_attack_too_large_a_head(self) -> None:
        """A long line is 414, large or many headers are 431."""
        size, line = limits.HEAD_BYTES, b"GET / HTTP/1.1\r\n"
        path = b"GET /" + b"a" * size
        many = line + b"X: a\r\n" * (limits.HEADERS + 1)
        self.check(
            *raw(414, "uri_too_long", path, path + b" HTTP/1.1\r\n"),
            *raw(
                *(431, "head_too_large"),
                line + b"X: " + b"a" * size,
                line + b"X: " + b"a" * size + b"\r\n\r\n",
                line + b"X: aaaaaaa\r\n" * (size // 8),
                many + b"X: a\r\n",
                many + b"\r\n",
            ),
        )

    def test_attack_request_smuggling(self) -> None:
        """Two ends of one body are no request: 400, and nothing after it is read."""
        follows = write_request("POST", CALL, GOOD, PARAMS)
        for version, headers in (
            ("1.1", ("Content-Length: 2", "Content-Length: 3")),
            ("1.1", ("Content-Length: 2", "Content-Length: 2")),
            ("1.1", ("Content-Length: 2, 2",)),
            ("1.1", ("Content-Length: 2", "Transfer-Encoding: chunked")),
            ("1.1", ("Transfer-Encoding: chunked", "Content-Length: 2")),
            ("1.1", ("Content-Length: 2", "Transfer-Encoding: identity")),
            ("1.1", ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked")),
            ("1.1", ("Transfer-Encoding: gzip, chunked",)),
            ("1.1", ("Transfer-Encoding: identity",)),
            ("1.1", ("Transfer-Encoding: xchunked",)),
            ("1.0", ("Transfer-Encoding: chunked",)),
            ("1.1", ("Transfer-Encoding : chunked",)),
            ("1.1", ("Content-Length: +2",)),
            ("1.1", ("Content-Length: -2",)),
            ("1.1", ("Content-Length: 0x2",)),
            ("1.1", ("Content-Length: ",)),
            ("1.1", ("Content-Length: " + "9" * 5000,)),
        ):
            head = write_request("POST", CALL, GOOD).decode("ascii").rstrip()
            head = head.replace("HTTP/1.1", f"HTTP/{version}")
            sent = "\r\n".join([head, *headers, "", "2\r\n{}\r\n0\r\n\r\n"])
            (answer,) = self.check(
                *raw(400, "bad_request", sent.encode("ascii") + follows)
            )
            self.assertIn(b"not a valid HTTP request", answer.body, headers)

    def test_attack_chunks(self) -> None:
        """Malformed chunks are 400, and what follows is no request."""
        head = write_request("POST", CALL, (*GOOD, CHUNKED))
        follows = write_request("GET", "/v1/health", ())
        for body in (b"x\r\n", b"-1\r\n", b"2\r\n{}!!", b"1" * 2000, b"0x2\r\n{}\r\n"):
            self.check(*raw(400, "bad_request", head + body + follows))

    def test_handshakes(self) -> None:
        """A handshake that breaks RFC 6455 is a 400 of ours, and opens nothing."""
        good = dict(UPGRADE)
        for change in (
            {"Sec-WebSocket-Key": SECRET},
            {"Sec-WebSocket-Key": SECRET[:13].ljust(22, "*") + "=="},
            {"Sec-WebSocket-Version": SECRET},
            {"Sec-WebSocket-Version": "12"},
            {"Connection": SECRET},
            {"Upgrade": "h2c"},
        ):
            headers = {**good, **change}.items()
            self.check(ask("GET", "/v1/ws", 400, "bad_request", *headers))
        for missing in good:
            headers = {n: v for n, v in good.items() if n != missing}.items()
            self.check(ask("GET", "/v1/ws", 400, "bad_request", *headers))
        old = write_request("GET", "/v1/ws", UPGRADE).replace(b"HTTP/1.1", b"HTTP/1.0")
        self.check(
            ask("GET", "/v1/ws", 400, "bad_request"),
            ask("HEAD", "/v1/ws", 400, "bad_request", *UPGRADE),
            Row(old, 400, "bad_request"),
        )
        later = {**good, "Sec-WebSocket-Version": "99"}.items()
        supported: dict[str, str | None] = {"sec-websocket-version": "13"}
        self.check(ask("GET", "/v1/ws", 400, "", *later, answer=supported))


class MemoryTests(RequestsContract, SynchronousTestCase):
    def setUp(self) -> None:
        """Build daemons with and without ``--dev``, without a rate."""
        self.stacks = [Stack(dev, 1e6, 10**6) for dev in (False, True)]
        for stack in self.stacks:
            stack.add_state()

    def exchange(self, sent: bytes, dev: bool) -> bytes:
        return self.stacks[dev].raw(sent)
