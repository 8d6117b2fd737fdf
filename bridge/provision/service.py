"""The systemd user service that runs the daemon of an installation by pipx or venv."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Final

import platformdirs

from ..datadir.ownership import NotOwnError, check_above
from ..datadir.paths import DataDir, make_directories, write_atomically
from ..protocol.text import visible
from ..settings.host import Paths, is_usual
from ..settings.values import Address
from ..system.locks import holder
from .npm import SetupError

UNIT: Final = "plugin-bridge.service"
SOCKET_UNIT: Final = "plugin-bridge.socket"
_SYSTEMCTL: Final = "systemctl"
_SECONDS: Final = 120.0

_MARK: Final = "# Written by plugin-bridge setup --service.\n"
_COMMAND: Final = re.compile("^ExecStart=(.*)$", re.MULTILINE)


def unit_path() -> Path:
    """Return where the unit of this user is."""
    return platformdirs.user_config_path() / "systemd" / "user" / UNIT


def unit_text(command: Sequence[str]) -> str:
    """
    Write the unit: that of the Debian package, with another program.

    :param command: What runs the daemon, as words.
    """
    text = files("bridge.provision").joinpath(UNIT).read_text("utf-8")
    started = f"ExecStart={' '.join(map(_quoted, command))}"
    return _COMMAND.sub(lambda _: started, text)


def _quoted(word: str) -> str:
    """Write a word as systemd reads it."""
    word = word.replace("%", "%%").replace("$", "$$")
    if re.fullmatch(r"[\w@%+=:,./$-]+", word, re.ASCII):
        return word
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{word}"'


def has_systemd() -> bool:
    """Whether there is a program to ask systemd with."""
    return shutil.which(_SYSTEMCTL) is not None


def is_written() -> bool:
    """Whether ``install_service`` has written the unit that is there."""
    try:
        return unit_path().read_text("utf-8").startswith(_MARK)
    except (OSError, ValueError):
        return False


def enabling() -> str:
    """Return how to enable the package's service; "" if this is not the package."""
    packaged = Path(__file__).is_relative_to("/usr/lib")
    return f"systemctl --user enable --now {UNIT}" if packaged else ""


def starting_at_login(place: Paths) -> str:
    """Return how to have the daemon of ``place`` start at each login, or ""."""
    if not has_systemd():
        return ""
    if (enable := enabling()) and not is_hiding():
        # The package's service has no options.
        return enable if is_usual(place) else ""
    return f"plugin-bridge setup --service {place.typed}"


def is_hiding() -> bool:
    """Whether a unit that was written without the package hides the package's."""
    return bool(enabling()) and is_written()


def install_service(data: DataDir, options: Sequence[str]) -> str:
    """
    Write the unit, have it start at each login, and start it now.

    :param options: Of ``run``, that name the host and the directories.
    :return: The command of a unit for another directory, which this replaces, or "".
    :raise SetupError: There is no systemd, the package has a service (a unit that hid
        it is gone), another program has written such a unit, a daemon runs that is
        none of it, others could replace it, or systemd refuses.
    """
    path = unit_path()
    if not has_systemd():
        raise SetupError("--service: there is no systemd here (no systemctl in PATH)")
    if enable := enabling():
        why = "the package has a service already, for the host in config.toml"
        if is_hiding():
            remove_service()
            why = f"{path} hid the package's service, and was removed"
        raise SetupError(f"--service: {why}; run: {enable}")
    if path.exists() and not is_written():
        raise SetupError(f"--service: {path} is not from plugin-bridge; remove it")
    running = holder(data.lock)
    if running is not None and running != _main_pid():
        raise SetupError(f"--service: {data.used_by(running)}")
    try:
        # Without a session's systemd, what is written here could not be removed either.
        _systemctl("show-environment")
    except SetupError as e:
        advice = "log in as this user, not by su or sudo, or run: plugin-bridge run"
        raise SetupError(f"--service: {e}; {advice}") from None
    replaced = _command_line() if is_written() and not _names(data) else ""
    _write(path, options)
    _systemctl("daemon-reload")
    try:
        _systemctl("enable", UNIT)
    except SetupError as e:
        path.unlink(missing_ok=True)
        raise SetupError(
            f"--service: {e}; if XDG_CONFIG_HOME is set in this shell only, run this "
            "without it, for systemd does not look there"
        ) from None
    _start()
    return replaced


def _write(path: Path, options: Sequence[str]) -> None:
    try:
        check_above(path)
        make_directories(path.parent)
        text = _MARK + unit_text([*_program(), "run", *options])
        write_atomically(path, text.encode(), 0o644)
    except NotOwnError as e:
        raise SetupError(f"--service: {e}") from None
    except OSError as e:
        raise SetupError(f"--service: {path} cannot be written: {e.strerror}") from None


def _start() -> None:
    try:
        _systemctl("restart", UNIT)
    except SetupError as e:
        # What the daemon has reported, such as that its port is taken.
        raise SetupError(f"--service: {visible(_shown('StatusText')) or e}") from None


def is_service_of(place: Paths) -> bool:
    """Whether the service runs the daemon of a data directory, or would at a login."""
    if not has_systemd():
        return False
    running = holder(place.data.lock)
    if running is not None:
        return running == _main_pid()
    if is_written():
        return _names(place.data)
    # That of the package has no options; one that runs has another directory's lock.
    usual = is_usual(place) and _main_pid() is None
    return usual and _is_enabled(UNIT, SOCKET_UNIT)


def unit_to_start() -> str:
    """Return the unit that starts the service: the socket's where that is enabled."""
    return SOCKET_UNIT if _is_enabled(SOCKET_UNIT) else UNIT


def is_socket_on(address: Address) -> bool:
    """Whether the socket unit listens on an address, to start the service."""
    about = ""
    with suppress(SetupError):
        about = _systemctl("show", "--property=ActiveState,Listen", SOCKET_UNIT)
    return "ActiveState=active\n" in about and f"Listen={address} " in about


def wake(place: Paths) -> None:
    """Start the daemon of a data directory where a socket unit waits for a page."""
    if holder(place.data.lock) is not None or is_written() or not is_service_of(place):
        return
    with suppress(SetupError):
        _systemctl("is-active", SOCKET_UNIT)
        _systemctl("start", UNIT)


def _names(data: DataDir) -> bool:
    """Whether the unit is for a data directory, however that is spelled here."""
    spelled = {str(data.root), os.path.realpath(data.root)}
    return any(f" {_quoted(word)} " in _command_line() for word in spelled)


def _command_line() -> str:
    found = _COMMAND.search(unit_path().read_text("utf-8"))
    return f"{found[1]} " if found else ""


def remove_service() -> None:
    """
    Stop the service, and start it no more; delete the unit if it was written here.

    :raise SetupError: systemd refuses.
    """
    if not is_written():
        _systemctl("disable", "--now", UNIT, SOCKET_UNIT)
        return
    _systemctl("disable", "--now", UNIT)
    unit_path().unlink(missing_ok=True)
    _systemctl("daemon-reload")


def _program() -> list[str]:
    beside = Path(sys.executable).with_name("plugin-bridge")
    return [str(beside)] if beside.exists() else [sys.executable, "-m", "bridge"]


def _main_pid() -> int | None:
    """Return the process id of the service; ``None`` when it does not run."""
    try:
        text = _shown("MainPID")
    except SetupError:
        return None
    return int(text) if text.isdigit() and text != "0" else None


def _shown(name: str) -> str:
    return _systemctl("show", f"--property={name}", "--value", UNIT).strip()


def _is_enabled(*units: str) -> bool:
    try:
        # It succeeds when one of them is.
        _systemctl("is-enabled", *units)
    except SetupError:
        return False
    return True


def _systemctl(*words: str) -> str:
    """
    Ask this user's systemd; return what it prints.

    :raise SetupError: It refuses, or does not answer.
    """
    what = f"systemctl --user {' '.join(words)}"
    try:
        done = subprocess.run(  # noqa: S603 (words of this module)
            [_SYSTEMCTL, "--user", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except OSError as e:
        raise SetupError(f"{what}: {e.strerror}") from None
    except subprocess.TimeoutExpired:
        raise SetupError(f"{what}: no answer within {_SECONDS:g} s") from None
    if done.returncode:
        first = (done.stderr.strip() or "failed").splitlines()[0].rstrip(".")
        raise SetupError(f"{what}: {visible(first)}")
    return done.stdout
