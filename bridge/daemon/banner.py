"""The banner: what the daemon logs when it starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from .. import __version__
from ..approval.approvers import Approver
from ..rpc import Registry
from ..settings.config import Config
from ..settings.options import Paths
from ..sinks.fanout import Fanout

_WIDTH: Final = 16
_COMMAND: Final = 30


Line = tuple[str, str]
"""A level, and what is logged."""


def banner(
    config: Config,
    paths: Paths,
    registry: Registry,
    fanout: Fanout,
    approver: Approver,
    log_file: str,
    notices: Sequence[str] = (),
) -> Iterator[Line]:
    """
    Yield the facts an operator needs; none contains the token.

    :param approver: Confirms privileged operations.
    :param log_file: Where the page's log lines go, or ``disabled``.
    :param notices: Notices from the start that the operator should see.
    """
    yield "info", f"plugin-bridge {__version__}, host {config.host}"
    services = registry.describe()
    for name, described in services.items():
        yield "debug", f"service {name}: {described['summary']}"
    for sink in fanout.targets():
        yield "debug", f"sink {sink.name}: [{sink.health()}] {sink.description}"
    confirmed = approver.description
    added = ", ".join(config.allow_origin)
    origins = f"and {added}" if added else "only"
    sinks = ", ".join(f"{sink.name} [{sink.health()}]" for sink in fanout.targets())
    none = "none: no notification sink has started"
    dev = "ON; accepts calls over HTTP, and approves EVERY operation unasked"
    rate = f"{config.rate:g} requests per second, burst {config.burst}"
    for warns, name, text in (
        (False, "data", f"{paths.data.root}"),
        (False, "themes", f"{paths.theme_dir}"),
        (False, "token file", f"{paths.data.token}; --print-token prints it"),
        (False, "services", ", ".join(services)),
        (not sinks, "sinks", sinks or none),
        (confirmed.startswith("none"), "confirmation", confirmed),
        (False, "page's log", log_file),
        (config.dev, "developer mode", dev if config.dev else "off"),
        (bool(added), "origins", f"loopback {origins}"),
        (False, "rate", f"{rate}; {config.threads} threads"),
    ):
        yield "warn" if warns else "info", f"{name:<{_WIDTH}}{text}"
    for notice in notices:
        yield "warn", notice
    yield from _next(config, paths)


def _next(config: Config, paths: Paths) -> Iterator[Line]:
    """Yield what to do next."""
    place = paths.typed
    page = "open" if config.host == "reference" else "run --print-token"
    what = "show the page" if page == "open" else "pair the page with the token"
    for command, about in (
        (f"{page} {place}", what),
        (f"install {place} URL", "install a plugin"),
        (f"doctor {place}", "find problems"),
    ):
        yield "info", f"next: plugin-bridge {command:<{_COMMAND}}  {about}"
