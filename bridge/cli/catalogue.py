"""Which commands there are."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "run": ("run", "run the daemon in the foreground (= twistd -n bridge)"),
    "setup": ("setup", "install what the daemon builds with: to be run once"),
    "demo": ("demo", "show it all: a page, a plugin, a git server, the daemon"),
    "doctor": ("doctor", "say what is wrong here, and what mends it"),
    "keygen": ("authors.keygen", "make a signing key, for plugin authors"),
    "sign": ("authors.sign", "sign a plugin, for plugin authors"),
    "verify": ("authors.verify", "verify a plugin's signature"),
    "fingerprint": ("authors.fingerprint", "print the fingerprint of your signing key"),
    "check": ("authors.check", "check a plugin as the daemon would"),
    "dev": (
        "authors.dev",
        "link a plugin you work on into a daemon started with --dev",
    ),
    "call": ("call", "call a method of a daemon started with --dev"),
    "eval": ("evaluate", "evaluate JavaScript in the page of such a daemon"),
    "logs": ("logs", "show what the page and its plugins have logged"),
    "export": ("exporting", "write the plugin list and the page's settings to a file"),
    "import": ("importing", "install and set what such a file holds"),
    "completion": ("completion", "print the completion script of a shell"),
}
"""The commands: the module below ``commands``, and what it does."""

HOSTLESS: Final = frozenset({"completion", "demo", "fingerprint", "keygen"})
"""Those without ``--host``."""


PROGRAM: Final = "plugin-bridge"


def command_module(name: str) -> ModuleType:
    """
    Import the module of a command; its ``main`` takes the arguments.

    :param name: One of ``COMMANDS``.
    """
    return import_module(f".commands.{COMMANDS[name][0]}", __package__)
