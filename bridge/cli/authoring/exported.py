"""
The id that a plugin's ``main.ts`` exports, if its text is unambiguous.

Nothing is run and nothing is guessed: what is not one of a few plain forms, such as
``export default definePlugin({ id: 'demo', … })``, has no certain id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from attrs import field

from ...classes import define, frozen

_PIECE: Final = re.compile(
    r"(?P<skip>(?:\s|//[^\n]*|/\*.*?\*/)+)"
    r"|(?P<string>'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
    r"|(?P<word>[\w$]+)"
    r"|(?P<mark>.)",
    re.DOTALL,
)
# Not possessive: Python 3.11.2, which Debian 12 has, gets such a repetition wrong.
# The alternatives exclude each other, so these take linear time without.
_TEMPLATE: Final = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*(`|\$\{)", re.DOTALL)
_REGEX: Final = re.compile(
    r"/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*"
)
_CLOSING: Final = {")": "(", "]": "[", "}": "{"}
# After these words a slash starts a regular expression.
_BEFORE_VALUE: Final = frozenset({"return", "typeof", "case", "in", "of", "await"})
_PAGE_NAMES: Final = frozenset(
    {"document", "window", "localStorage", "sessionStorage", "alert"}
)
# After these a word names something else.
_DECLARING: Final = frozenset({".", "const", "let", "var", "function", "class"})
_DEFINE: Final = "definePlugin"
_MANIFEST: Final = re.compile(r"""['"]\./plugin\.json['"]""")


class _DoubtError(Exception):
    """The text is ambiguous."""


@frozen
class _Token:
    """
    A piece of code.

    :ivar kind: ``word``, ``string``, ``mark`` or ``other``.
    :ivar depth: How many brackets are open around it, its own not counted.
    :ivar at: Where it starts.
    """

    kind: str
    text: str
    depth: int
    at: int


def exported_id(source: str, manifest_id: str) -> str | None:
    """
    Find the id of the plugin that a module exports by default.

    :param source: The text of ``main.ts``.
    :param manifest_id: What ``manifest.id`` is, when ``manifest`` is imported from
        ``./plugin.json``.
    :return: ``None`` when it is not certain.
    """
    try:
        tokens = list(_Splitter(source.removeprefix("\ufeff")).tokens())
        return _Module(tokens, manifest_id).exported()
    except _DoubtError:
        return None


def page_names(source: str) -> list[tuple[int, str]]:
    """
    Find the names of a page's objects, which a worker does not have.

    :param source: The text of a module.
    :return: The line, from 1, and the name of each use; none of what is ambiguous.
    """
    try:
        tokens = list(_Splitter(source).tokens())
    except _DoubtError:
        return []
    texts = ["", *(token.text for token in tokens), ""]
    return [
        (source.count("\n", 0, token.at) + 1, token.text)
        for before, token, after in zip(texts, tokens, texts[2:], strict=False)
        if token.kind == "word"
        and token.text in _PAGE_NAMES
        and before not in _DECLARING
        and after != ":"
    ]


def lacks_default_export(source: str) -> bool:
    """
    Whether a module certainly exports nothing by default.

    :param source: The text of ``main.ts``.
    """
    try:
        tokens = list(_Splitter(source.removeprefix("\ufeff")).tokens())
    except _DoubtError:
        return False
    return all(token.text.strip("'\"") != "default" for token in tokens)


@define
class _Splitter:
    """
    Splits a module into tokens.

    :ivar open_brackets: Those around what is read; a template literal's is a backtick.
    """

    _text: str
    _last: _Token | None = None
    open_brackets: list[str] = field(factory=list)

    def tokens(self) -> Iterator[_Token]:
        """
        Split the whole module.

        :raise _DoubtError: Its brackets do not match, or a slash may mean two things.
        """
        at = 0
        while at < len(self._text):
            found = _PIECE.match(self._text, at)
            if found is None or found.lastgroup is None:
                raise _DoubtError
            at = found.end()
            if found.lastgroup == "mark":
                at = self._end_of(found[0], found.start())
            if found.lastgroup == "skip":
                continue
            kind = found.lastgroup if at == found.end() else "other"
            self._last = _Token(kind, found[0], len(self.open_brackets), found.start())
            yield self._last
            if kind == "mark" and found[0] in _CLOSING.values():
                self.open_brackets.append(found[0])
        if self.open_brackets:
            raise _DoubtError

    def _end_of(self, mark: str, at: int) -> int:
        """Return where a token that starts with a mark ends; close a bracket."""
        if mark == "/" and _starts_value(self._last):
            regex = _REGEX.match(self._text, at)
            if regex is None:
                raise _DoubtError
            return regex.end()
        if mark == "`" or (mark == "}" and self.open_brackets[-1:] == ["`"]):
            return self._end_of_template(mark, at + 1)
        if mark in _CLOSING:
            if self.open_brackets[-1:] != [_CLOSING[mark]]:
                raise _DoubtError
            self.open_brackets.pop()
        return at + 1

    def _end_of_template(self, mark: str, at: int) -> int:
        """Return where this part of a template literal ends."""
        found = _TEMPLATE.match(self._text, at)
        if found is None:
            raise _DoubtError
        if mark == "}":
            self.open_brackets.pop()
        if found[1] != "`":
            self.open_brackets.append("`")
        return found.end()


def _starts_value(last: _Token | None) -> bool:
    """Whether a slash after this token starts a regular expression."""
    if last is None:
        return True
    if last.text == "}":
        raise _DoubtError
    if last.kind == "word":
        return last.text in _BEFORE_VALUE
    return last.kind == "mark" and last.text not in (")", "]")


@frozen
class _Module:
    """A module's tokens."""

    _tokens: Sequence[_Token]
    _manifest_id: str

    def exported(self) -> str:
        """Return the id of the default export, or raise ``_DoubtError``."""
        return self._of_plugin(self._after("export", "default"))

    def _after(self, *words: str) -> int:
        """Return the place after the only such words outside of all brackets."""
        found = [
            n + len(words)
            for n in range(len(self._tokens))
            if self._tokens[n].depth == 0
            and tuple(t.text for t in self._tokens[n : n + len(words)]) == words
        ]
        if len(found) != 1:
            raise _DoubtError
        return found[0]

    def _text(self, at: int) -> str:
        return self._tokens[at].text if at < len(self._tokens) else ""

    def _of_plugin(self, at: int, follow: bool = True) -> str:
        """Return the id of the plugin that is written at a place."""
        if self._text(at) == "{":
            return self._of_object(at)
        if self._text(at) == _DEFINE and self._text(at + 1) == "(":
            return self._of_plugin(at + 2, follow)
        if follow and self._is_name(at) and self._ends(at + 1):
            return self._of_plugin(self._value_of(self._text(at)), follow=False)
        raise _DoubtError

    def _is_name(self, at: int) -> bool:
        return at < len(self._tokens) and self._tokens[at].kind == "word"

    def _ends(self, at: int) -> bool:
        """Whether a statement or an argument has ended before this place."""
        return self._text(at) in ("", ";", ")", ",") or self._is_name(at)

    def _value_of(self, name: str) -> int:
        """Return where the value of a constant of the module starts."""
        at = self._after("const", name)
        if self._text(at) == ":":
            # A type by its name; one that is written out would need a parser.
            at += 2
        if self._text(at) != "=":
            raise _DoubtError
        return at + 1

    def _of_object(self, at: int) -> str:
        depth = self._tokens[at].depth + 1
        ids = []
        for member in _members(self._tokens[at + 1 :], depth):
            if member[0].text in (".", "["):
                raise _DoubtError
            if member[0].text.strip("'\"") == "id":
                ids.append(member)
        if len(ids) != 1:
            raise _DoubtError
        return self._of_member(ids[0])

    def _of_member(self, member: list[_Token]) -> str:
        match [token.text for token in member]:
            case ["id"]:
                return self._constant("id")
            case [_, ":", _] | [_, ":", _, "as", "const"] if member[2].kind == "string":
                return _literal(member[2])
            case [_, ":", name] if member[2].kind == "word":
                return self._constant(name)
            case [_, ":", name, ".", "id"] if self._is_manifest(name):
                return self._manifest_id
        raise _DoubtError

    def _constant(self, name: str) -> str:
        at = self._value_of(name)
        if at < len(self._tokens) and self._ends(at + 1):
            return _literal(self._tokens[at])
        raise _DoubtError

    def _is_manifest(self, name: str) -> bool:
        at = self._after("import", name, "from")
        return _MANIFEST.fullmatch(self._text(at)) is not None


def _members(tokens: Sequence[_Token], depth: int) -> Iterator[list[_Token]]:
    """Split what follows an opening bracket at its commas, up to its end."""
    member: list[_Token] = []
    for token in tokens:
        ended = token.depth < depth
        if ended or (token.text == "," and token.depth == depth):
            if member:
                yield member
            member = []
        else:
            member.append(token)
        if ended:
            return


def _literal(token: _Token) -> str:
    if token.kind != "string" or "\\" in token.text:
        raise _DoubtError
    return token.text[1:-1]
