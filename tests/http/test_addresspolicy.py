from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.http import addresspolicy
from bridge.http.addresspolicy import is_local_address, is_private_name, is_public

PUBLIC = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255
128.0.0.0 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0
192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 203.0.112.255
203.0.114.0 223.255.255.255
2000:: 2001:200:: 2001:4860:4860::8888 2001:db7:ffff:: 2001:db9:: 2003::1
2606:4700:4700::1111 2a00:1450:4001::1 2620:4f:8001:: 3ffe:ffff:: 3fff:1000::
"""

NEAR = """
0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1
127.255.255.255 169.254.0.0 169.254.169.254 172.16.0.0 172.31.255.255 192.0.0.0
192.0.0.8 192.0.0.170 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.0
192.168.255.255 192.175.48.1 198.18.0.0 198.19.255.255 198.51.100.1 203.0.113.1
224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:8.8.8.8
64:ff9b::8.8.8.8 64:ff9b::127.0.0.1 64:ff9b:1::1 100::1 100:0:0:1::1 200::1 1fff::1
2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:20::1
2001:30::1 2001:1ff:ffff::1 2001:db8::1 2002:7f00:1::1 2002:808:808::1 2620:4f:8000::1
3fff::1 3fff:fff::1 4000::1 5f00::1 fc00::1 fd00::1 fe80::1 fec0::1 ff02::1
2606:4700::5efe:10.0.0.1 2606:4700::200:5efe:8.8.8.8 fe80::1%eth0
2606:4700:4700::1111%1
"""

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
        """Where any can, as a proxy may need it, only the source address decides."""
        self.patch(addresspolicy, "_binds", lambda address: True)
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
