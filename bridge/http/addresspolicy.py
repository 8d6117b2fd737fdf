"""Which addresses may be dialled."""

from __future__ import annotations

from collections.abc import Sequence

from ..classes import define, frozen
from ..net.addresses import is_private_name, is_public_elsewhere
from ..protocol.errors import BridgeError, Code
from .target import Target


@define(auto_exc=True)
class NotPublicError(BridgeError):
    """
    A host is not on the public internet, and nothing was sent to it.

    :ivar addresses: Those of its addresses that are not public, in text form; none
        when its name alone shows that it is private.
    """

    addresses: tuple[str, ...] = ()


@frozen
class AddressPolicy:
    """
    Allows public addresses, or all.

    :ivar public_only: Whether a host is refused when any of its addresses is not on
        the public internet.
    :ivar also: Private addresses and private names, each with a port, that are allowed
        all the same: those that a prompt has shown.  Tests, which have no internet,
        allow their servers by it; no option and no variable sets it.
    """

    public_only: bool = True
    also: frozenset[tuple[str, int]] = frozenset()

    def check_target(self, target: Target) -> None:
        """
        Check what can be checked before a name is looked up.

        :raise NotPublicError: It is not on the public internet.
        """
        if target.is_address:
            self.check_addresses(target, [target.host])
        elif not self._allows(target) and is_private_name(target.host):
            raise _not_public()

    def check_addresses(self, target: Target, addresses: Sequence[str]) -> None:
        """
        Check every address of a host: one that is not public refuses them all.

        :raise NotPublicError: Some address is not public.
        """
        if self._allows(target):
            return
        refused = [
            address
            for address in addresses
            if (address, target.port) not in self.also
            and not is_public_elsewhere(address)
        ]
        if refused:
            raise _not_public(*refused)

    def _allows(self, target: Target) -> bool:
        """Whether this host is allowed whatever its addresses are."""
        return not self.public_only or (target.host, target.port) in self.also


def _not_public(*addresses: str) -> NotPublicError:
    return NotPublicError(
        Code.BAD_REQUEST, "url: not a public address", addresses=addresses
    )
