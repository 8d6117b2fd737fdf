"""
The bundler's output as tokens, and whether its regular expressions compile.

The output is JavaScript in one spelling: ASCII, a semicolon after every statement, no
template literals, blanks around binary operators, and no line break before one.  So a
slash after a value, on the same line, divides; any other begins a regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

from ....concurrency.threads import Check

# Texts and comments can be as long as a source, and the rest of a pattern lets no other
# thread run: only their beginnings are matched, see `_end`.
_BODY = (
    r"(?P<comment>/\*|//)"
    r"|(?P<name>#?(?:[A-Za-z_$]|\\u\{?[0-9A-Fa-f]+\}?)(?:[\w$]++|\\u\{?[0-9A-Fa-f]+\}?)*)"
    r"|(?P<string>[\"'])"
    # A dot after a fraction or a large integer begins a member: `1.5.constructor`.
    r"|(?P<number>(?:0[xXoObB][0-9A-Fa-f_]++|(?:\d[\d_]*+(?:\.[\d_]*+)?+|\.\d[\d_]*+)"
    r"(?:[eE][+-]?\d++)?+)n?)"
)
_PUNCTUATION = (
    r"(?P<mark>>>>=|\.\.\.|===|!==|\*\*=|<<=|>>=|>>>|&&=|\|\|=|\?\?=|=>|==|!=|<=|>="
    r"|&&|\|\||\?\?|\+\+|--|\+=|-=|\*=|/=|%=|&=|\|=|\^=|<<|>>|\*\*|\?\.(?!\d)"
    r"|[-+*/%&|^!~?:=<>.,;(){}\[\]@])"
)
_BLANKS: Final = " \t\r\n"
_TOKEN: Final = re.compile(f"[{_BLANKS}]*(?:{_BODY}|{_PUNCTUATION})")
_REGEX: Final = re.compile(
    r"/(?![*/])(?:[^/\\\[\n]|\\[^\n]|\[(?:[^\]\\\n]|\\[^\n])*+\])++/[A-Za-z]*+"
)

_AWAIT: Final = frozenset({"await"})
_HEADS: Final = frozenset({"if", "while", "for", "with"})
_OPERATORS: Final = frozenset(
    {
        *("return", "typeof", "case", "do", "else", "in", "instanceof", "new", "void"),
        *("delete", "throw", "yield", "await", "extends", "default", "const", "let"),
        *("var", "import", "export"),
    }
)
"""Words after which a value begins."""

_DECLARING: Final = frozenset({"switch", "catch", "function"})
_GROUPED: Final = frozenset({")", "||", "??", ":"})
"""What follows a value inside brackets that may have it as their own value."""

_PARTNERS: Final = {")": "(", "]": "[", "}": "{"}
_BRACKETS: Final = frozenset("()[]{}")

_AROUND: Final = 8
"""How far from a token another one is looked at."""

_CHECKED: Final = 256
"""After so many tokens it is checked whether the work is to end."""

_NESTING: Final = 256
"""How deep brackets may nest: far more than in any program that a person wrote."""


def _end_of_text(text: str, start: int) -> int:
    """
    Return where a string or a comment ends.

    :raise UnreadableError: It has no end.
    """
    if text[start] != "/":
        return _end_of_string(text, start)
    end = "*/" if text[start + 1] == "*" else "\n"
    at = text.find(end, start + 2)
    if at < 0:
        raise UnreadableError
    return at + len(end)


def _end_of_string(text: str, start: int) -> int:
    at = start
    while True:
        at = text.find(text[start], at + 1)
        if at < 0:
            raise UnreadableError
        before = at
        while text[before - 1] == "\\":
            before -= 1
        # An even number of backslashes before it are themselves escaped.
        if (at - before) % 2 == 0:
            if text.find("\n", start, at) >= 0:
                raise UnreadableError
            return at + 1


NAME, STRING, REGEX, MARK = "name", "string", "regex", "mark"
"""What a token is; the only other kind is of numbers."""


class UnreadableError(ValueError):
    """Text that is no output of the bundler's."""


class Code:
    """
    The tokens of a text, and how its brackets nest.

    Tokens are kept as lists of plain values, without blanks and comments: a million
    objects would keep Python's garbage collector, and with it every thread, busy for
    long at a time.

    :ivar kinds: The kind of each token; ``starts``, where each begins in the text, is
        alike.
    :ivar texts: The text of each, a string's with its quotes.  There are empty ones
        after the last, which also are those before the first.
    :ivar text: Returns one of them.
    :ivar partner: The index of the bracket that each bracket pairs with.
    :ivar parent: The index of the bracket each token is in; -1 for none.
    :ivar check: Called now and then by what looks at the tokens; may raise to end it.
    :raise UnreadableError: The text is not what the bundler writes, or its brackets
        nest too deep.
    """

    def __init__(self, text: str, check: Check = lambda: None) -> None:
        self.check = check
        self.kinds: list[str] = []
        self.texts = [""] * _AROUND
        self.text: Callable[[int], str] = self.texts.__getitem__
        self.starts: list[int] = []
        self.partner: dict[int, int] = {}
        self.parent: list[int] = []
        self._open: list[int] = []
        self._read(text)
        if self._open:
            raise UnreadableError

    def _read(self, text: str) -> None:
        at = text.find("\n") + 1 if text.startswith("#!") else 0
        while (found := _TOKEN.match(text, at)) is not None:
            kind = str(found.lastgroup)
            start, last = found.start(kind), len(self.kinds) - 1
            if found[kind] in ("/", "/=") and (
                "\n" in text[at:start] or not self.ends_value(last)
            ):
                kind, found = "regex", self._regex(text, start, found.end())
            is_text = kind in ("comment", "string")
            at = _end_of_text(text, start) if is_text else found.end()
            if kind == "comment":
                continue
            if not last % _CHECKED:
                self.check()
            self.kinds.append(kind)
            self.texts.insert(last + 1, text[start:at])
            self.starts.append(start)
            self.parent.append(self._open[-1] if self._open else -1)
            if text[start:at] in _BRACKETS:
                self._nest(last + 1)
        if text[at:].strip(_BLANKS):
            raise UnreadableError

    def _regex(self, text: str, start: int, end: int) -> re.Match[str]:
        """Match what a slash begins, which ends at ``end``."""
        found = _REGEX.match(text, start)
        # After `await` it is no pattern, if that is a variable's name.
        is_odd = self.is_word(len(self.kinds) - 1, _AWAIT) and text.startswith(" ", end)
        if found is None or is_odd:
            raise UnreadableError
        return found

    def checked(self) -> Iterator[int]:
        """Yield the index of each token; see ``check``."""
        for index in range(len(self.kinds)):
            if not index % _CHECKED:
                self.check()
            yield index

    def _nest(self, index: int) -> None:
        opener = _PARTNERS.get(self.texts[index])
        if opener is None:
            self._open.append(index)
            if len(self._open) > _NESTING:
                raise UnreadableError
            return
        if not self._open or self.texts[self._open[-1]] != opener:
            raise UnreadableError
        begun = self._open.pop()
        self.partner[begun], self.partner[index] = index, begun
        self.parent[index] = self.parent[begun]

    def is_kind(self, index: int, kind: str) -> bool:
        """Whether there is such a token of this kind."""
        return 0 <= index < len(self.kinds) and self.kinds[index] == kind

    def is_member(self, index: int) -> bool:
        """Whether a name is that of a member, after a dot."""
        return self.text(index - 1) in (".", "?.")

    def is_word(self, index: int, words: frozenset[str]) -> bool:
        """Whether a token is one of these words, and no member's name."""
        return self.text(index) in words and not self.is_member(index)

    def ends_value(self, index: int) -> bool:
        """Whether a value can end with a token, so that an operator comes next."""
        if not 0 <= index < len(self.kinds):
            return False
        kind, text = self.kinds[index], self.texts[index]
        if kind == NAME:
            return not self._is_operator(index)
        if kind != MARK:
            return True
        if text == ")":
            before = self.partner[index] - 1
            if self.is_word(before, _AWAIT):
                before -= 1
            return not self.is_word(before, _HEADS)
        if text in ("++", "--"):
            # Before its operand it begins a statement, or follows an operator.
            return self.continues(index)
        return text in ("]", "}")

    def continues(self, index: int) -> bool:
        """
        Whether a bracket or an operator belongs to the value right before it.

        The bundler puts no blank there, and a line break between statements.
        """
        return self.ends_value(index - 1) and self.is_close(index)

    def is_close(self, index: int) -> bool:
        """Whether nothing is between a token and the one before it."""
        before = index - 1
        return self.starts[before] + len(self.texts[before]) == self.starts[index]

    def is_group(self, index: int) -> bool:
        """Whether a ``(`` only groups, and calls or declares nothing."""
        if self.text(index) != "(" or self.continues(index):
            return False
        if self.text(self.partner[index] + 1) in ("=>", "{"):
            return False  # parameters
        return not self.is_word(index - 1, _DECLARING | _HEADS)

    def enclosed(self, start: int, end: int) -> tuple[int, int]:
        """
        Extend a value by the brackets around it that only group.

        The bundler writes such around a value with a comment in front.

        :param start: The value's first token; ``end`` is its last.
        """
        while self.text(end + 1) == ")" and self.partner[end + 1] == start - 1:
            if not self.is_group(start - 1):
                break
            start, end = start - 1, end + 1
        return start, end

    def after(self, index: int) -> int:
        """The index of what follows the value that a token is, or is a branch of."""
        at = index + 1
        while self.text(at) in _GROUPED:
            group = self.partner[at] if self.text(at) == ")" else self.parent[at]
            if group < 0 or not self.is_group(group):
                break
            at = self.partner[group] + 1
        return at

    def _is_operator(self, index: int) -> bool:
        if self.is_word(index, _OPERATORS):
            return True
        # Everywhere else than in a loop's head this is a name.
        return (
            self.is_word(index, frozenset({"of"}))
            and self.ends_value(index - 1)
            and self.is_loop(self.parent[index])
        )

    def is_loop(self, group: int) -> bool:
        """Whether a bracket is the head of a ``for`` statement."""
        if self.text(group) != "(":
            return False
        before = group - 2 if self.text(group - 1) == "await" else group - 1
        return self.is_word(before, frozenset({"for"}))


_FLAGS: Final = frozenset("dgimsuvy")
_REMEMBERED: Final = 1024

# A property of characters, another escape, brackets of a class, a character that means
# something when it is doubled in a class under the flag v, and everything else.
_PART: Final = re.compile(
    r"\\[pP]\{(?P<property>[\w=]*)\}|(?P<escape>\\(?:u\{|.))|(?P<open>\[\^?)|(?P<close>\])"
    r"|(?P<single>[&!#%,:;<=>@`~$*+.?^])|[^]\\\[&!#%,:;<=>@`~$*+.?^]+|\\",
    re.DOTALL,
)
_QUANTIFIER: Final = re.compile(r"[*+?]|\{[0-9]+(?:,[0-9]*)?\}")
_IN_CLASS: Final = re.compile(
    r"\\(?:[dDsSwWfnrtvbq\W]|0(?![0-9])|c[A-Za-z]|x[0-9A-Fa-f]{2}"
    r"|u(?:[0-9A-Fa-f]{4}|\{[0-9A-Fa-f]+\}))",
    re.ASCII,
)
_OF_TEXTS: Final = re.compile(r"Basic_Emoji|Emoji_Keycap_Sequence|RGI_\w+")


@lru_cache(maxsize=_REMEMBERED)
def is_regex(literal: str) -> bool:
    """
    Whether a browser can compile a regular expression.

    :param literal: With its slashes and flags; as short as a line of a source is.
    """
    from regress import Regex, RegressError  # a megabyte, for what is seldom scanned

    pattern, _, flags = literal[1:].rpartition("/")
    is_doubled = len(set(flags)) < len(flags) or {"u", "v"}.issubset(flags)
    if is_doubled or not _FLAGS.issuperset(flags):
        return False
    # The other flags change nothing but what it matches.
    mode = "u" if "u" in flags else "v" if "v" in flags else ""
    try:
        whole, outside = _plain(pattern, mode)
        Regex(whole, mode)
        if mode == "v":
            # What is outside of classes is read under this flag as under the other.
            Regex(outside, "u")
    except (RegressError, ValueError):
        return False
    return True


def _plain(pattern: str, mode: str) -> tuple[str, str]:
    """
    Rewrite a pattern so that ``regress`` reads it in no time, and as browsers do.

    :return: The whole, and the whole with the same simple class in place of each.
    :raise RegressError: It is no pattern; or else ``ValueError``.
    """
    whole: list[str] = []
    outside: list[str] = []
    depth = 0
    for part in _PART.finditer(pattern):
        text = part[0]
        if part["property"] is not None and mode:
            # It stands for thousands of characters, which are looked up each time.
            text = _plain_property(text, mode)
        elif part["escape"] is not None:
            text = _plain_escape(part, mode, depth)
        elif part["open"] is not None and (mode == "v" or not depth):
            depth += 1
            outside += ["[a]"] if depth == 1 else []
        elif part["close"] is not None and depth:
            depth -= 1
            whole.append(text)
            continue
        elif part["single"] is not None and mode == "v" and depth:
            # Only two of the same mean something: `regress` refuses any two.
            around = pattern[part.start() - 1], pattern[part.end() : part.end() + 1]
            text = text if text in around else f"\\x{ord(text):02x}"
        whole.append(text)
        if not depth:
            outside.append(r"\w" if part["property"] is not None else text)
    return "".join(whole), "".join(outside)


def _plain_escape(part: re.Match[str], mode: str, depth: int) -> str:
    """
    Spell an escape that ``regress`` reads otherwise than browsers do.

    :raise ValueError: It is an edge of a word that is repeated, or one that a class
        may not have under the flag v.
    """
    text = part[0]
    if text == r"\u{" and not mode:
        return r"\x75{"  # that many times the letter u, whatever comes before
    if text in (r"\b", r"\B") and not depth:
        if _QUANTIFIER.match(part.string, part.end()):
            raise ValueError("nothing to repeat")
    elif mode == "v" and depth and not _IN_CLASS.match(part.string, part.start()):
        raise ValueError("no such escape")
    elif text == r"\b":
        return r"\x08"
    return text


@lru_cache(maxsize=_REMEMBERED)
def _plain_property(escape: str, mode: str) -> str:
    """Replace a property by something small that may stand in the same places."""
    from regress import Regex

    Regex(escape, mode)
    return r"[\q{ab}]" if _OF_TEXTS.fullmatch(escape, 3, len(escape) - 1) else r"\w"
