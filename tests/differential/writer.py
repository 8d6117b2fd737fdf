"""Write names, strings and blanks of a program in as many ways as there are."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Final, TypeVar
from zlib import crc32

T = TypeVar("T")

GAP: Final = "\N{MIDDLE DOT}"
"""In a template: blanks, comments and line ends may stand here."""

SAME_LINE: Final = "\N{SECTION SIGN}"
"""In a template: blanks and comments may stand here, but no line may end."""

_SHORT: Final = ("", " ", "\t", "/**/", "/* eval('\" */", "\u00a0", "\v")
_LONG: Final = (
    *_SHORT,
    *("\n", "\r\n", "// it's ` <script\n", "/*\n*/", "\u2028", "\r", "\n\n  "),
)
_GAPS: Final = re.compile(f"([{GAP}{SAME_LINE}])")
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
        """Choose a number."""
        return int(self._random() * limit)

    def pick(self, options: Sequence[T]) -> T:
        """Choose an option."""
        return options[self.below(len(options))]

    def rarely(self, one_in: int) -> bool:
        """Choose whether to do something unusual."""
        return self.below(one_in) == one_in - 1


class Writer:
    """
    Writes parts of one program.

    :ivar is_built: Whether words that are members or strings are written as marks.
    :ivar has_types: Whether the file is TypeScript.
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
        """Write an identifier, some of its letters as escapes."""
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
        if way in (6, 7):
            at = self.choices.below(len(text))
            return f"({self.string(text[:at])}{GAP}+{GAP}{self.string(text[at:])})"
        if way == 8:
            at = self.choices.below(len(text))
            inner = self.literal(text[at:])
            return (
                "`" + self._letters(text[:at], "`") + "${" + f"{GAP}{inner}{GAP}" + "}`"
            )
        if way == 9 and self.has_types:
            wrapped = self.choices.pick(("as const", "as any", "satisfies string"))
            return f"({self.literal(text)} {wrapped})"
        if way == 10:
            return f"(0,{GAP}{self.literal(text)})"
        return f"({GAP}{self.literal(text)}{GAP})"

    def literal(self, text: str) -> str:
        """Write one literal."""
        quote = self.choices.pick(('"', "'", "`"))
        return quote + self._letters(text, quote) + quote

    def plain(self, text: str) -> str:
        """Write a string where only quotes may stand, such as a specifier."""
        quote = self.choices.pick(('"', "'"))
        return quote + self._letters(text, quote) + quote

    def entities(self, text: str) -> str:
        """Write a text of JSX, some of its letters as entities."""
        return "".join(self._entity(letter) for letter in text)

    def fill(self, template: str) -> str:
        """Put blanks and comments into the gaps of a template."""
        code = ""
        for part in _GAPS.split(template):
            if part == GAP:
                code += self._blank(_LONG, code)
            elif part == SAME_LINE:
                code += self._blank(_SHORT, code)
            elif part:
                # Two words need something in between.
                code += " " * (_ends_word(code) and _begins_word(part)) + part
        return code

    def _blank(self, blanks: tuple[str, ...], before: str) -> str:
        blank = self.choices.pick(blanks) if self.choices.rarely(4) else ""
        # A slash and a comment make a comment of another kind.
        return " " + blank if before.endswith("/") and blank else blank

    def _letters(self, text: str, quote: str) -> str:
        if not self.choices.rarely(3):
            return text
        return "".join(self._letter(letter, quote) for letter in text)

    def _letter(self, letter: str, quote: str) -> str:
        way = self.choices.below(16)
        if way == 13:
            return self._escape(letter)
        if way == 14:
            return f"\\x{ord(letter):02x}"
        if way == 15:
            return "\\\n" + letter
        return letter

    def _escape(self, letter: str) -> str:
        if self.choices.rarely(2):
            zeros = self.choices.pick((0, 1, 3, 6, 40))
            code = f"{ord(letter):x}" if self.choices.rarely(2) else f"{ord(letter):X}"
            return "\\u{" + "0" * zeros + code + "}"
        return f"\\u{ord(letter):04x}"

    def _entity(self, letter: str) -> str:
        if letter not in "<>{}&" and not self.choices.rarely(6):
            return letter
        zeros = "0" * self.choices.pick((0, 1, 7))
        forms = [f"&#x{ord(letter):x};", f"&#{zeros}{ord(letter)};"]
        named = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
        return self.choices.pick([*forms, named.get(letter, forms[0])])


def _ends_word(code: str) -> bool:
    return code[-1:].isalnum() or code[-1:] in ("_", "$")


def _begins_word(code: str) -> bool:
    return code[:1].isalnum() or code[:1] in ("_", "$", "\\", "#")
