"""Every service, by the name callers use.  A new one is a module and a line here."""

from __future__ import annotations

from typing import Final

from .logs import Logs
from .notify import Notify
from .osc import Osc
from .outbound import Outbound
from .plugins import PluginService
from .remote import Remote
from .sql import Sql
from .state import State

SERVICES: Final[dict[str, type]] = {
    "logs": Logs,
    "notify": Notify,
    "osc": Osc,
    "outbound": Outbound,
    "plugins": PluginService,
    "remote": Remote,
    "sql": Sql,
    "state": State,
}

LIGHT: Final = frozenset({("osc", "send"), ("remote", "result")})
"""Methods called at the pace of a controller, which have a budget of their own."""
