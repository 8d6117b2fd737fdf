"""``plugin-bridge dev``: a plugin in the bundle while its author works on it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import filterfalse
from pathlib import Path
from typing import Any, Final

import click
from attrs import field
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.threads import blockingCallFromThread, deferToThread

from ....classes import define
from ....pagelog.logrecords import read_line
from ....pagelog.pagefile import Follower, LogFileError
from ....plugins.bundle.build import Builder
from ....plugins.esbuild.executable import BundlerError
from ....plugins.policy.rules import Hit
from ....plugins.tree.tree import GIT_FOLDER
from ....protocol.errors import BridgeError
from ....protocol.limits import DEV_FILES, DEV_POLL_SECONDS, TREE_DEPTH
from ....protocol.text import escaped, visible
from ....settings.config import BY_NAME, HOST_OPTIONS
from ....settings.host import Paths
from ....system.reactor import run_once, steady_reactor
from ...authoring.reading import Reading, hit_lines, quoted, read_sources, shown_hit
from ...authoring.worktree import PACKAGES_FOLDER, published, published_tree
from ...command import command, directory_argument, page_port_option
from ...hostpage import Builds, browse, serve_page
from ...session import Session, connect
from ...terminal import CommandError, print_line, reported

IGNORED: Final = frozenset({GIT_FOLDER, PACKAGES_FOLDER})

# What editors keep beside a file while it is open, and write while its author types.
_OF_EDITOR: Final = re.compile(r"(?:.*/)?(?:\.#[^/]*|#[^/]*#)|.*~|.*\.sw[a-z]")
_TIME: Final = "%H:%M:%S"
_LEVEL_WIDTH: Final = len("error")

Snapshot = dict[str, tuple[int, int]]


def snapshot(root: Path) -> Snapshot:
    """
    Note every file below a directory: when it was changed, and its size.

    What can't be read, or is too deep for a plugin, is as if it were not there.
    """
    found = {}
    for folder, folders, files in os.walk(root):
        is_deep = len(Path(folder).relative_to(root).parts) > TREE_DEPTH
        folders[:] = [n for n in folders if n not in IGNORED and not is_deep]
        for name in files:
            path = os.path.join(folder, name)
            with suppress(OSError):
                about = os.lstat(path)
                found[path] = (about.st_mtime_ns, about.st_size)
    return found


@define(eq=False)
class Link:
    """
    The link of one working tree.

    It blocks, so that it has a thread of its own.

    :ivar log: Follows the page's log.
    :ivar read: Has the bundler read the tree.
    :ivar built: Called after each build.
    """

    _root: Path
    _session: Session
    _log: Follower
    _read: Callable[[], Reading]
    _built: Callable[[], object]
    _seen: Snapshot | None = field(default=None, init=False)
    _known: Snapshot | None = field(default=None, init=False)
    _sent: Any = field(default=None, init=False)
    _linked_as: tuple[str, str] | None = field(default=None, init=False)
    _log_fault: str = field(default="", init=False)
    _ended: bool = field(default=False, init=False)

    async def run(self, reactor: Any) -> None:
        """
        Follow the tree, in a thread, until the reactor or the daemon ends.

        :raise CommandError: The daemon has ended.
        """
        print_line(f"watching {self._root}; press Ctrl-C to stop")
        following: Deferred[None] = deferToThread(self.follow)

        def end() -> Deferred[None]:
            # The daemon unlinks the plugin when this ends.
            self._ended = True
            self._session.hang_up()
            return following

        reactor.addSystemEventTrigger("before", "shutdown", end)
        await following

    def follow(self) -> None:
        """
        Look, wait, and look again, until the daemon or the user ends it.

        :raise CommandError: The daemon has ended.
        """
        try:
            with reported("the tree cannot be watched"):
                while not self._ended:
                    self.look()
                    self._session.wait(DEV_POLL_SECONDS)
        except CommandError:
            if not self._ended:
                raise
        finally:
            self._session.close()
            self._log.close()

    def look(self) -> None:
        """
        Show what was logged; link the tree if it has changed, and then has not changed
        since the last look.

        :raise CommandError: The daemon has ended.
        """
        self._show_log()
        found = snapshot(self._root)
        if found == self._seen != self._known:
            self._known = found
            self._link(found)
        self._seen = found

    def _link(self, found: Snapshot) -> None:
        """
        Have the daemon link the tree, and show what it answers; unless all that has
        changed is what git ignores.
        """
        try:
            listed = published(self._root, IGNORED)
            # As many as the daemon needs to say that they are too many.
            names = [*filterfalse(_OF_EDITOR.fullmatch, listed)][:DEV_FILES]
            "".join((*names, str(self._root))).encode()
        except CommandError as e:
            self._show_at(f"not sent: {e}")
            return
        except UnicodeEncodeError:
            self._show_at("not sent: the name of a file is not UTF-8")
            return
        sent = [(name, found.get(os.path.join(self._root, name))) for name in names]
        if sent == self._sent:
            return
        self._sent = sent
        where = str(self._root)
        try:
            result = self._session.call("dev", "link", directory=where, files=names)
            linked = result.get("linked")
            if linked is None:
                self._show_refused(result["message"], result["hits"])
            else:
                self._show_linked(linked)
        except BridgeError as e:
            self._show_refused(f"{e.code}: {e.message}", [])
        except (AttributeError, KeyError, TypeError):
            raise CommandError("the daemon has another version") from None

    def _show_linked(self, linked: Any) -> None:
        plugin_id, version = linked["id"], linked["version"]
        if (plugin_id, version) != self._linked_as:
            self._linked_as = plugin_id, version
            more = "; it replaces the installed plugin" if linked["shadows"] else ""
            self._show_at(f"linked {escaped(f'{plugin_id} {version}')}{more}")
            self._show_lines(self._session.off_lines(plugin_id))
        report = linked["report"]
        # Pages first: one that is opened at this line should not be loaded again.
        self._built()
        self._show_at(f"built in {report['durationMs']} ms")
        self._show_lines(report["errors"])
        self._show_lines(
            self._read().warnings(plugin_id, self._session.place.profile.has_texts)
        )

    def _show_refused(self, message: str, refused: list[Any]) -> None:
        first, *rest = message.split("\n")
        hits = [Hit(**hit) for hit in refused]
        self._show_at(f"refused: {escaped(first)}")
        self._show_lines([*rest, *quoted(self._root, first)])
        for hit in hits:
            for line in hit_lines(shown_hit(self._root, hit)):
                print_line(line)
        if self._linked_as is not None:
            print_line("  the last good build stays in use")

    def _show_log(self) -> None:
        """Show what the plugin has logged since it was linked, or once why not."""
        plugin_id = self._linked_as[0] if self._linked_as else ""
        lines, fault = [], ""
        try:
            lines = [*self._log.more()]
        except (LogFileError, OSError) as e:
            fault = str(e.strerror) if isinstance(e, OSError) else str(e)
        if fault and fault != self._log_fault:
            what = "the plugin's log lines are not shown"
            self._show_at(f"{what}: {self._log.path}: {fault}")
        self._log_fault = fault
        for line in lines if plugin_id else ():
            read = read_line(visible(line.decode("utf-8", "replace")))
            if read is not None and read.scope == plugin_id:
                self._show_at(f"{read.level:<{_LEVEL_WIDTH}} {read.message}")

    def _show_lines(self, lines: list[str]) -> None:
        for line in lines:
            print_line(f"  {escaped(line)}")

    def _show_at(self, line: str) -> None:
        print_line(f"{time.strftime(_TIME)} {line}")


@command(
    "dev",
    "--host reference --open .",
    status="Exit status: 0 ended by Ctrl-C, 1 failed, 2 wrong usage, 3 no daemon with "
    "--dev is running.",
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
    """
    Link the plugin in DIR into the running daemon of the data directory, and rebuild
    the bundle whenever a file changes.

    The daemon must run with --dev. The plugin needs no signature, but the source policy
    applies. An installed plugin with the same id is not changed. With the host
    reference, it also serves a page and reloads it after each build. It shows the log
    lines of the plugin. Ctrl-C removes the link.
    """
    reactor = steady_reactor()
    root = directory.resolve()
    session = connect(place, dev=True)
    builds = Builds()

    read: Any = partial(blockingCallFromThread, reactor, _read, reactor, place, root)
    built = partial(reactor.callFromThread, builds.built)
    log = Follower(log_file or place.data.log)
    link = Link(root, session, log, read, built)
    if not no_page:
        _serve(reactor, place, page_port, builds, opens)
    run_once(reactor, lambda: link.run(reactor))


async def _read(reactor: Any, place: Paths, root: Path) -> Reading:
    """Read a tree, which the daemon has read before; a fault of it was shown."""
    try:
        tree = published_tree(root, IGNORED)
        builder = Builder(place, reactor, maybeDeferred)
        return await read_sources(reactor, builder.executable, tree)
    except (BridgeError, BundlerError, CommandError):
        return Reading()


def _serve(reactor: Any, place: Paths, port: int, builds: Builds, opens: bool) -> None:
    """Serve the page, or report why there is none."""
    try:
        # Its daemon is one with --dev, so the page may evaluate snippets.
        address = serve_page(reactor, place, port, snippets=True, builds=builds)
    except CommandError as e:
        print_line(f"no page: {e}")
        return
    print_line(f"page: {address}")
    if opens:
        browse(reactor, place, address)
