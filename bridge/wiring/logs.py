"""Where the daemon's own log lines go."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from ..daemon.daemon import LogObservers
from ..daemonlog.output import make_output
from ..daemonlog.push import make_log_push
from ..protocol.text import Secrets
from ..rpc.hub import Event, Hub
from ..settings.config import Config


def make_log_observers(
    reactor: Any,
    config: Config,
    twistd: Mapping[str, Any] | None,
    secrets: Secrets,
    hub: Hub,
) -> LogObservers:
    """
    Make what the daemon's own log lines go to.

    :param twistd: The options of twistd, when that has started us.
    :param secrets: What no line may contain.
    """
    output = make_output(sys.stderr, config.log, config.log_format, secrets, os.environ)
    push = make_log_push(
        lambda record: hub.push(Event.LOG, record),
        config.log,
        secrets,
        reactor.callFromThread,
    )
    return LogObservers(output if _is_ours_to_print(twistd) else None, push)


def _is_ours_to_print(twistd: Mapping[str, Any] | None) -> bool:
    """Whether twistd is not configured to log somewhere else."""
    return twistd is None or not (
        twistd.get("logfile")
        or twistd.get("logger")
        or twistd.get("syslog")
        or not twistd.get("nodaemon", True)
    )
