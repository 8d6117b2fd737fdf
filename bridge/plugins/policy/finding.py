"""What has been found out about one file."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from attrs import Factory, define, field
from tree_sitter import Node

from .budget import TooComplexError
from .calls import key_names, member_names
from .constants import Constants, Use, telling
from .constructs import (
    CALLBACKS,
    MEMBERS,
    ORDER,
    ROOTS,
    TELLING_MEMBERS,
    access_rule,
)
from .imports import TOOLING, import_rule, names_tooling
from .literals import Page, branches, constant, named, text_of
from .scopes import Access, Aliases, Scope, object_name

_CHUNK = 64 * 1024
_MOST_FOUND = 1_000
_MOST_ACCESSES = 50_000


@define
class Finding:
    """
    What is known of one file while it is read.

    :ivar name: The file's path in the tree.
    :ivar modules: Names the host provides.
    :ivar page: The piece that is being read.
    :ivar scope: The block that is being read.
    :ivar aliases: Which names can hold the global object's members.
    :ivar constants: Which names can hold strings.
    """

    name: str
    modules: Collection[str]
    page: Page = field(init=False)
    scope: Scope = field(factory=Scope)
    aliases: Aliases = field(factory=Aliases)
    constants: Constants = field(factory=Constants)
    _found: set[tuple[int, str]] = Factory(set)
    _tooling: set[int] = Factory(set)
    _accesses: set[Access] = Factory(set)
    _passed: set[int] = Factory(set)

    def turn(self, page: Page) -> None:
        """Go on with another piece of the file."""
        self.page = page
        self._passed.clear()

    def add(self, node: Node, rule: str) -> None:
        """Note that a node breaks a rule; of very many, the first ones are enough."""
        if len(self._found) < _MOST_FOUND:
            self._found.add((self.page.line(node), rule))

    def access(
        self, node: Node, name: str, member: str, scope: Scope | None = None
    ) -> None:
        """
        Note a use of a name, to be judged when the whole file is known.

        :param member: See ``Access``.
        :param scope: Where the name is looked up, if not in the block that is read.
        :raise TooComplexError: There are more than people write.
        """
        if len(self._accesses) >= _MOST_ACCESSES:
            raise TooComplexError
        if member in TELLING_MEMBERS or name in ROOTS or self.aliases.knows(name):
            line = self.page.line(node)
            self._accesses.add(Access(name, member, line, scope or self.scope))

    def bind(self, name: str, value: Node) -> None:
        """Note what a name can hold, as far as it matters."""
        for branch in branches(value, self.page):
            held = object_name(branch, self.page)
            if held is not None:
                self.aliases.bind(name, held, self.scope)
            text = text_of(branch, self.page)
            if text is not None:
                self.constants.bind(name, text, self.scope)
            if branch.type == "object":
                self.bind_members(name, branch)

    def bind_members(self, name: str, members: Node) -> None:
        """Note the strings that the members of an object or enumeration hold."""
        for member in named(members):
            value = member.child_by_field_name("value")
            text = None if value is None else text_of(value, self.page)
            if text is not None and telling(text):
                for key in key_names(member, self.page):
                    self.constants.bind(f"{name}.{key}", text, self.scope)

    def named(self, place: str, node: Node | None) -> None:
        """Note names that stand where certain strings are refused; see ``Use``."""
        for branch in () if node is None else branches(node, self.page):
            for name in _held_by(branch, self.page):
                line = self.page.line(branch)
                self.constants.use(Use(name, place, line, self.scope))

    def member(self, node: Node, name: str) -> None:
        """Judge the name of any object's member."""
        if name in MEMBERS:
            self.add(node, name)

    def specifier(self, node: Node) -> None:
        """Judge what an import names."""
        specifier = constant(node, self.page)
        if specifier is not None:
            self.imported(node, specifier)

    def imported(self, node: Node, specifier: str) -> None:
        """Judge the name that a node imports."""
        rule = import_rule(self.name, specifier, self.modules)
        if rule == TOOLING:
            self._tooling.add(self.page.line(node))
        elif rule is not None:
            self.add(node, rule)

    def text(self, node: Node, text: str) -> None:
        """Judge a constant string."""
        for start in range(0, len(text), _CHUNK):
            chunk = text[start : start + _CHUNK + len(CALLBACKS)]
            if "<script" in chunk.lower():
                self.add(node, "script tag")
            if CALLBACKS in chunk:
                self.add(node, CALLBACKS)
        if names_tooling(text):
            self._tooling.add(self.page.line(node))

    def dismiss(self, nodes: Iterable[Node | None]) -> None:
        """Leave nodes of this piece out when the walk comes to them."""
        self._passed.update(node.id for node in nodes if node is not None)

    def is_dismissed(self, node: Node) -> bool:
        """Whether a node was given to ``dismiss``."""
        return node.id in self._passed

    def hits(self) -> list[tuple[int, str]]:
        """Everything found, by line, then in the order of the table."""
        judged = self.constants.hits()
        for access in self._accesses:
            for root in self.aliases.roots(access.name, access.scope):
                rule = access_rule(root, access.member)
                if rule is not None and len(judged) < _MOST_FOUND:
                    judged.add((access.line, rule))
        ordered = sorted(self._found | judged, key=lambda hit: (hit[0], ORDER[hit[1]]))
        return [(line, TOOLING) for line in sorted(self._tooling)] + ordered


def _held_by(branch: Node, page: Page) -> list[str]:
    """What the place is called whose value an expression is, if it has a name."""
    if branch.type == "identifier":
        return [page.name(branch)]
    of = branch.child_by_field_name("object")
    if of is None or of.type != "identifier":
        return []
    return [f"{page.name(of)}.{name}" for name in member_names(branch, page)]
