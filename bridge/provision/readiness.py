"""Whether the daemon could build now: what ``setup`` installs is there."""

from __future__ import annotations

import os
from typing import Final

from ..datadir.ownership import NotOwnError, check_publishable
from ..datadir.paths import missing_files
from ..plugins.esbuild.executable import BUNDLER_FILES, VERSION, pin_for
from ..settings.host import HostProfile, Paths

OWN_HOST: Final = "reference"
"""The host whose sources came with plugin-bridge."""


def missing_sources(place: Paths) -> list[str]:
    """Return the needed host sources that the data directory lacks."""
    return missing_files(place.data.root, place.profile.needed_sources)


def setup_advice(place: Paths, *options: str, new_sources: bool = False) -> str:
    """
    Return how to run setup, and first where to get what it needs.

    :param options: Of setup, besides those that it needs.
    :param new_sources: Whether host sources are needed even though some are in place.
    """
    words = ["run: plugin-bridge setup", place.typed, *options]
    needs_sources = new_sources or missing_sources(place)
    if needs_sources and place.profile.name != OWN_HOST:
        words.insert(1, "--host-sources ARCHIVE")
        words.insert(0, f"{sources_origin(place.profile)}; then")
    return " ".join(words)


def sources_origin(profile: HostProfile) -> str:
    """Return where to get the sources of a host's plugin system."""
    return profile.sources or "get its release archive, or a checkout"


def build_problem(place: Paths) -> str:
    """
    Return why no bundle could be built, and what to run.

    It only looks for files, for it is called whenever a page pairs; the build itself
    verifies them, and runs another build of the pinned esbuild as well.

    :return: One line; empty when nothing is missing.
    """
    if pin_for() is None:
        return f"cannot build: there is no esbuild {VERSION} for this system"
    if missing_files(place.data.root, BUNDLER_FILES):
        return f"cannot build: no bundler; {setup_advice(place)}"
    if missing := missing_sources(place):
        what = f"no host sources ({missing[0]} is missing)"
        return f"cannot build: {what}; {setup_advice(place)}"
    if problem := theme_problem(place):
        return f"cannot build: {problem}"
    return ""


def theme_problem(place: Paths) -> str:
    """
    Return why the bundle could not be published, and what to do.

    :return: One line; empty when it could be.
    """
    folder = place.bundle.parent
    # Unlike ``Path.exists``, it raises nothing for what is below a closed directory; a
    # link that leads nowhere is in the way of a new directory.
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    if not os.access(folder, os.W_OK | os.X_OK):
        return (
            f"{place.theme_dir} cannot be written; make it writable, or choose another "
            "directory with --theme-dir"
        )
    try:
        check_publishable(place.bundle.parent)
    except NotOwnError as e:
        return str(e)
    return ""
