"""The services and the events that the reference describes, by name."""

from __future__ import annotations

from typing import Final

from bridge.daemonlog.push import Line
from bridge.osc.packets import Message
from bridge.plugins.bundle.build import Report
from bridge.plugins.operations.job import Progress
from bridge.protocol.frames import ErrorFields
from bridge.rpc.hub import Event
from bridge.services.logs import Logs
from bridge.services.notify import Notify
from bridge.services.osc import Osc
from bridge.services.outbound import Outbound
from bridge.services.pluginmessages import PluginSet
from bridge.services.plugins import PluginService
from bridge.services.remote import Question, SnippetEvaluator
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

EVENTS: Final[dict[Event, type]] = {
    Event.LOG: Line,
    Event.ERROR: ErrorFields,
    Event.PROGRESS: Progress,
    Event.PLUGINS: PluginSet,
    Event.BUILD: Report,
    Event.REMOTE: Question,
    Event.OSC: Message,
}
"""The data of each event."""

DEV_ONLY: Final = frozenset({"remote"})
"""What is there only with ``--dev``: a service, and an event."""
