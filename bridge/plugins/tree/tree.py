"""
A plugin's tree in memory: read once, by one bounded walk; and who vouches for it.

What is read here is what is checked, verified and built; nothing looks at the disk
again for it.

In ``plugin.sig`` an author signs the plugin's id and a digest of every file but
``plugin.sig`` itself.  So nothing vouches for ``signedAt``, which is in that file: it
orders honest signatures, and proves nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final

from attrs import field, fields

from ...classes import frozen
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.limits import (
    CLONE_OBJECTS,
    SIGNATURE_BYTES,
    SIGNED_AHEAD_SECONDS,
    TREE_BYTES,
    TREE_FILES,
)
from ...protocol.strictjson import loads_unique
from ...protocol.text import shown
from ...protocol.wire import (
    between,
    camel,
    one_of,
    string,
    structure,
    unstructure,
)
from ...settings.host import HostProfile
from ...system.files import NotRegularError, TooLargeError, read_bounded
from .jsontext import syntax_refusal, unknown_field

SIGNATURE_FILE: Final = "plugin.sig"
"""The file at the root that has no part in the digest, which is in it."""

GIT_FOLDER: Final = ".git"

Verified = tuple["Mapping[str, Tree]", Mapping[str, str]]
"""
What a build is made of.

Each tree is called by its name below ``plugins/``: the id of an installed plugin, or
the directory of a linked tree; there is one for each plugin.  The second are the other
plugins, by id: why each is not built.
"""

Verify = Callable[[], Verified | None]
"""
Verifies what a build is made of, and returns it; ``None`` while another process changes
it.  Blocks.
"""


def _sorted(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    return MappingProxyType(dict(sorted(files.items())))


@frozen(eq=False)
class Tree:
    """
    The files of a plugin.

    :ivar files: The content of each, by its path with ``/``, in the order of the paths'
        UTF-8 bytes; nothing of ``.git/`` at the root.
    :raise BridgeError: ``unsigned``: there are too many files or bytes, or a name that
        other systems would read otherwise.
    """

    files: Mapping[str, bytes] = field(converter=_sorted, repr=False)

    def __attrs_post_init__(self) -> None:
        sizes = [len(c) for p, c in self.files.items() if p != SIGNATURE_FILE]
        if len(sizes) > TREE_FILES:
            raise _too_many()
        if sum(sizes) > TREE_BYTES:
            raise _too_large()
        for path in self.files:
            _check_signable(path)

    def digest(self, tree_domain: str) -> str:
        """
        Return what an author vouches for: the SHA-256 of every path and content.

        The signature file has no part in it; file modes and empty directories are not
        even in a tree.

        :param tree_domain: ``HostProfile.tree_domain``.
        :return: 64 lower-case hexadecimal digits.
        """
        found = hashlib.sha256(f"{tree_domain}\n".encode())
        for path, content in self.files.items():
            if path != SIGNATURE_FILE:
                found.update(path.encode() + b"\0" + len(content).to_bytes(8, "little"))
                found.update(content)
        return found.hexdigest()


def read_tree(root: Path) -> Tree:
    """
    Read every file below ``root``, but those of its ``.git``; blocks.

    No link is followed, and nothing but regular files is opened.

    :raise BridgeError: ``policy``: a link, a submodule, a pipe or a device;
        ``unsigned``: it cannot be read, or as for ``Tree``.
    """
    files: dict[str, bytes] = {}
    # Of what is not the signature there may be less.
    room = TREE_BYTES + SIGNATURE_BYTES
    for path in _paths(root):
        if len(files) > TREE_FILES:
            raise _too_many()
        files[path] = _content(root, path, room)
        room -= len(files[path])
    return Tree(files)


def _paths(root: Path) -> Iterator[str]:
    """Walk over the files below a directory."""
    folders = [""]
    # The list grows while it is walked: by the folders found in a folder.
    for folder in folders:
        for entry in _entries(os.path.join(root, folder), folder):
            path = folder + entry.name
            if entry.is_symlink():
                raise refused(path, "symlink")
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name == GIT_FOLDER and not (is_folder and path == GIT_FOLDER):
                raise refused(folder.rstrip("/") or path, "submodule")
            if not is_folder:
                yield path
            elif len(folders) == CLONE_OBJECTS:
                raise unsigned(f"the tree has more than {CLONE_OBJECTS} directories")
            elif path != GIT_FOLDER:
                folders.append(f"{path}/")


def _content(root: Path, path: str, most: int) -> bytes:
    try:
        return read_bounded(os.path.join(root, path), most)
    except NotRegularError:
        raise refused(path, "not a regular file") from None
    except TooLargeError:
        raise _too_large() from None
    except OSError as e:
        raise unreadable(path, e) from None


def _entries(directory: str, folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            yield from entries
    except OSError as e:
        raise unreadable(folder, e) from None


def _check_signable(path: str) -> None:
    # A backslash would be read as a slash by signers on other systems.
    if "\\" in path:
        raise unsigned(f"{shown(path)} has a backslash in its name")
    try:
        path.encode()
    except UnicodeEncodeError:
        raise unsigned(f"{shown(path)} is not UTF-8 in its name") from None


def refused(path: str, rule: str) -> BridgeError:
    """Return the refusal of what is no regular file: ``policy: <path>:1 <rule>``."""
    return plugin_error(Prefix.POLICY, f"{shown(path)}:1 {rule}")


def _too_many() -> BridgeError:
    return unsigned(f"the tree has more than {TREE_FILES} files")


def _too_large() -> BridgeError:
    return unsigned(f"the tree is larger than {TREE_BYTES} bytes")


def unreadable(path: str, error: OSError) -> BridgeError:
    """Return the refusal of what cannot be read below a tree; empty: the tree."""
    why = error.strerror or "I/O error"
    return unsigned(f"{shown(path) or 'the tree'} cannot be read: {why}")


def unsigned(why: str) -> BridgeError:
    """Return the refusal of a signature, without any of its content."""
    return plugin_error(Prefix.UNSIGNED, why)


EXEMPT = frozenset(
    {
        "eslint.config.js",
        "eslint.config.mjs",
        "eslint.config.cjs",
        "vitest.config.ts",
        "vitest.config.js",
        "vitest.config.mts",
        "scripts/sign-plugin.mjs",
    }
)
"""Paths of tooling that plugins carry and that nothing may load."""


def is_test_name(name: str) -> bool:
    """Whether a base name is a test file's: ``a.test.ts``, ``a.spec.d.ts``."""
    return bool({"test", "spec"}.intersection(name.lower().split(".")[1:-1]))


def is_declaration_name(name: str) -> bool:
    """Whether a base name is that of a file of types, which no bundle can have."""
    return name.lower().endswith((".d.ts", ".d.mts", ".d.cts"))


SIGNATURE_VERSION: Final = 1

_KEPT: Final = 256
"""How many signatures' results are remembered; each build asks for all of them."""

_Digits64 = Annotated[str, string(64, like=r"[0-9A-Fa-f]+", least=64)]


@frozen
class SignatureFile:
    """
    The content of ``plugin.sig``; hexadecimal digits in either case.

    :ivar version: Of this format: 1.
    :ivar algorithm: How ``signature`` was made (RFC 8032).
    :ivar id: The plugin's id, as in ``plugin.json``.
    :ivar public_key: The author's Ed25519 public key.
    :ivar digest: The tree's, SHA-256.
    :ivar signature: The author's, over the id and the digest.
    :ivar signed_at: Whole seconds since the epoch.
    """

    version: int
    algorithm: Annotated[str, one_of(("ed25519",))]
    id: str
    public_key: _Digits64
    digest: _Digits64
    signature: Annotated[str, string(128, like=r"[0-9A-Fa-f]+", least=128)]
    signed_at: Annotated[int, between(0, 2**63 - 1)] = 0


_FIELDS: Final = tuple(camel(a.name) for a in fields(SignatureFile))


@frozen
class Signed:
    """
    Who signed a tree.

    :ivar key_id: The fingerprint of ``public_key``.
    :ivar public_key: 64 lower-case hexadecimal digits.
    :ivar signed_at: Seconds since the epoch, as the signer wrote it; 0 without one.
    :ivar digest: Of the tree, 64 lower-case hexadecimal digits.
    """

    key_id: str
    public_key: str
    signed_at: int
    digest: str


@lru_cache(maxsize=_KEPT)
def key_id(public_key: str) -> str:
    """
    The fingerprint of a public key: eight groups of four hexadecimal digits.

    :param public_key: 64 hexadecimal digits, in either case.
    """
    digits = hashlib.sha256(public_key.lower().encode("ascii")).hexdigest()[:32]
    return "-".join(digits[i : i + 4] for i in range(0, len(digits), 4))


def public_key_of(seed: bytes) -> str:
    """
    The public key of a signing key, as 64 lower-case hexadecimal digits.

    :param seed: The signing key: 32 random bytes.
    """
    from nacl.signing import SigningKey

    return bytes(SigningKey(seed).verify_key).hex()


@lru_cache(maxsize=_KEPT)
def read_signature(content: bytes) -> SignatureFile:
    """
    Read the text of a signature file; nothing is verified yet.

    :raise BridgeError: ``unsigned``, naming the field and the rule.
    """
    if len(content) > SIGNATURE_BYTES:
        raise _unusable(f"it is larger than {SIGNATURE_BYTES} bytes")
    try:
        value = loads_unique(content)
    except BridgeError as e:
        raise unsigned(syntax_refusal(SIGNATURE_FILE, content, e.message)) from None
    _check_format(value, content)
    try:
        return structure(value, SignatureFile)
    except BridgeError as e:
        raise _unusable(e.message) from None


def _check_format(value: Any, content: bytes) -> None:
    """Refuse another version first: what is wrong with its fields is unknown."""
    if type(value) is not dict:
        return
    if value.get("version", 1) != SIGNATURE_VERSION:
        raise _unusable(f"version: must be {SIGNATURE_VERSION}")
    if not value.keys() <= set(_FIELDS):
        raise unsigned(unknown_field(SIGNATURE_FILE, content, value, _FIELDS))


def verify_tree(tree: Tree, plugin_id: str, profile: HostProfile, now: float) -> Signed:
    """
    Verify that a tree is as its author signed it.

    Whether he is trusted is not asked here.

    :param plugin_id: The manifest's.
    :param now: Seconds since the epoch.
    :raise BridgeError: ``unsigned``, saying why.
    """
    content = tree.files.get(SIGNATURE_FILE)
    if content is None:
        raise unsigned(f"there is no {SIGNATURE_FILE} at the root")
    signature = read_signature(content)
    if signature.id != plugin_id:
        raise unsigned(f"{SIGNATURE_FILE} was made for another plugin id")
    digest = tree.digest(profile.tree_domain)
    if signature.digest.lower() != digest:
        raise unsigned(
            "the tree was changed after it was signed, or was signed for another "
            "host; which files were changed, added or removed cannot be known from "
            "the signature"
        )
    public_key = signature.public_key.lower()
    message = _message(profile, plugin_id, digest)
    if not _is_by(public_key, message, signature.signature):
        raise unsigned(f"the signature in {SIGNATURE_FILE} is not by its publicKey")
    if signature.signed_at > now + SIGNED_AHEAD_SECONDS:
        raise unsigned(
            f"signedAt is more than {SIGNED_AHEAD_SECONDS // 60} minutes ahead of "
            "this computer's clock"
        )
    return Signed(key_id(public_key), public_key, signature.signed_at, digest)


def _message(profile: HostProfile, plugin_id: str, digest: str) -> bytes:
    return f"{profile.message_domain}\n{plugin_id}\n{digest}\n".encode()


@lru_cache(maxsize=_KEPT)
def _is_by(public_key: str, message: bytes, signature: str) -> bool:
    from nacl.exceptions import BadSignatureError
    from nacl.signing import VerifyKey

    try:
        VerifyKey(bytes.fromhex(public_key)).verify(message, bytes.fromhex(signature))
    except BadSignatureError:
        return False
    return True


def sign_tree(
    tree: Tree, plugin_id: str, profile: HostProfile, seed: bytes, now: int
) -> bytes:
    """
    Sign a plugin.

    :param seed: The signing key: 32 random bytes.
    :param now: Whole seconds since the epoch.
    :return: The text of ``plugin.sig``.
    """
    from nacl.signing import SigningKey

    digest = tree.digest(profile.tree_domain)
    signature = SigningKey(seed).sign(_message(profile, plugin_id, digest)).signature
    made = SignatureFile(
        version=SIGNATURE_VERSION,
        algorithm="ed25519",
        id=plugin_id,
        public_key=public_key_of(seed),
        digest=digest,
        signature=signature.hex(),
        signed_at=now,
    )
    return json.dumps(unstructure(made), indent=2).encode() + b"\n"


def _unusable(why: str) -> BridgeError:
    return unsigned(f"{SIGNATURE_FILE} is not usable: {why}")
