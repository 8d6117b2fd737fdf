"""
The pairing token: 32 random bytes that a page must know to be heard.

The file holds 43 characters of unpadded base64url and a newline, mode 0600.  What
others could read or replace is no secret: such a file is refused, not used.  A running
daemon follows the file; see ``bridge.web.guard``.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Callable
from pathlib import Path

from ..protocol.errors import UserError
from ..system.files import has_owners, is_own, open_regular, sync_directory, write_new

TOKEN_BYTES = 32
_FORM = re.compile(rb"[A-Za-z0-9_-]{43}")


class TokenError(UserError):
    """The token file cannot be used; the message gives the reason and the fix."""


def read_token(path: Path) -> str:
    """
    Read the token.

    :raise FileNotFoundError: There is none.
    :raise TokenError: The file is there but can't be used.
    """
    try:
        with open_regular(path) as file:
            _check(path, os.fstat(file.fileno()))
            value = file.read(256).strip()
    except FileNotFoundError:
        raise
    except OSError:
        why = "cannot be read, is a link, or is not a file"
        raise TokenError(_with_fix(path, why)) from None
    if _FORM.fullmatch(value) is None:
        raise TokenError(_with_fix(path, "does not hold a token"))
    return value.decode("ascii")


def make_token(path: Path, place: Callable[[Path, Path], None] = os.replace) -> str:
    """
    Make a token, instead of whatever was there.

    :param place: Gives a file its name.
    :raise TokenError: The file can't be written.
    """
    value = secrets.token_urlsafe(TOKEN_BYTES)
    # Another process may be making one: a daemon that starts, or a command.
    own = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        write_new(own, [f"{value}\n".encode()])
        place(own, path)
        sync_directory(path.parent)
    except OSError as e:
        raise TokenError(f"{path} cannot be written: {e.strerror}") from None
    finally:
        with contextlib.suppress(OSError):
            own.unlink()
    return value


def read_or_make_token(path: Path) -> str:
    """
    Read the token, or make one when there is none.

    Where two processes find none, the first one's counts for both.

    :raise TokenError: The file is there but can't be used, or can't be written.
    """
    try:
        return read_token(path)
    except FileNotFoundError:
        make_token(path, place=_place_first)
        return read_token(path)


def _place_first(own: Path, path: Path) -> None:
    try:
        os.link(own, path)
    except FileExistsError:
        return
    except OSError:  # no hard links here
        if not path.exists():
            os.replace(own, path)


def _check(path: Path, status: os.stat_result) -> None:
    if not is_own(status):
        raise TokenError(_with_fix(path, "belongs to another user"))
    if has_owners() and status.st_mode & 0o077:
        raise TokenError(_with_fix(path, "can be read by others"))


def _with_fix(path: Path, what: str) -> str:
    """Return why the file can't be used, with the fix."""
    return f"{path} {what}; remove it or run with --rotate-token, then pair again"
