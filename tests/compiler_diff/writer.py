"""Write names and strings of a program in as many ways as there are."""

import random
from collections.abc import Sequence
from typing import Final, TypeVar
from zlib import crc32

T = TypeVar("T")

_LETTERS: Final = "bcdfghjklmnpqrstvwxyzae"


def mark_for(word: str) -> str:
    """A word of the same length that no program holds otherwise."""
    number = crc32(word.encode())
    code = "".join(_LETTERS[number // 23**place % 23] for place in range(3))
    return f"z{code}q".ljust(len(word), "7")


class Choices:
    """The choices a random program is made of: the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._random = random.Random(seed).random  # noqa: S311 - not for secrets

    def below(self, limit: int) -> int:
        return int(self._random() * limit)

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def rarely(self, one_in: int) -> bool:
        """Choose whether to do something unusual."""
        return self.below(one_in) == one_in - 1


class Writer:
    """
    Writes parts of one program.

    :ivar is_built: Whether words that are members or strings are written as marks.
    :ivar has_elements: Whether the file may hold JSX.
    :ivar is_module: Whether it may import and export.
    """

    def __init__(self, choices: Choices, suffix: str, *, is_built: bool) -> None:
        self.choices = choices
        self.is_built = is_built
        self.suffix = suffix
        self.has_types = "t" in suffix.lstrip(".")[:2]
        self.has_elements = suffix.endswith("x")
        self.is_module = suffix not in (".cjs", ".cts")
        self._number = 0

    def fresh(self) -> str:
        """Return a name that nothing else in the program has."""
        self._number += 1
        return f"n{self._number}"

    def marked(self, word: str) -> str:
        """Return the word, or its mark in the program that is built."""
        return mark_for(word) if self.is_built else word

    def name(self, word: str) -> str:
        """Write a name, or a part of a string, some of its letters as escapes."""
        if not self.choices.rarely(4):
            return word
        return "".join(
            self._escape(letter) if self.choices.rarely(4) else letter
            for letter in word
        )

    def string(self, text: str) -> str:
        """Write a constant string: quotes, escapes, pieces, templates, wrappers."""
        way = self.choices.below(12)
        if way < 6 or not text:
            return self.literal(text)
        at = self.choices.below(len(text))
        if way in (6, 7):
            return f"({self.string(text[:at])}+{self.string(text[at:])})"
        if way == 8:
            return "`" + self.name(text[:at]) + "${" + self.literal(text[at:]) + "}`"
        if way == 9 and self.has_types:
            wrapped = self.choices.pick(("as const", "as any", "satisfies string"))
            return f"({self.literal(text)} {wrapped})"
        return f"(0,{self.literal(text)})"

    def literal(self, text: str) -> str:
        quote = self.choices.pick(('"', "'", "`"))
        return quote + self.name(text) + quote

    def plain(self, text: str) -> str:
        """Write a string where only quotes may fixture, such as a specifier."""
        quote = self.choices.pick(('"', "'"))
        return quote + self.name(text) + quote

    def entities(self, text: str) -> str:
        """Write a text of JSX, some of its letters as entities."""
        return "".join(
            f"&#{ord(letter)};" if letter in "<>{}&" else letter for letter in text
        )

    def _escape(self, letter: str) -> str:
        if self.choices.rarely(2):
            return f"\\u{{{ord(letter):x}}}"
        return f"\\u{ord(letter):04x}"
