"""
Which names mean the global object's, and which are the author's own.

Only names that people also give to variables of their own are looked up here
(``parent``, ``location``); the others (``window``, ``fetch``) are refused wherever
they are read.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import Factory, define, frozen
from tree_sitter import Node

from .constructs import ROOTS
from .literals import Page, branches, children, named, unwrapped

_CHASED = 200
_NESTED_PATTERNS = frozenset(
    {"object_pattern", "array_pattern", "rest_pattern", "formal_parameters"}
)
_FIELDS = {
    "pair_pattern": "value",
    "assignment_pattern": "left",
    "object_assignment_pattern": "left",
    "required_parameter": "pattern",
    "optional_parameter": "pattern",
}
_TARGETS = {
    "pair_pattern": "value",
    "assignment_pattern": "left",
    "object_assignment_pattern": "left",
}
_LISTS = frozenset({"object_pattern", "array_pattern", "rest_pattern"})
_NAMES = frozenset(
    {"identifier", "shorthand_property_identifier_pattern", "type_identifier"}
)


@define(eq=False)
class Scope:
    """The names that a block, a function or a file declares."""

    outer: Scope | None = None
    names: set[str] = Factory(set)

    def binds(self, name: str) -> bool:
        """Whether ``name`` is declared here or further out."""
        scope: Scope | None = self
        for _ in range(_CHASED):
            if scope is None or name in scope.names:
                break
            scope = scope.outer
        else:
            return False
        return scope is not None

    def declare(self, pattern: Node, page: Page) -> None:
        """Declare every name a pattern binds that matters to the policy."""
        pending = [pattern]
        while pending:
            page.spend()
            one = pending.pop()
            if one.type in _NAMES:
                name = page.name(one)
                if name in ROOTS:
                    self.names.add(name)
            elif one.type in _NESTED_PATTERNS:
                pending.extend(named(one))
            elif one.type in _FIELDS:
                inner = one.child_by_field_name(_FIELDS[one.type])
                pending.extend([] if inner is None else [inner])


@frozen
class Access:
    """
    A name that was read, or a member of it.

    :ivar member: The member's name, ``[`` for a computed one, empty for the name.
    """

    name: str
    member: str
    line: int
    scope: Scope


@define
class Aliases:
    """What a file calls the global object's members: ``const d = document``."""

    _values: dict[str, set[tuple[str, Scope]]] = Factory(dict)
    _roots: dict[str, set[str]] | None = None

    def bind(self, name: str, value: str, scope: Scope) -> None:
        """Note that ``name`` can hold the value of ``value``."""
        if name != value:
            self._values.setdefault(name, set()).add((value, scope))

    def knows(self, name: str) -> bool:
        """Whether ``name`` is known by now to stand for something else."""
        return name in self._values

    def roots(self, name: str, scope: Scope) -> Iterator[str]:
        """
        The names of ``ROOTS`` whose global value ``name`` can hold.

        To be asked when everything is bound.
        """
        if self._roots is None:
            self._roots = self._traced()
        if name in ROOTS and not scope.binds(name):
            yield name
        yield from self._roots.get(name, ())

    def _traced(self) -> dict[str, set[str]]:
        """The roots each name can hold by what was bound to it."""
        holders: dict[str, list[str]] = {}
        pending: list[tuple[str, str]] = []
        for name, values in self._values.items():
            for value, origin in values:
                holders.setdefault(value, []).append(name)
                if value in ROOTS and not origin.binds(value):
                    pending.append((name, value))
        traced: dict[str, set[str]] = {}
        while pending:
            name, root = pending.pop()
            known = traced.setdefault(name, set())
            if root not in known:
                known.add(root)
                pending.extend((holder, root) for holder in holders.get(name, ()))
        return traced


def object_names(node: Node, page: Page) -> Iterator[str]:
    """
    The names whose value a node can have.

    ``.document`` stands for any object's member of that name.
    """
    for branch in branches(node, page):
        name = object_name(branch, page)
        if name is not None:
            yield name


def object_name(branch: Node, page: Page) -> str | None:
    """The name whose value one of ``branches`` is; see ``object_names``."""
    if branch.type == "identifier":
        return page.name(branch)
    if branch.type in ("member_expression", "nested_identifier"):
        member = branch.child_by_field_name("property")
        if member is not None and page.name(member) == "document":
            return ".document"
    return None


def pattern_keys(pattern: Node) -> Iterator[Node]:
    """The keys an object pattern takes out of its value."""
    for child in children(pattern):
        if child.type == "pair_pattern":
            key = child.child_by_field_name("key")
        elif child.type == "object_assignment_pattern":
            key = child.child_by_field_name("left")
        else:
            key = child if child.type in _NAMES else None
        if key is not None:
            yield key


def assigned_members(left: Node, page: Page) -> Iterator[Node]:
    """The members an assignment's left side assigns to."""
    pending = [left]
    while pending:
        page.spend()
        node = pending.pop()
        inner = unwrapped(node)
        if node.type in _LISTS:
            pending.extend(named(node))
        elif node.type in _TARGETS:
            inner = node.child_by_field_name(_TARGETS[node.type])
        elif node.type in ("member_expression", "subscript_expression"):
            yield node
        if inner is not None:
            pending.append(inner)
