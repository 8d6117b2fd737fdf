"""Tests for bridge.http.target: its URLs, and the addresses that they lead to."""

import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred, execute, succeed
from twisted.internet.error import ConnectError
from twisted.internet.testing import MemoryReactorClock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bridge.http import target
from bridge.http.client import HttpClient
from bridge.http.target import (
    AddressPolicy,
    is_local_address,
    is_private_name,
    is_public,
    read_url,
)
from bridge.protocol.errors import BridgeError, Code
from bridge.rpc import HTTP_CALLER
from bridge.services.outbound import FetchParams, Outbound

WIDE = {narrow: narrow + 0xFEE0 for narrow in range(0x21, 0x7F)}
LOOPBACK = """
127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7F.1 0177.0.0.1 017700000001
0x7f.0.0.0x1 127.0.0.1. 127。0。0。1 \u2460\u2461\u2466.0.0.1 [::1] [0:0:0:0:0:0:0:1]
[::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [64:ff9b::127.0.0.1]
[64:ff9b:1::7f00:1] [2002:7f00:1::] [2001:0:7f00:1::] [::ffff:0:127.0.0.1]
[fe80::5efe:127.0.0.1] 0 0.0.0.0 [::] 127.255.255.254
"""
PRIVATE = """
10.0.0.1 192.168.257 0xa9fea9fe 2852039166 4294967295 [fc00::1] [64:ff9b::a00:1]
[::ffff:169.254.169.254] [2606:4700::5efe:10.0.0.1]
"""
NAMES = """
localhost LOCALHOST localhost. a.localhost printer.local metadata.google.internal
a.home.arpa x.onion a.test a.invalid a.example a.alt localhost。 loc\u00adalhost
"""
NO_HOSTS = """
[fe80::1%eth0] [fe80::1%25eth0] [::1_::1] 256.256.256.256 1.2.3.4.5 0x 08.0.0.1
a.0x1g.1 a..b .a - a- -a %6c%6fcalhost a%00b a_b\u2044c [v1.x] [127.0.0.1]
127.0.0.1:1:2 99999999999 a.1 127.0.0.0x
"""


START = "http://good.net/"
REFUSED = {
    "must be absolute, of http or https": (
        *("", "file:///etc/passwd", "ftp://good.net/", "data:text/plain,x", "/x"),
        *("gopher://good.net/", "ws://good.net/", "//good.net/", "http:good.net"),
        *("http:/good.net", "http:\\\\good.net", "http://good.net/a\\b"),
        "http://good.net\\@127.0.0.1/",
    ),
    "no user name or password": (
        *("http://user:secret@good.net/", "http://good.net@127.0.0.1/"),
        *("http://@good.net/", "http://a:80@good.net:80/"),
    ),
    "a port that is not for HTTP": [
        f"http://good.net:{port}/"
        for port in f"0 22 25 6000 6667 10080 65536 000080 {'9' * 99}".split()
    ],
    "no control characters": [
        f"http://good{before}.net/a{after}b"
        for character in "\r\n\t\0\x1f\x7f\x85"
        for before, after in ((character, ""), ("", character))
    ],
    "the host is not a host name or an address": [
        f"http://{host}/" for host in NO_HOSTS.split()
    ],
    "at most 8192 characters": [START + "a" * (8193 - len(START))],
    "not a public address": [
        f"{scheme}://{host}{port}/"
        for hosts in (LOOPBACK, PRIVATE, NAMES, "127.0.0.1 localhost".translate(WIDE))
        for host in hosts.split()
        for scheme, port in (("http", ""), ("https", ":8443"), ("HTTP", ":80"))
    ],
}
"""What is refused without a look-up, by the rule that the refusal names."""


def reads(url: str) -> str | None:
    """Read and check a URL: the message of the refusal, if it is refused."""
    try:
        AddressPolicy().check_target(read_url(url))
    except BridgeError as error:
        assert error.code is Code.BAD_REQUEST
        return error.message
    return None


class UrlTests(SynchronousTestCase):
    """URLs that can be checked without a look-up."""

    def test_attack_urls(self) -> None:
        """Each is refused by its rule: other schemes, users, ports, near addresses."""
        for rule, urls in REFUSED.items():
            for url in urls:
                self.assertEqual(reads(url), f"url: {rule}", url)

    def test_attack_own_address(self) -> None:
        """So is an address of this machine, also when it is public."""
        self.patch(target, "is_local_address", lambda given: given == "1.1.1.1")
        self.assertEqual(reads("http://1.1.1.1/"), "url: not a public address")
        self.assertIsNone(reads("http://1.1.1.2/"))

    def test_public(self) -> None:
        """Public addresses and names are let through, in their one form."""
        for url, written in (
            ("http://1.1.1.1", "http://1.1.1.1/"),
            ("http://good.net:80", "http://good.net/"),
            ("https://good.net:443", "https://good.net/"),
            ("https://good.net:80", "https://good.net:80/"),
            ("http://16843009:65535/x", "http://1.1.1.1:65535/x"),
            (
                "https://[2606:4700:4700:0::1111]:8443/",
                "https://[2606:4700:4700::1111]:8443/",
            ),
            ("https://API.Good.NET./a?b", "https://api.good.net/a?b"),
            (
                'https://bücher.de/ü ?ß="|',
                "https://xn--bcher-kva.de/%C3%BC%20?%C3%9F=%22%7C",
            ),
            ("https://a_b.net?q#f", "https://a_b.net/?q"),
            ("https://good.net:/%41%zz", "https://good.net/%41%zz"),
            (" https://good.net/a' ", "https://good.net/a'"),
        ):
            self.assertIsNone(reads(url), url)
            to = read_url(url)
            self.assertEqual(f"{to.scheme}://{to.authority}{to.path}", written)
        self.assertIsNone(reads(START + "a" * (8192 - len(START))))


NUMBERS = st.integers(0, 2**32 - 1)


def spelled(number: int, form: int) -> str:
    """Write an IPv4 address in one of the forms that are read."""
    one, two, three, four = number.to_bytes(4, "big")
    forms = (
        f"{one}.{two}.{three}.{four}",
        f"{number}",
        f"{number:#x}",
        f"0{number:o}",
        f"{one}.{number & 0xFFFFFF}",
        f"{one:#x}.{two}.{number & 0xFFFF}",
        f"0{one:o}.0{two:o}.0{three:o}.{four:#X}",
        f"{one}.{two}.{three}.{four}".translate(
            {i: i + 0xFEE0 for i in range(0x30, 0x3A)}
        ),
        f"{one}。{two}。{three}。{four}.",
        f"[::ffff:{one}.{two}.{three}.{four}]",
        f"[64:ff9b::{one}.{two}.{three}.{four}]",
        f"[2002:{number >> 16:x}:{number & 0xFFFF:x}::1]",
    )
    return forms[form % len(forms)]


NEAR_NUMBERS = st.one_of(
    NUMBERS,
    st.sampled_from((0x7F000001, 0x0A000001, 0xA9FEA9FE, 0xC0A80101, 0x01010101)),
)
HOSTS = st.one_of(
    st.builds(spelled, NEAR_NUMBERS, st.integers(0, 11)),
    st.ip_addresses(v=6).map(lambda address: f"[{address}]"),
    st.from_regex(r"[a-z0-9x.\[\]:%@_-]{1,20}", fullmatch=True),
    st.text(max_size=12),
    st.sampled_from(("one.net", "two.net", "localhost", "a.internal")),
)
ADDRESSES = st.one_of(
    NEAR_NUMBERS.map(lambda number: str(ipaddress.IPv4Address(number))),
    st.ip_addresses(v=6).map(str),
    st.sampled_from(("::ffff:10.0.0.1", "fe80::1%eth0", "2606:4700::1", "1.1.1.1", "")),
)


def is_far(address: str) -> bool:
    """Check an address by the standard library and the forms that embed another."""
    parsed = ipaddress.ip_address(address)
    near = (
        parsed.is_multicast
        or parsed.is_reserved
        or parsed.is_loopback
        or parsed.is_link_local
        or parsed.is_private
        or parsed.is_unspecified
        or not parsed.is_global
    )
    if isinstance(parsed, ipaddress.IPv6Address):
        embedding = (parsed.ipv4_mapped, parsed.sixtofour, parsed.teredo)
        near = near or any(embedding) or parsed.is_site_local
        near = near or parsed in ipaddress.IPv6Network("64:ff9b::/32")
    return not near


class DialTests(SynchronousTestCase):
    """What is dialled in the end, for any URL and any answers of a resolver."""

    def dialled(self, url: str, answers: list[str]) -> list[str]:
        """Fetch a URL; give what was dialled until nobody was left to answer."""
        memory = MemoryReactorClock()
        asked: list[str] = []

        def look_up(host: str) -> Deferred[Sequence[str]]:
            asked.append(host)
            return succeed(answers)

        client = HttpClient(memory, execute, look_up=look_up)
        service = Outbound(AddressPolicy(), memory, execute, client)
        fetching: Any = service.fetch(FetchParams(url), HTTP_CALLER)
        work = Deferred.fromCoroutine(fetching)
        for number in range(len(answers) + 1):
            if number < len(memory.tcpClients):
                factory = memory.tcpClients[number][2]
                refusal = Failure(ConnectError())
                factory.clientConnectionFailed(memory.connectors[number], refusal)
        self.failureResultOf(work, BridgeError)
        self.assertLessEqual(len(asked), 1)
        return [str(host) for host, *_ in memory.tcpClients]

    @settings(max_examples=300)
    @given(
        st.sampled_from(("http", "https", "HTTP")),
        HOSTS,
        st.sampled_from(("", ":80", ":8080", ":", ":x")),
        st.lists(ADDRESSES, max_size=4),
    )
    @example("https", "_", "", ["2606:4700::1"])
    def test_attack_any_url_and_any_answers(self, scheme, host, port, answers):
        """No URL and no resolver make the daemon dial what is not public."""
        url = f"{scheme}://{host}{port}/"
        for address in self.dialled(url, answers):
            self.assertTrue(is_far(address), (url, answers, address))

    def test_public_is_dialled(self) -> None:
        """The property is not empty: what is public is dialled, and only that."""
        self.assertEqual(self.dialled("http://16843009/", []), ["1.1.1.1"])
        answers = ["1.1.1.1", "2606:4700::1"]
        many = [f"1.1.1.{last}" for last in range(65)]
        self.assertEqual(self.dialled("https://one.net/", answers), answers)
        self.assertEqual(self.dialled("http://one.net/", ["1.1.1.1", "10.0.0.1"]), [])
        self.assertEqual(self.dialled("http://one.net/", many), [])


PUBLIC = Path(__file__).with_name("public.txt").read_text("ascii")
NEAR = Path(__file__).with_name("near.txt").read_text("ascii")

NOT_ADDRESSES = (
    *("", "x", "1", "127.1", "0x7f.1", "0177.0.0.1", "2130706433", "1.1.1.1/8"),
    *("[::1]", " 1.1.1.1", "\uff11.1.1.1", "1.1.1.1\n", "::1::"),
)


class IsPublicTests(SynchronousTestCase):
    def test_public(self) -> None:
        """Addresses just outside each private block are public."""
        for address in PUBLIC.split():
            self.assertTrue(is_public(address), address)

    def test_near(self) -> None:
        """The ends of each private block, and all embedded addresses, are not."""
        for address in NEAR.split():
            self.assertFalse(is_public(address), address)

    def test_not_an_address(self) -> None:
        """What is not the usual form of an address is not public."""
        for text in NOT_ADDRESSES:
            self.assertFalse(is_public(text), text)

    @given(st.ip_addresses())
    def test_stricter_than_the_standard_library(self, address):
        """No address is public that the standard library calls private."""
        if is_public(str(address)):
            self.assertTrue(address.is_global)

    @given(st.text())
    def test_any_text(self, text: str) -> None:
        self.assertIsInstance(is_public(text), bool)


class IsOwnTests(SynchronousTestCase):
    def test_attack_second_address(self) -> None:
        """So is an address from which nothing is sent, when it has another there."""
        self.assertTrue(is_local_address("127.0.0.5"))

    def test_any_address_can_be_bound(self) -> None:
        """Where any of a family can, as a proxy may need it, the source decides."""
        self.patch(target, "_binds", lambda address: ":" not in address)
        self.assertTrue(is_local_address("127.0.0.1"))
        self.assertFalse(is_local_address("192.0.2.1"))

    def test_not_own(self) -> None:
        """Addresses of others, and what is none, are not."""
        for address in ("192.0.2.1", "2001:db8::1", "x", "x:y"):
            self.assertFalse(is_local_address(address))


class IsNearNameTests(SynchronousTestCase):
    def test_far(self) -> None:
        """Names that only look like them are not reserved."""
        for name in ("example.org", "localhost.com", "mylocal", "arpa", "test.org"):
            self.assertFalse(is_private_name(name), name)
