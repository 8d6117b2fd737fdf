"""The options of each command, as a completion script names them."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve
from twisted.python import usage

from ...classes import frozen
from ...settings.host import host_commands, load_profile
from ..catalogue import COMMANDS, command_module
from .values import Values, values_of


@frozen
class Word:
    """
    One option of a command.

    :ivar name: With its dashes.
    :ivar takes_value: Whether a value follows.
    :ivar about: One line.
    """

    name: str
    takes_value: bool
    about: str

    @property
    def values(self) -> Values:
        """What its value can be."""
        return values_of(self.name.removeprefix("--"))


def options_class(name: str) -> type[usage.Options]:
    """Find the class that reads the command line of a sub-command."""
    if name == "run":
        from ...tap import Options

        return Options
    module = command_module(name)
    [found] = (
        kind
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, usage.Options)
        and kind.__module__ == module.__name__
    )
    return found


def words_of(name: str) -> list[Word]:
    """List the options of a sub-command."""
    options = options_class(name)()
    return [
        Word(f"--{text.rstrip('=')}", text.endswith("="), _about(options.docs, text))
        for text in sorted(options.longOpt)
    ]


def words_of_command(command_name: str) -> list[Word]:
    """List the options of a host's own command: those of ``run``, and its flags."""
    words = words_of("run")
    flags = load_profile(host_commands()[command_name]).names.flags
    own = {word.name: word for word in words}
    added = [evolve(own[f"--{to}"], name=f"--{flag}") for flag, to in flags.items()]
    return [*words, *added]


def _about(docs: Mapping[str, str | None], text: str) -> str:
    return " ".join((docs.get(text.rstrip("=")) or "").split())


def all_words() -> list[Word]:
    """List the options of all commands, each once."""
    lists = [words_of(name) for name in COMMANDS]
    lists += [words_of_command(name) for name in host_commands()]
    return list({word.name: word for words in lists for word in words}.values())


def quoted(text: str) -> str:
    """Quote a text for zsh or fish."""
    return "'" + text.replace("'", "'\\''") + "'"
