"""The data for a bug report in one file, without personal data."""

from __future__ import annotations

import contextlib
import io
import os
import platform
import re
import sys
import tarfile
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import BinaryIO, Final

from ... import __version__
from ...classes import frozen
from ...datadir.token import PairingToken, TokenError
from ...plugins.installed.ids import RECORDS
from ...plugins.installed.records import read_record
from ...protocol.limits import KIB
from ...protocol.strictjson import dumps
from ...settings.config import OPTIONS
from ...settings.options import Paths, click_option
from ...store import StoreError, read_state
from ..terminal import private_file
from .checkup import Finding

_LOG_BYTES: Final = 128 * KIB
_USERINFO: Final = re.compile(r"(?<=://)[^/@\s]+@")
_QUERY: Final = re.compile(r"[?#].*")
_PACKAGE: Final = re.compile(r"[A-Za-z0-9._-]+")


@frozen
class Support:
    """
    The files of a support bundle.

    :ivar files: Their contents by name; each has been redacted.
    """

    files: Mapping[str, bytes]

    @classmethod
    def collect(
        cls, place: Paths, findings: Sequence[Finding], environ: Mapping[str, str]
    ) -> Support:
        """
        Collect what a report needs.

        :param findings: What doctor found.
        :param environ: Of which the daemon's variables are taken.
        """
        options = [click_option(option, place.profile.names) for option in OPTIONS]
        names = [name for option in options for name in option.envvar or ()]
        set_ones = [f"{name}={environ[name]}" for name in names if name in environ]
        files = {
            "doctor.json": dumps([finding.fields() for finding in findings]).decode(),
            "versions.txt": "\n".join(_versions()),
            "variables.txt": "\n".join(set_ones),
            **_of_state(place),
            "plugins.log": _tail(place.data.log),
            "daemon.log": _tail(place.data.daemon_log),
        }
        redact = redactor(place, environ)
        return cls(
            {name: _ended(redact(text)).encode() for name, text in files.items()}
        )

    def write(self, path: Path, report: Callable[[str], object]) -> None:
        """
        Write the file, after listing its contents.

        :param path: Made with mode 0600; an existing file is never replaced.
        :raise OSError: It can't be written.
        """
        with private_file(path) as file:
            report(
                "the file contains these parts, without token, settings and home "
                "directory:"
            )
            for name, content in self.files.items():
                report(f"  {name:<14} {len(content)} bytes")
            self._pack(file)
        report(f"wrote {path}; read it before you send it")

    def _pack(self, file: BinaryIO) -> None:
        with tarfile.open(fileobj=file, mode="w:gz") as tar:
            for name, content in self.files.items():
                member = tarfile.TarInfo(f"plugin-bridge/{name}")
                member.size, member.mode = len(content), 0o600
                tar.addfile(member, io.BytesIO(content))


def redactor(place: Paths, environ: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that removes the token, the home directory and passwords."""
    secrets = []
    with contextlib.suppress(FileNotFoundError, TokenError):
        secrets.append((PairingToken.load(place.data.token).reveal(), "[token]"))
    home = environ.get("HOME", "").rstrip("/")
    if home:
        secrets.append((home, "~"))

    def redact(text: str) -> str:
        for secret, instead in secrets:
            text = text.replace(secret, instead)
        return _USERINFO.sub("", text)

    return redact


def _ended(text: str) -> str:
    """End the last line of a text that has one."""
    return text + "\n" if text and not text.endswith("\n") else text


def _versions() -> list[str]:
    lines = [
        f"plugin-bridge {__version__}",
        f"python {sys.version.split()[0]}",
        f"system {platform.platform()}",
    ]
    with contextlib.suppress(PackageNotFoundError):
        for line in requires("plugin-bridge") or ():
            found = _PACKAGE.match(line)
            if found is not None and "extra ==" not in line:
                lines.append(f"{found[0]} {version(found[0])}")
    return lines


def _of_state(place: Paths) -> dict[str, str]:
    try:
        view = read_state(place.data.state)
    except StoreError as e:
        return {"settings.txt": str(e)}
    sizes = [
        f"{ns}: {len(entries)} values, {len(dumps(entries))} bytes"
        for ns in view.namespaces()
        if (entries := view.entries(ns))
    ]
    plugins = []
    for plugin_id, value in sorted(view.entries(RECORDS).items()):
        record = read_record(value)
        url = _QUERY.sub("", record.url)
        plugins.append(f"{plugin_id} {record.commit} {record.key_id} {url}")
    return {"settings.txt": "\n".join(sizes), "plugins.txt": "\n".join(plugins)}


def _tail(path: Path) -> str:
    """Return the last lines of the page's log."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LOG_BYTES))
            return file.read(_LOG_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
