"""
A demonstration on one machine: page, daemon, plugin and git server, all temporary.

The daemon is a process of its own, started as a user starts it; the rest is served by
the demo's.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from twisted.internet.defer import Deferred

from ..classes import frozen
from ..datadir.paths import DataDir
from ..plugins.tree.signature import sign_tree
from ..plugins.tree.tree import read_tree
from ..provision.setup import Setup
from ..settings.host import HostProfile
from .child import DaemonProcess, daemon_command, spawn_daemon
from .forge import Forge, make_authority, publish, start_forge
from .page import page_site

NAME = "hello-bridge"


@frozen
class DemoPaths:
    """The paths of the demo, all below one temporary directory."""

    root: Path
    profile: HostProfile

    @property
    def data(self) -> DataDir:
        """The daemon's data directory."""
        return DataDir(self.root / "data")

    @property
    def theme_dir(self) -> Path:
        """Where the bundle is published."""
        return self.profile.theme_dir(self.data.root)

    @property
    def ca_file(self) -> Path:
        """The throw-away authority that the git server's certificate is from."""
        return self.root / "ca.pem"

    @property
    def repositories(self) -> Path:
        """The git server's repositories."""
        return self.root / "git"


def publish_plugin(place: DemoPaths, random: Callable[[int], bytes], now: int) -> None:
    """Sign the sample plugin with a throw-away key and put it into a repository."""
    tree = place.root / "plugin"
    with as_file(files("bridge").joinpath("reference", "sample-plugin")) as sample:
        shutil.copytree(sample, tree)
    signature = sign_tree(read_tree(tree), NAME, place.profile, random(32), now)
    (tree / "plugin.sig").write_bytes(signature)
    place.repositories.mkdir()
    publish(tree, place.repositories, NAME)


def command(place: DemoPaths, *options: str) -> list[str]:
    """Return the command line of the daemon."""
    theme = f"--theme-dir={place.theme_dir}"
    return daemon_command(place.profile.name, place.data.root, theme, *options)


def run_daemon(reactor: Any, place: DemoPaths, *options: str) -> DaemonProcess:
    """Start the daemon; its log goes to a file."""
    line = command(place, *options)
    return spawn_daemon(reactor, line, place.root / "daemon.log")


@frozen
class Started:
    """
    The addresses and names to show to the user.

    :ivar page: The address to open.
    :ivar token: The pairing token.
    :ivar plugin: The sample plugin's repository.
    :ivar data: The daemon's data directory.
    :ivar ended: Fires when the daemon has ended.
    """

    page: str
    token: str
    plugin: str
    data: Path
    ended: Deferred[None]


async def start(
    reactor: Any,
    place: DemoPaths,
    report: Callable[[str], None],
    random: Callable[[int], bytes],
    now: int,
) -> Started:
    """
    Start everything; the reactor's shutdown ends it again.

    :param report: Accepts a line of progress.
    :raise ChildError: The daemon can't be started.
    :raise ForgeError: What the git server needs is missing.
    """
    # First, as it is what a machine may lack.
    authority = make_authority(place.ca_file)
    place.data.create()
    Setup(place.profile, place.data, report).install()
    report("publishing a signed sample plugin on a git server with its own certificate")
    publish_plugin(place, random, now)
    forge: Forge = start_forge(reactor, place.repositories, authority, place.ca_file)
    report("building the page's bundle, without plugins")
    building = run_daemon(reactor, place, "--build-plugins")
    building.listening.addErrback(lambda _: None)
    await building.ended
    report("starting the daemon in developer mode, which installs without asking")
    daemon = run_daemon(
        reactor, place, "--dev", "--listen=127.0.0.1:0", f"--ca-file={place.ca_file}"
    )
    endpoint = await daemon.listening
    profile = place.profile
    theme = place.theme_dir / profile.theme_name
    # As the daemon is one with --dev, the page may evaluate its snippets.
    site = page_site(theme, profile.bundle_name, snippets=True)
    page = reactor.listenTCP(0, site, interface="127.0.0.1").getHost().port
    return Started(
        f"http://127.0.0.1:{page}/#endpoint={quote(endpoint, safe='')}",
        place.data.token.read_text("ascii").strip(),
        forge.url(NAME),
        place.data.root,
        daemon.ended,
    )
