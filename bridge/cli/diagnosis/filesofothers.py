"""What other users may have written in a data directory."""

from __future__ import annotations

from collections.abc import Iterator

from ...datadir.ownership import NotOwnError, check, check_tree
from ...datadir.paths import DataDir
from ...store.generations import Generations


def files_of_others(data: DataDir) -> Iterator[NotOwnError]:
    """
    Look for what another user may have written, as far down as it is used.

    Not at the token, the settings and the journal, which have checks of their own.

    :return: The first finding of each tree, file or directory.
    """
    previous = Generations(data.state).previous
    files = (data.bin, data.host, data.build, previous, data.lock, data.address)
    try:
        trees = sorted(data.plugins.iterdir())
    except OSError:
        trees = []
    for path in (data.plugins, *files, *trees):
        try:
            check(path) if path == data.plugins else check_tree(path)
        except NotOwnError as e:
            yield e
