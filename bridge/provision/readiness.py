"""Whether the daemon could build now: what ``setup`` installs is there."""

from __future__ import annotations

import os
from typing import Final

from ..datadir.ownership import NotOwnError
from ..plugins.bundle import prerequisites
from ..plugins.esbuild.pins import VERSION, pin_for
from ..settings.options import Paths

OWN_HOST: Final = "reference"
"""The host whose sources came with plugin-bridge."""


def missing_sources(place: Paths) -> list[str]:
    """Return the needed host sources that the data directory lacks."""
    return prerequisites.missing_files(place.data.root, prerequisites.HOST_FILES)


def setup_command(place: Paths) -> str:
    """Format the command that runs setup with the options it needs."""
    brings_sources = place.profile.name == OWN_HOST or not missing_sources(place)
    sources = "" if brings_sources else "--host-sources ARCHIVE "
    return f"plugin-bridge setup {sources}{place.typed}"


def build_problem(place: Paths) -> str:
    """
    Return why no bundle could be built, and what to run.

    It only looks for files, for it is called whenever a page pairs; the build itself
    verifies them.

    :return: One line; empty when nothing is missing.
    """
    if pin_for() is None:
        return f"cannot build: there is no esbuild {VERSION} for this system"
    if prerequisites.missing_files(place.data.root, prerequisites.BUNDLER_FILES):
        return f"cannot build: no bundler; run: {setup_command(place)}"
    if missing_sources(place):
        return f"cannot build: no host sources; run: {setup_command(place)}"
    if problem := theme_problem(place):
        return f"cannot build: {problem}"
    return ""


def theme_problem(place: Paths) -> str:
    """
    Return why the bundle could not be published, and what to do.

    :return: One line; empty when it could be.
    """
    folder = place.bundle.parent
    # Unlike ``Path.exists``, it raises nothing for what is below a closed directory.
    while not os.path.exists(folder) and folder != folder.parent:
        folder = folder.parent
    if not os.access(folder, os.W_OK | os.X_OK):
        return (
            f"{place.theme_dir} cannot be written; make it writable, or choose another "
            "directory with --theme-dir"
        )
    try:
        prerequisites.check_publishable(place.bundle.parent)
    except NotOwnError as e:
        return str(e)
    return ""
