"""
The composition root: options in, a daemon out.

``makeService`` is the table of contents: it makes every part, in the order in which
they rest on each other, and hands each what it needs.  Nothing else imports the
reactor, and nothing imports this module but Twisted's plugin and the command.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from attrs import frozen
from twisted.application.service import IService
from twisted.logger import ILogObserver, Logger
from zope.interface import implementer

# Autobahn's UTF-8 validator in C takes 50 ms to load; orjson validates too.
os.environ.setdefault("AUTOBAHN_USE_NVX", "0")

from .config import Config, ConfigError, read_config
from .daemon import Daemon, StartError
from .options import DaemonOptions, refuse_usage
from .token import PairingToken, TokenError


class Options(DaemonOptions):
    """The command line of ``twistd bridge``."""

    synopsis = "[options]"

    def postOptions(self) -> None:
        """Read what was given; the modes that do one thing do it, and exit."""
        self.config = read_config(self.given, os.environ)
        raise NotImplementedError
