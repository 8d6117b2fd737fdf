"""The services that the reference describes, by name."""

from __future__ import annotations

from typing import Final

from bridge.services.logs import Logs
from bridge.services.notify import Notify
from bridge.services.osc import Osc
from bridge.services.outbound import Outbound
from bridge.services.plugins import PluginService
from bridge.services.remote import SnippetEvaluator
from bridge.services.sql import Sql
from bridge.services.state import State

SERVICES: Final[dict[str, type]] = {
    "logs": Logs,
    "notify": Notify,
    "osc": Osc,
    "outbound": Outbound,
    "plugins": PluginService,
    "remote": SnippetEvaluator,
    "sql": Sql,
    "state": State,
}
