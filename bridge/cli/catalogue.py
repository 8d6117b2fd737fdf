"""Which commands there are."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "run": ("run", "run the daemon in the foreground, like twistd -n bridge"),
    "config": ("settings", "print every option's value, and where it comes from"),
    "setup": ("setup", "install the bundler and the host's sources; run it once"),
    "open": ("opening", "show the page of the host reference, connected"),
    "remove": ("removing", "remove service, bundle and data directory again"),
    "demo": ("demo", "try everything: a daemon, a page, a plugin, a git server"),
    "status": ("manage.status", "show the daemon, plugins, updates and problems"),
    "list": ("manage.listing", "list the installed plugins"),
    "install": ("manage.install", "install a plugin from its repository"),
    "update": ("manage.update", "update plugins, or list what is new"),
    "uninstall": ("manage.uninstall", "remove a plugin and its settings"),
    "enable": ("manage.enable", "switch a plugin on"),
    "disable": ("manage.disable", "switch a plugin off, without removing it"),
    "cancel": ("manage.cancel", "list plugin operations under way, and cancel one"),
    "keys": ("manage.keys", "list the authors' keys that were accepted"),
    "forget-key": ("manage.forget_key", "stop trusting an author's key"),
    "doctor": ("doctor", "find problems, and show how to fix them"),
    "new": ("authors.new", "create a plugin to begin with, for plugin authors"),
    "keygen": ("authors.keygen", "create a signing key, for plugin authors"),
    "sign": ("authors.sign", "sign a plugin, for plugin authors"),
    "release": ("authors.release", "check, sign, commit and tag a version of a plugin"),
    "verify": ("authors.verify", "verify a plugin's signature"),
    "fingerprint": ("authors.fingerprint", "print the fingerprint of your signing key"),
    "check": ("authors.check", "check a plugin as the daemon would"),
    "dev": (
        "authors.dev",
        "link a plugin in development into a daemon with --dev",
    ),
    "call": ("call", "call a method of a daemon with --dev"),
    "eval": ("evaluate", "evaluate JavaScript in the page of a daemon with --dev"),
    "logs": ("logs", "show the log of the page and its plugins"),
    "export": ("exporting", "write the plugin list and the page's settings to a file"),
    "import": ("importing", "install the plugins and settings of such a file"),
    "completion": ("completion", "print the completion script for a shell"),
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
