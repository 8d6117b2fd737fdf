"""The operations on plugins, and their steps."""

from __future__ import annotations

from enum import StrEnum

from .errors import WireString


class Operation(StrEnum):
    """What is done, or asked about in a prompt: the ``op`` of progress records."""

    INSTALL = "install"
    UPDATE = "update"
    UNINSTALL = "uninstall"
    TRUST_KEY = "trust_key"
    ROTATE_KEY = "rotate_key"
    FORGET_KEY = "forget_key"
    PREVIEW = "preview"
    PRIVATE_HOST = "reach_host"
    MORE_PERMISSIONS = "grow"
    BUILD = "build"


class Step(WireString):
    """Where an operation is: the ``step`` of progress records."""

    AWAITING_CONFIRMATION = "awaiting_confirmation", "the user is asked on the desktop"
    CLONE = "clone", "the repository is fetched"
    VALIDATE = "validate", "the manifest is read"
    POLICY = "policy", "the sources are scanned"
    SIGNATURE = "signature", "the author's signature is verified"
    COMPARE = "compare", "a preview is compared with what is installed"
    MOVE = "move", "the tree is put in place and recorded"
    BUILD = "build", "the bundle is built with it"
    ROLLBACK = "rollback", "what was done is rolled back"
    REMOVE = "remove", "the tree, its record and its settings are removed"
