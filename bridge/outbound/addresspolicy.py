"""Which addresses may be dialled."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from ..net.addresses import is_private_name, is_public_elsewhere
from .target import Target, refused


@frozen
class AddressPolicy:
    """
    Allows public addresses, and nothing else.

    :ivar also: Addresses with a port that are allowed as well.  It is for tests, which
        have no internet; no option and no variable sets it.
    """

    also: frozenset[tuple[str, int]] = frozenset()

    def check_target(self, target: Target) -> None:
        """
        Check what can be checked before a name is looked up.

        :raise BridgeError: ``bad_request``: it is not on the public internet.
        """
        if target.is_address:
            self.check_addresses([target.host], target.port)
        elif is_private_name(target.host):
            raise _not_public()

    def check_addresses(self, addresses: Sequence[str], port: int) -> None:
        """
        Check every address of a host: one that is not public refuses them all.

        :raise BridgeError: ``bad_request``: some address is not public.
        """
        if not all(self._allows(address, port) for address in addresses):
            raise _not_public()

    def _allows(self, address: str, port: int) -> bool:
        if (address, port) in self.also:
            return True
        return is_public_elsewhere(address)


def _not_public() -> Exception:
    return refused("not a public address")
