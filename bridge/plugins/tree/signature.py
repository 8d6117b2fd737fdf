"""
``plugin.sig``: who vouches for a tree, and the digest he vouches for.

An author signs the plugin's id and a digest of every file but ``plugin.sig`` itself.
So nothing vouches for ``signedAt``, which is in that file: it orders honest
signatures, and proves nothing.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Annotated, Any, Final

from attrs import fields

from ...classes import frozen
from ...protocol.errors import BridgeError
from ...protocol.limits import SIGNATURE_BYTES, SIGNED_AHEAD_SECONDS
from ...protocol.strictjson import loads_unique
from ...protocol.wire import (
    Range,
    Text,
    camel,
    converter,
    one_of,
    structure,
    unstructure,
)
from ...settings.host import HostProfile
from .jsontext import syntax_refusal, unknown_field
from .tree import SIGNATURE_FILE, Tree, unsigned

SIGNATURE_VERSION: Final = 1

_KEPT: Final = 256
"""How many signatures' results are remembered; each build asks for all of them."""

_Digits64 = Annotated[str, Text(64, like=r"[0-9A-Fa-f]+", least=64)]


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
    signature: Annotated[str, Text(128, like=r"[0-9A-Fa-f]+", least=128)]
    signed_at: Annotated[int, Range(0, 2**63 - 1)] = 0


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
        return structure(converter, value, SignatureFile)
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
