"""``plugin-bridge dev``: a plugin in the bundle while its author works on it."""

from __future__ import annotations

import secrets
import webbrowser
from pathlib import Path
from typing import Any

import click
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.threads import blockingCallFromThread

from ....demo.page import Builds
from ....plugins.esbuild.executable import BundlerError
from ....protocol.errors import BridgeError
from ....settings.config import BY_NAME, HOST_OPTIONS
from ....settings.options import Paths
from ....wiring import oneshot
from ...authoring.reading import Reading, read_sources
from ...authoring.worktree import published_tree
from ...command import command, directory_argument, page_port_option
from ...connection import connect
from ...developing import IGNORED, Link
from ...hostpage import HostPage
from ...session import CALL_STATUS
from ...terminal import CommandError, show


@command(
    "dev",
    "Link the plugin in DIR into the running daemon of the data directory, and rebuild "
    "the bundle whenever a file changes. The daemon must run with --dev. The plugin "
    "needs no signature, but the source policy applies. An installed plugin with the "
    "same id is not changed. With the host reference, it also serves a page and "
    "reloads it after each build. It shows the log lines of the plugin. Ctrl-C removes "
    "the link.",
    "--host reference --open .",
    status=CALL_STATUS,
    table=(*HOST_OPTIONS, BY_NAME["log-file"]),
)
@page_port_option(0)
@click.option("--no-page", is_flag=True, help="Serve no page.")
@click.option("--open", "opens", is_flag=True, help="Open the page in your browser.")
@directory_argument
def dev(
    place: Paths,
    directory: Path,
    log_file: Path | None,
    page_port: int,
    no_page: bool,
    opens: bool,
) -> None:
    """Link a plugin until Ctrl-C."""
    from twisted.internet import reactor as twisted_reactor

    reactor: Any = twisted_reactor
    if not directory.is_dir():
        raise CommandError(f"there is no directory {directory}")
    root = directory.resolve()
    connection = connect(place, dev=True)
    builds = Builds(secrets.token_hex(8))
    # Its daemon is one with --dev, so the page may evaluate snippets.
    page = HostPage(reactor, place, snippets=True, builds=builds)

    def read() -> Reading:
        in_reactor: Any = blockingCallFromThread
        found: Reading = in_reactor(reactor, _read, reactor, place, root)
        return found

    def built() -> None:
        reactor.callFromThread(builds.built)

    link = Link(
        root,
        connection,
        log_file or place.data.log,
        show,
        read,
        place.profile.has_texts,
        built,
    )
    if not no_page:
        _serve(page, page_port, opens)
    link.run(reactor)
    page.forget()
    if link.failure:
        raise CommandError(link.failure)


def _read(reactor: Any, place: Paths, root: Path) -> Deferred[Reading]:
    """Read a tree, which the daemon has read before; a fault of it was shown."""

    async def read() -> Reading:
        try:
            tree = published_tree(root, IGNORED)
            builder = oneshot.make_builder(reactor, place, maybeDeferred)
            return await read_sources(reactor, builder.executable, tree)
        except (BridgeError, BundlerError, CommandError):
            return Reading()

    return Deferred.fromCoroutine(read())


def _serve(page: HostPage, port: int, opens: bool) -> None:
    """Serve the page, or report why there is none."""
    try:
        address = page.serve(port)
    except CommandError as e:
        show(f"no page: {e}")
        return
    show(f"page: {address}")
    if opens:
        page.browse(address, webbrowser.open)
