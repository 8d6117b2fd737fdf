"""Messages of the bus, independent of the D-Bus library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..classes import frozen


class Byte(int):
    """A number that goes over the bus as a byte (``y``) where any type may stand."""

    dbusSignature: Final = "y"


class DesktopError(Exception):
    """
    The desktop could not be reached, or did not do what was asked.

    The message is ours and of one line; nothing in it came over the bus.
    """


@frozen
class RemoteInterface:
    """
    An interface of an object of a program on the bus.

    :ivar destination: The program's unique name (``:1.7``), or the bus's own; replies
        of anybody else are refused.
    """

    destination: str
    path: str
    interface: str


BUS: Final = RemoteInterface(
    "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus"
)
"""The bus itself; no program can send under its name."""


@frozen
class Call:
    """
    One call of a method.

    :ivar signature: The types of ``arguments``, as D-Bus writes them.
    """

    remote: RemoteInterface
    method: str
    signature: str = ""
    arguments: Sequence[Any] = ()


@frozen
class Signal:
    """
    A signal as it arrived.  Anybody may have sent it: check its ``sender``.

    :ivar sender: The unique name of the program that sent it; set by the bus.
    :ivar signature: The types of ``arguments``.
    """

    sender: str
    path: str
    interface: str
    name: str
    signature: str
    arguments: tuple[Any, ...]

    def is_of(self, remote: RemoteInterface, name: str, signature: str) -> bool:
        """Whether ``remote`` itself sent it, with arguments of these types."""
        return (
            self.sender == remote.destination
            and self.path == remote.path
            and self.interface == remote.interface
            and self.name == name
            and self.signature == signature
        )
