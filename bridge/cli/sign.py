"""
``plugin-bridge sign``: writes the ``plugin.sig`` of a plugin's tree.

In a git work tree the committed bytes are signed, not those on disk: they are what
a clone gets, whatever line endings and filters made of the files here.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, Final

from attrs import frozen
from twisted.python import usage

from ..datadir import write_atomically
from ..host import ProfileError, load_profile
from ..options import HostOptions
from ..plugins.digest import SIGNATURE_FILE
from ..plugins.files import shown
from ..plugins.manifest import ENTRY_FILE, MANIFEST_FILE, load_manifest
from ..plugins.signature import key_id, public_key_of, sign_tree
from ..protocol.errors import BridgeError
from ..protocol.limits import TREE_BYTES
from .keygen import CommandError, default_key_file, failed, parse_seed, read_seed

KEY_VARIABLE: Final = "BRIDGE_SIGNING_KEY"

_NAMED_FILES: Final = 3
_LINK: Final = "120000"
_SUBMODULE: Final = "160000"


class SignOptions(HostOptions):
    """The command line of ``plugin-bridge sign``."""

    synopsis = "Usage: plugin-bridge sign [--key FILE] [--host NAME|PATH] DIR"
    longdesc = (
        "Signs the plugin in DIR and writes its plugin.sig. When DIR is a git work "
        "tree, what is committed is signed, and nothing else may be in it."
    )
    optParameters: ClassVar[list[list[str | None]]] = [  # noqa: N815 (Twisted's name)
        [
            "key",
            "k",
            None,
            f"The key file; else {KEY_VARIABLE} holds the key's 64 digits, else the "
            "file that keygen makes is read.",
        ]
    ]

    def parseArgs(  # type: ignore[override] # noqa: N802
        self, directory: str
    ) -> None:
        """Take the plugin's directory."""
        self["directory"] = directory


def main(arguments: list[str]) -> int:
    """Sign a plugin; gives the exit status."""
    options = SignOptions()
    options.parseOptions(arguments)
    return sign(options)


def sign(
    options: SignOptions,
    environ: Mapping[str, str] = os.environ,
    now: Callable[[], float] = time.time,
) -> int:
    """
    Sign a plugin.

    :param now: Seconds since the epoch.
    :return: The exit status: 0, or 1 after a line on standard error.
    :raise usage.UsageError: There is no such host.
    """
    try:
        profile = load_profile(options.value("host", environ))
    except ProfileError as e:
        raise usage.UsageError(f"--host: {e}") from None
    root = Path(options["directory"])
    try:
        key = _key(options["key"], environ)
        manifest = load_manifest(root, profile)
        files = _committed(root) if os.path.lexists(root / ".git") else None
        _check_key_unsigned(key, root, files)
        text = sign_tree(root, manifest.id, profile, key.seed, int(now()), files)
        write_atomically(root / SIGNATURE_FILE, text, 0o644)
    except BridgeError as e:
        return failed("sign", e.message)
    except CommandError as e:
        return failed("sign", str(e))
    except OSError as e:
        return failed("sign", f"{SIGNATURE_FILE} cannot be written: {e.strerror}")
    print(f"signed       {manifest.id} {manifest.version}")
    print(f"fingerprint  {key_id(public_key_of(key.seed))}")
    print(f"wrote        {root / SIGNATURE_FILE}")
    print("Commit it and push. After any other change to the tree, sign again.")
    return 0


@frozen
class _Key:
    """A signing key, and the file it was read from, if any."""

    seed: bytes
    file: Path | None


def _key(chosen: str | None, environ: Mapping[str, str]) -> _Key:
    if not chosen and environ.get(KEY_VARIABLE):
        return _Key(parse_seed(environ[KEY_VARIABLE], KEY_VARIABLE), None)
    file = Path(chosen) if chosen else default_key_file()
    return _Key(read_seed(file), file)


def _check_key_unsigned(
    key: _Key, root: Path, files: Mapping[str, bytes] | None
) -> None:
    if key.file is None or not key.file.resolve().is_relative_to(root.resolve()):
        return
    inside = key.file.resolve().relative_to(root.resolve()).as_posix()
    if files is None or inside in files:
        raise CommandError(
            "the key file is one of the plugin's files; whoever has it can sign as "
            "you: keep it elsewhere"
        )


def _committed(root: Path) -> dict[str, bytes]:
    """
    The files a clone of a work tree gets, without its signature.

    :raise CommandError: Something is not committed, or cannot be in a plugin.
    """
    _check_clean(root)
    names = _tracked(root)
    names.pop(SIGNATURE_FILE, None)
    for needed in (MANIFEST_FILE, ENTRY_FILE):
        if needed not in names:
            raise CommandError(f"{needed} is not committed")
    return _blobs(root, names)


def _tracked(root: Path) -> dict[str, str]:
    """From each tracked path to the name of its blob."""
    names = {}
    for entry in _git(root, "ls-files", "--stage", "-z").split(b"\0")[:-1]:
        about, _, path = entry.partition(b"\t")
        mode, blob, _ = about.decode().split(" ")
        if mode in (_LINK, _SUBMODULE):
            kind = "symbolic link" if mode == _LINK else "submodule"
            raise CommandError(f"{_named(path)} is a {kind}; no plugin may have one")
        names[path.decode("utf-8", "surrogateescape")] = blob
    return names


def _check_clean(root: Path) -> None:
    status = _git(
        root, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"
    )
    # Each entry is two letters, a space, and the path.
    changed = [entry[3:] for entry in status.split(b"\0")[:-1]]
    changed = [path for path in changed if path != SIGNATURE_FILE.encode()]
    if changed:
        names = ", ".join(map(_named, changed[:_NAMED_FILES]))
        more = len(changed) - _NAMED_FILES
        if more > 0:
            names += f" and {more} more"
        raise CommandError(f"not committed: {names}; a clone would not get this tree")


def _blobs(root: Path, names: Mapping[str, str]) -> dict[str, bytes]:
    asked = "".join(f"{blob}\n" for blob in names.values()).encode()
    told = _git(root, "cat-file", "--batch-check", given=asked).splitlines()
    if any(b" blob " not in line for line in told):
        raise CommandError("git has lost the content of a committed file")
    sizes = [int(line.split(b" ")[2]) for line in told]
    if sum(sizes) > TREE_BYTES:
        raise CommandError(f"the committed files are larger than {TREE_BYTES} bytes")
    content = _git(root, "cat-file", "--batch", given=asked)
    files = {}
    at = 0
    for path, size in zip(names, sizes, strict=True):
        at = content.index(b"\n", at) + 1
        files[path] = content[at : at + size]
        at += size + 1
    return files


def _git(root: Path, *arguments: str, given: bytes = b"") -> bytes:
    root = root.resolve()
    own = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environ = own | {
        "GIT_CEILING_DIRECTORIES": str(root.parent),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "LC_ALL": "C",
    }
    command = ["git", "-C", str(root), "-c", "core.fsmonitor=false", *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - no shell; the only word not ours is -C's
            command, input=given, capture_output=True, env=environ, check=False
        )
    except FileNotFoundError:
        raise CommandError("git is needed to sign a git work tree") from None
    if done.returncode:
        said = done.stderr.partition(b"\n")[0]
        raise CommandError(f"git {arguments[0]} failed: {_named(said)}")
    return done.stdout


def _named(text: bytes) -> str:
    return shown(text.decode("utf-8", "replace"))
