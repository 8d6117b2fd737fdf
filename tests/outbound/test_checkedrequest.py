import re

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.http.target import read_url
from bridge.outbound.checkedrequest import METHODS, CheckedRequest, make_request
from bridge.protocol.errors import BridgeError, Code

TARGET = read_url("http://good.net/")
CONNECTION = """
Host content-length CONNECTION Keep-Alive te Trailer transfer-encoding Upgrade expect
Proxy-Authorization proxy-connection Proxy-Anything
"""


def made(method="GET", headers=None, body="", milliseconds=None):
    """Make a request, or give the message of the refusal."""
    try:
        return make_request(TARGET, method, headers or {}, body, milliseconds)
    except BridgeError as error:
        assert error.code is Code.BAD_REQUEST
        return error.message


class RequestTests(SynchronousTestCase):
    def test_time(self) -> None:
        """The time has a default, and is brought into its bounds."""
        for given_, seconds in ((None, 30), (0, 0.001), (-9, 0.001), (10**20, 120)):
            self.assertEqual(made(milliseconds=given_).seconds, seconds)

    def test_attack_methods(self) -> None:
        """No other: not to a proxy, not to trace, nothing that breaks the line."""
        for bad in ("TRACE", "CONNECT", "OPTIONS", "", "GET ", "GET\r\nX: y", "ＧＥＴ"):  # noqa: RUF001
            message = made(bad)
            self.assertEqual(message, f"method: must be one of {', '.join(METHODS)}")

    def test_body(self) -> None:
        """At most 1 MiB in UTF-8."""
        self.assertIsInstance(made("POST", body="é" * 524288), CheckedRequest)
        self.assertEqual(
            made("POST", body="é" * 524288 + "x"),
            "body: at most 1048576 bytes in UTF-8",
        )

    def test_attack_connection_headers(self) -> None:
        """Headers of the connection, of proxies, in any case."""
        for name in CONNECTION.split():
            message = made(headers={name: "x"})
            self.assertEqual(
                message, "headers: headers of the connection cannot be set"
            )

    def test_attack_header_injection(self) -> None:
        """Nothing that would end a line, in a name or in a value."""
        for name in ("", "a b", "a:", "a\r\nb", "é", "a\0", " a"):
            message = made(headers={name: "x"})
            self.assertEqual(message, "headers: a name is not a token of HTTP", name)
        for value in ("a\r\nb: c", "a\nb", "a\rb", "\0", "\t", "\x7f", "€"):
            message = made(headers={"a": value})
            self.assertIn("a value has characters", str(message))

    def test_sizes(self) -> None:
        """At most 32 headers, of 64 KiB in all."""
        many = {f"a{number}": "" for number in range(33)}
        self.assertEqual(made(headers=many), "headers: at most 32")
        many.popitem()
        self.assertIsInstance(made(headers=many), CheckedRequest)
        self.assertIsInstance(made(headers={"a": "x" * 65535}), CheckedRequest)
        self.assertIn("at most 65536", str(made(headers={"a": "x" * 65536})))

    @given(
        st.dictionaries(
            st.one_of(st.text(max_size=8), st.from_regex(r"[A-Za-z-]{1,20}")),
            st.text(max_size=8),
            max_size=4,
        )
    )
    def test_any_headers(self, headers: dict[str, str]) -> None:
        """What is let through can be written as lines, and none is the connection's."""
        request = made(headers=headers)
        if not isinstance(request, CheckedRequest):
            self.assertTrue(request.startswith("headers: "))
            return
        for name, value in request.headers:
            line = f"{name}: {value}".encode("latin-1")
            self.assertIsNotNone(re.fullmatch(rb"[!-~]+: [^\x00-\x1f\x7f]*", line))
            self.assertNotIn(name.lower(), ("host", "content-length", "connection"))
        names = [name.lower() for name, _ in request.headers]
        for name in ("accept", "accept-encoding", "user-agent"):
            self.assertIn(name, names)
