"""
Which sinks there are: found through Twisted's plugin system.

A sink is one class, ``ISink``, and one ``SinkMaker`` in a module of the package
``bridge.sinks.plugins``.  Another distribution adds a sink by bringing a module there;
the maker only names where the class is, so that unused sinks are not imported.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from attrs import frozen
from twisted.internet.defer import Deferred
from twisted.plugin import IPlugin
from zope.interface import Attribute, Interface, implementer

from ..settings.values import Address


class ISinkMaker(Interface):
    """What makes a sink."""

    name = Attribute("Its name for --sink.")
    rank = Attribute("Where it stands among the others; low is first.")
    is_default = Attribute("Whether it is made when no --sink is given.")

    def make(parts: SinkParts) -> Any:  # noqa: N805
        """Make an ``ISink`` from ``SinkParts``."""


@frozen(eq=False, repr=False)
class SinkParts:
    """
    What a sink may use.

    :ivar overlay: The address of ``--overlay-addr``.
    :ivar application: The name of the host application.
    :ivar desktop: The desktop's notifications, an ``INotifications``.
    :ivar desktop_entry: The application's ``.desktop`` file without its ending, or
        empty.
    :ivar icons: A directory for the icons a sink must keep as files; not made yet.
    :ivar thread: Calls in a thread what blocks, or computes for long.
    """

    reactor: Any
    overlay: Address
    application: str
    desktop: Any
    desktop_entry: str
    icons: Path
    thread: Callable[..., Deferred[Any]]


@implementer(IPlugin, ISinkMaker)
@frozen(eq=False, repr=False)
class SinkMaker:
    """
    A sink that a function makes; see ``ISinkMaker``.

    :ivar maker: The function, as ``package.module.function``; imported when used.
    """

    name: str
    maker: str
    rank: int = 100
    is_default: bool = False

    def make(self, parts: SinkParts) -> Any:
        """See ``ISinkMaker``."""
        module, _, function = self.maker.rpartition(".")
        return getattr(import_module(module), function)(parts)
