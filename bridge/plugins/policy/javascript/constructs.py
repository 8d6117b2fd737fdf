"""What the bundler's output of one source breaks."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from attrs import field

from ....classes import define
from ....concurrency.threads import Check
from ....protocol.text import printable
from ...tree.tree import is_declaration_name
from .. import rules
from ..reading import FACTORY, Answer, Lines, Source
from ..rules import TOOLING, import_rule, names_tooling
from .meaning import (
    Uses,
    all_texts,
    are_parameters,
    argument,
    argument_texts,
    elements,
    is_assigned,
    is_pattern,
    key_name,
    keys,
    string_value,
    texts,
)
from .tokens import NAME, REGEX, STRING, Code, UnreadableError, is_regex

_MOST: Final = 1_000
_NAME_CHARACTERS: Final = 60

_ELEMENTS: Final = {"createElement": 0, "createElementNS": 1}
"""What makes elements, and which argument is the tag."""

_ATTRIBUTES: Final = frozenset({"setAttribute", "setAttributeNS", "createAttribute"})
_WATCHED: Final = rules.MEMBERS.union(
    rules.ASSIGNED,
    rules.TIMERS,
    _ELEMENTS,
    _ATTRIBUTES,
    ("Object", "import", "document"),
)
"""Names that can break a rule though they are not free."""

_PHASES: Final = frozenset({"source", "defer"})
_SPECIFYING: Final = frozenset({"from", "import"})
_STARTING: Final = frozenset({"import", "export"})
_HARMLESS: Final = frozenset(
    {"freeze", "has", "hasOwn", "is", "keys", "preventExtensions", "seal"}
)
"""Functions of ``Object`` and ``Reflect`` that help nobody to assign to a member."""

_GIVING: Final = frozenset({":", ",", "}", "("})
"""What comes after the key of a member that is given a value."""


def output_hits(
    source: Source,
    answer: Answer,
    modules: Collection[str],
    mark: str,
    check: Check = lambda: None,
) -> list[rules.Hit]:
    """
    Find what a source breaks.

    :param answer: What the bundler has made of it.
    :param modules: Names of modules the host provides.
    :param mark: See ``reading``.
    :param check: See ``Code``.
    :return: By line, and in the order of the table.
    """
    file = printable(source.name)
    if answer.error_line:
        return [rules.Hit(file, answer.error_line, rules.SYNTAX, answer.error)]
    found: dict[tuple[int, str], str] = {}
    try:
        _Reading(Code(answer.code, check), found, mark, source, modules).read()
    except UnreadableError:
        found[0, rules.TOO_COMPLEX] = ""
    if not found:
        return []
    lines = Lines(answer.code, answer.source_map)
    hits: dict[tuple[int, str], rules.Hit] = {}
    for (place, rule), why in found.items():
        line = lines.line(place)
        hits.setdefault((line, rule), rules.Hit(file, line, rule, why))
    return sorted(
        hits.values(), key=lambda hit: (hit.line, rules.ORDER.get(hit.rule, -1))
    )


@define(eq=False)
class _Reading:
    """
    The closer look at one output.

    :ivar _found: Why, by place in the output and rule.
    :ivar _free: The free names, by their index.
    :ivar _markup_calls: Where an object is named that can assign to members.
    """

    _code: Code
    _found: dict[tuple[int, str], str]
    _mark: str
    _source: Source
    _modules: Collection[str]
    _markup_calls: list[int] = field(factory=list, init=False)
    _free: dict[int, str] = field(factory=dict, init=False)

    def read(self) -> None:
        """Look at every token, then at every use of the global objects."""
        code, has_pragma = self._code, self._source.has_pragma
        # Any function may make the elements of a source with a pragma.
        watched = {
            text
            for text in set(code.texts)
            if text in _WATCHED
            or text.startswith(self._mark)
            or rules.CALLBACKS in text
            or has_pragma
        }
        for index in code.checked():
            kind, text = code.kinds[index], code.texts[index]
            if kind == STRING:
                self._string(index)
            elif kind == NAME and text in watched:
                self._free_or_not(index, text)
            elif text == "{":
                self._keys(index)
            elif text == "[":
                self._computed_member(index)
            elif kind == REGEX and not is_regex(text):
                self._add(index, rules.REGEX)
        self._globals()
        self._markups()
        # Last, so that a crowd of them hides nothing that has a rule of its own.
        for index in filter(self._is_unknown, self._free):
            self._add(index, rules.UNKNOWN, self._free[index][:_NAME_CHARACTERS])

    def _free_or_not(self, index: int, text: str) -> None:
        name = text.removeprefix(self._mark)
        if name != text:
            self._free[index] = name
        if name == text or name not in rules.GLOBALS:
            self._name_of(index, name)

    def _add(self, index: int, rule: str, why: str = "") -> None:
        # Of very many, some are enough.
        if len(self._found) < _MOST:
            self._found[self._code.starts[index], rule] = why

    def _string(self, index: int) -> None:
        code = self._code
        value = string_value(code, index) or ""
        if "<script" in value.lower():
            self._add(index, "script tag")
        if rules.CALLBACKS in value:
            self._add(index, rules.CALLBACKS)
        if names_tooling(value):
            self._add(index, TOOLING)
        # Outside of every bracket, this is the end of a statement.
        if code.parent[index] < 0 and code.is_word(index - 1, _SPECIFYING):
            self._specifier(index, value)

    def _specifier(self, index: int, value: str) -> None:
        """Check what a statement imports or exports from, on the statement's line."""
        code = self._code
        rule = import_rule(self._source.name, value, self._modules)
        if rule is not None:
            start = index - 1
            while start and not (
                code.parent[start] < 0 and code.is_word(start, _STARTING)
            ):
                start -= 1
            self._add(start, rule)

    def _computed_member(self, bracket: int) -> None:
        """Check the names that a member may have which the bundler has not folded."""
        code = self._code
        if not (code.continues(bracket) or code.text(bracket - 1) == "?."):
            return
        # Of several between commas, the last one counts.
        *_, last = elements(code, bracket)
        for _, name in texts(code, last):
            self._member_of_any(bracket, code.partner[bracket], name)

    def _member_of_any(self, index: int, end: int, name: str) -> None:
        """Check the name of a member of any object, which ends at a token."""
        if name in rules.MEMBERS:
            self._add(index, name)
        if name in rules.ASSIGNED and is_assigned(self._code, end):
            self._add(index, f"{name} assignment")

    def _name_of(self, index: int, text: str) -> None:
        code = self._code
        if rules.CALLBACKS in text:
            self._add(index, rules.CALLBACKS)
        if text == "import":
            self._import(index)
        if code.is_member(index):
            self._member_of_any(index, index, text)
            if text == "document" and code.text(index + 2) == "location":
                self._add(index + 2, "document.location")
        self._call(index, text)

    def _import(self, index: int) -> None:
        code = self._code
        phase = code.text(index + 1) == "." and code.text(index + 2) in _PHASES
        group = index + 3 if phase else index + 1
        if code.is_member(index) or code.text(group) != "(":
            return
        if are_parameters(code, group):
            return  # a method of that name
        self._add(index, "dynamic import")
        for place, value in argument_texts(code, group - 1, 0):
            rule = import_rule(self._source.name, value, self._modules)
            if rule is not None:
                self._add(place, rule)

    def _keys(self, bracket: int) -> None:
        code = self._code
        for index, name in keys(code, bracket):
            # A computed key may be any of its texts.
            is_computed = name is None and code.text(index) == "["
            found = texts(code, index + 1) if is_computed else [(index, name or "")]
            for place, one in found:
                if one.lower() == "srcdoc":
                    after = code.text(key_name(code, index)[1])
                    if is_computed or after == "=" or after in _GIVING:
                        self._add(place, "srcdoc")
                elif one in rules.MEMBERS and is_pattern(code, bracket):
                    self._add(place, one)

    def _call(self, index: int, text: str) -> None:
        """Check the arguments of calls that are known by the name alone."""
        code = self._code
        if text in _ELEMENTS:
            self._element(index, _ELEMENTS[text])
        elif text in rules.TIMERS and code.is_member(index):
            self._timer(index, text)
        elif text in _ATTRIBUTES:
            for _, value in all_texts(self._code, index):
                if value.strip().lower() == "srcdoc":
                    self._add(index, "srcdoc")
        elif text == "Object":
            self._markup_calls.append(index)
        if self._source.has_pragma:
            self._jsx(index)

    def _element(self, index: int, number: int) -> None:
        for _, value in argument_texts(self._code, index, number):
            if value.strip().lower().rpartition(":")[2] in rules.CODE_TAGS:
                self._add(index, "createElement of a code-loading tag")

    def _timer(self, index: int, name: str) -> None:
        for _ in argument_texts(self._code, index, 0):
            self._add(index, f"{name} with a string")

    def _markups(self) -> None:
        """``Object.assign(e, {innerHTML: h})``, ``Reflect.set(e, "innerHTML", h)``."""
        code = self._code
        end = -1
        for index in sorted(self._markup_calls):
            if code.is_member(index + 2) and code.text(index + 2) in _HARMLESS:
                continue
            group = next(
                (at for at in range(index + 2, index + 6) if code.text(at) == "("), -1
            )
            # A call within another has been looked at with it.
            if code.text(index + 1) in (".", "?.", "[") and group > end:
                end = code.partner[group]
                self._markup(group)

    def _markup(self, group: int) -> None:
        code = self._code
        for at in range(group + 1, code.partner[group]):
            value = string_value(code, at)
            is_key = code.text(at - 1) in ("{", ",") and code.text(at + 1) in _GIVING
            name = value if value is not None else code.text(at) if is_key else None
            if name in rules.ASSIGNED:
                self._add(at, f"{name} assignment")

    def _globals(self) -> None:
        code = self._code
        uses = Uses(code)
        followed = {}
        for index, name in self._free.items():
            if name in rules.SCOPED and self._is_harmless(index, name):
                continue
            if name in rules.REFUSED:
                self._add(index, name)
            elif name == FACTORY and code.is_member(index):
                self._jsx(index)
            elif name in rules.USES or name in rules.TIMERS:
                followed[index] = name
                if name == "location" and self._is_replaced(index):
                    self._add(index, "location.href")
        uses.follow(followed)
        for index, name in sorted(uses.found):
            self._use(uses, index, name)

    def _is_replaced(self, index: int) -> bool:
        """Whether a value is assigned to a free name, and it is no default itself."""
        before, after = self._code.text(index - 1), self._code.text(index + 1)
        is_default = before == "=" and after in (",", "}", "]")
        return is_assigned(self._code, index) and not is_default

    def _is_unknown(self, index: int) -> bool:
        # Only what makes elements is marked as a member.
        is_known = self._free[index] in rules.GLOBALS or self._code.is_member(index)
        if is_known or self._is_asked(index):
            return False
        # What those declare is erased, and no bundle can have it.
        return not is_declaration_name(self._source.name)

    def _is_asked(self, index: int) -> bool:
        """Whether a free name only stands in a question whether there is one."""
        code = self._code
        after = code.text(index + 1)
        return code.text(index - 1) == "typeof" and after not in (".", "?.", "[", "(")

    def _is_harmless(self, index: int, name: str) -> bool:
        code = self._code
        after, member = code.text(index + 1), code.text(index + 2)
        if after in (".", "?.") and name in rules.FRAMES:
            return member not in rules.WINDOW_MEMBERS and member != "["
        return self._is_asked(index)

    def _use(self, uses: Uses, index: int, name: str) -> None:
        if name in rules.TIMERS:
            self._timer(index, name)
            return
        if name == "Reflect":
            self._markup_calls.append(index)
        self._member(self._code.after(index), name)
        for target in uses.targets(index):
            if self._code.text(target) == "{":
                self._pattern(target, name)

    def _member(self, after: int, name: str) -> None:
        """Check the member of a global object, from what follows the object."""
        code = self._code
        if code.text(after) in (".", "?."):
            after += 1
        text = code.text(after)
        if text in rules.USES[name] and (text == "[" or code.is_member(after)):
            self._add(after, rules.USES[name][text])

    def _pattern(self, bracket: int, name: str) -> None:
        for index, key in keys(self._code, bracket):
            rule = rules.USES[name].get("[" if key is None else key)
            if rule is not None:
                self._add(index, rule)

    def _jsx(self, index: int) -> None:
        code = self._code
        given = argument(code, index, 0)
        tag = (string_value(code, given) or "").lower().rpartition(":")[2]
        if tag == "script":
            self._add(given, "script tag")
        elif tag in rules.CODE_TAGS:
            self._add(given, "createElement of a code-loading tag")
