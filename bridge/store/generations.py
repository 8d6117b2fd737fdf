"""
A file that is replaced whole, and the generation before it.

::

    state.json.tmp      the new generation, until it is durable
    state.json          the current one
    state.json.bak      the previous one

``state.json`` is whole at every instant, so that whatever looks at it, such as a
backup, finds one generation or the other; ``state.json.bak`` is for damage to it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Final

from ..classes import frozen
from ..datadir.ownership import NotOwnError, check
from ..protocol.errors import BridgeError, UserError
from ..protocol.strictjson import loads_unique
from ..system.files import NotRegularError, open_regular, sync_directory, write_new
from .tables import Tables

_NO_HARD_LINKS: Final = frozenset(
    {errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK}
)


class StoreError(UserError):
    """The state file cannot be used, and must not be overwritten."""


class RepairableError(StoreError):
    """It is damaged; a start of the daemon sets it aside."""


class DamagedError(Exception):
    """What was read is not what was ever written whole."""


class NotDurableError(OSError):
    """The new generation is the current one, unless the power fails now."""


@frozen(eq=False, repr=False)
class Generations:
    """
    One file and its previous generation.  Everything here blocks.

    :ivar path: The current generation.
    """

    path: Path

    @cached_property
    def previous(self) -> Path:
        """The previous generation."""
        return self._sibling(".bak")

    @cached_property
    def _temporary(self) -> Path:
        return self._sibling(".tmp")

    @cached_property
    def _spare(self) -> Path:
        return self._sibling(".bak.tmp")

    def _sibling(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)

    def load(self) -> tuple[Tables, str | None]:
        """
        Read the current generation, or else the previous one; only who writes may.

        A file that is damaged is kept aside under a name of its own, and files of an
        interrupted ``replace`` are removed.

        :return: What was read; and what the operator should know, ``None`` when all is
            well.
        :raise StoreError: A file can't be read now, or has a shape this version does
            not know, or nothing can be set aside or removed in its directory.
        """
        damaged = []
        with _explained(self.path):
            for stray in (self._temporary, self._spare):
                stray.unlink(missing_ok=True)
            for path in (self.path, self.previous):
                try:
                    found = _tables(self.path, read_file(path))
                except FileNotFoundError:
                    continue
                except (NotRegularError, DamagedError):
                    damaged.append(path)
                else:
                    self._separate()
                    return found, self._notice(damaged, path)
            return Tables(), self._notice(damaged, None)

    def _separate(self) -> None:
        """
        Give both generations a file of their own.

        A kill between the two renames of ``replace`` leaves one with both names, and
        what damages it would damage both.
        """
        with contextlib.suppress(OSError):
            if os.path.samefile(self.path, self.previous):
                write_new(self._spare, [read_file(self.path)])
                os.replace(self._spare, self.previous)

    def _notice(self, damaged: list[Path], source: Path | None) -> str | None:
        if source == self.path or not (source or damaged):
            return None
        notices = [
            f"{path.name} could not be read and is kept as {self._set_aside(path)}"
            for path in damaged
        ]
        if not notices:
            notices = [f"{self.path.name} is missing"]
        sync_directory(self.path.parent)
        if source is None:
            return "; ".join([*notices, "starting with an empty one"])
        return "; ".join(
            [*notices, f"{source.name}, the generation before it, is used"]
        )

    def _set_aside(self, path: Path) -> str:
        number = 1
        while os.path.lexists(self._sibling(f".corrupt-{number}")):
            number += 1
        aside = self._sibling(f".corrupt-{number}")
        os.rename(path, aside)
        return aside.name

    def replace(self, pieces: Iterable[bytes]) -> None:
        """
        Make a new generation, durable when this returns.

        :raise NotDurableError: It is the current one, and not durable.
        :raise OSError: It could not be made, and the current one is as it was.
        """
        try:
            write_new(self._temporary, pieces)
            self._keep()
            self._rename()
        except BaseException:
            for stray in (self._temporary, self._spare):
                with contextlib.suppress(OSError):
                    os.unlink(stray)
            raise
        try:
            sync_directory(self.path.parent)
        except OSError as e:
            raise NotDurableError(e.errno, e.strerror) from e

    def _rename(self) -> None:
        try:
            os.replace(self._temporary, self.path)
        except OSError as e:
            # A disk may have done what it reports as failed.
            if os.path.lexists(self._temporary):
                raise
            raise NotDurableError(e.errno, e.strerror) from e

    def _keep(self) -> None:
        """Make the current generation, which stays in its place, the previous one."""
        self._spare.unlink(missing_ok=True)
        try:
            os.link(self.path, self._spare)
        except FileNotFoundError:
            return
        except OSError as e:
            if e.errno not in _NO_HARD_LINKS:
                raise
            write_new(self._spare, [read_file(self.path)])
        os.replace(self._spare, self.previous)
        # Replacing does nothing when both were names of one file already.
        self._spare.unlink(missing_ok=True)


def read_file(path: Path) -> bytes:
    """
    Read one generation, of which there may be a link.

    :raise OSError: It can't be read, or is not a regular file.
    """
    with open_regular(os.path.realpath(path)) as file:
        return file.read()


def read_state(path: Path) -> Tables:
    """
    Read the state file as another process has left it, which may be running.

    Nothing is touched.  Where the file is missing, it is the generation before it.

    :raise StoreError: It can't be read, or another user may have written it; starting
        the daemon repairs what it can.
    """
    with _explained(path):
        generations = (path, Generations(path).previous)
        for generation in generations:
            check(generation)
        for generation in generations:
            with contextlib.suppress(FileNotFoundError):
                return _tables(path, read_file(generation))
        return Tables()


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say why a state file can't be used, as ``StoreError``."""
    try:
        yield
    except NotOwnError as e:
        raise StoreError(str(e)) from None
    except NotRegularError as e:
        raise RepairableError(f"{path} cannot be read: {e.strerror}") from None
    except OSError as e:
        fix = "try again, or move it away to go on with its .bak"
        if isinstance(e, PermissionError):
            fix = f"make it yours, run: sudo chown -R $USER {quote(str(path.parent))}"
        raise StoreError(f"{path} cannot be read: {e.strerror}; {fix}") from None
    except DamagedError:
        why = f"{path} is damaged; starting the daemon repairs it"
        raise RepairableError(why) from None


def _tables(path: Path, content: bytes) -> Tables:
    try:
        parsed = loads_unique(content)
    except BridgeError:
        raise DamagedError from None
    if type(parsed) is not dict or any(type(v) is not dict for v in parsed.values()):
        raise StoreError(
            f"{path}: not an object of objects; start the version that wrote it, if a "
            "newer one did, or move it away, and its .bak too if this is reported again"
        )
    return Tables.load(parsed)
