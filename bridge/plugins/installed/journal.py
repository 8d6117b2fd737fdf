"""
The journal: what the operation under way does to the trees, for the next start.

It is there from before the first rename until the bundle is built.  While it is,
an install or an update has not happened.  How far it came is not in it: the places of
the trees show that.  See docs/decisions/0085.  Everything here blocks.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ...classes import frozen
from ...datadir.ownership import NotOwnError, check
from ...datadir.paths import write_atomically
from ...protocol.errors import BridgeError
from ...protocol.limits import JOURNAL_BYTES
from ...protocol.strictjson import dumps, loads_unique
from ...protocol.wire import converter, structure, unstructure
from ...system.files import sync_directory
from ..tree.files import read_bounded
from .exchange import Exchange


class JournalError(Exception):
    """The journal can't be used; the message names the reason and the fix."""


@frozen
class Journal:
    """The file that records the one operation under way."""

    _path: Path

    def begin(self, exchange: Exchange) -> None:
        """
        Record what is done next; durable when this returns.

        :raise OSError: It could not be written.
        """
        write_atomically(self._path, dumps(unstructure(exchange)))

    def end(self) -> None:
        """
        Remove the record; durable when this returns.

        :raise OSError: It could not be removed.
        """
        with suppress(FileNotFoundError):
            os.unlink(self._path)
            sync_directory(self._path.parent)

    def exists(self) -> bool:
        """Whether an operation is under way, or was interrupted."""
        return self._path.exists()

    def read(self) -> Exchange | None:
        """
        Return the operation that was under way; ``None`` when none was.

        :raise JournalError: It can't be read, or not by this version, or another user
            may have written it.
        """
        try:
            check(self._path)
            content = read_bounded(self._path, JOURNAL_BYTES)
            return structure(converter, loads_unique(content), Exchange)
        except FileNotFoundError:
            return None
        except NotOwnError as e:
            raise JournalError(str(e)) from None
        except (OSError, BridgeError):
            raise JournalError(
                f"{self._path} is not a journal of this version; look what is in "
                "plugins/, then remove it"
            ) from None

    def tidy(self) -> None:
        """Remove what a crash left while the journal was being written."""
        with suppress(FileNotFoundError):
            os.unlink(self._path.with_name(self._path.name + ".tmp"))
