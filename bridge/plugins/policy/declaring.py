"""What the declarations of a file bind, of the names that matter to the policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tree_sitter import Node

from .kinds import FUNCTIONS
from .literals import Page, children, named
from .scopes import Scope


def declare(node: Node, kind: str, scope: Scope, page: Page) -> None:
    """
    Declare in ``scope`` what a node declares; a function's scope is its own.

    :param kind: The node's, one of ``DECLARED``.
    """
    DECLARED[kind](node, scope, page)


def _name(node: Node, scope: Scope, page: Page) -> None:
    _field(node, "name", scope, page)


def _field(node: Node, name: str, scope: Scope, page: Page) -> None:
    pattern = node.child_by_field_name(name)
    if pattern is not None:
        scope.declare(pattern, page)


def _function(node: Node, scope: Scope, page: Page) -> None:
    if node.type.endswith("_declaration") and scope.outer is not None:
        _name(node, scope.outer, page)
    _field(node, "parameters", scope, page)
    _field(node, "parameter", scope, page)


def _catch(node: Node, scope: Scope, page: Page) -> None:
    _field(node, "parameter", scope, page)


def _loop(node: Node, scope: Scope, page: Page) -> None:
    if node.child_by_field_name("kind") is not None:
        _field(node, "left", scope, page)


def _import(node: Node, scope: Scope, page: Page) -> None:
    # The bundler removes what is imported as a type: the name stays the global one.
    if is_type_only(node):
        return
    for child in children(node):
        if child.type in ("import_clause", "named_imports", "namespace_import"):
            _import(child, scope, page)
        elif child.type == "import_specifier":
            _specifier(child, scope, page)
        elif child.type == "identifier":
            scope.declare(child, page)


def is_type_only(node: Node) -> bool:
    """Whether an import, or one name in it, is marked as a type."""
    return any(child.type == "type" for child in children(node))


def _specifier(node: Node, scope: Scope, page: Page) -> None:
    if not is_type_only(node):
        *_, bound = named(node)
        scope.declare(bound, page)


DECLARED: Final[dict[str, Callable[[Node, Scope, Page], None]]] = {
    **dict.fromkeys(FUNCTIONS, _function),
    "variable_declarator": _name,
    "class_declaration": _name,
    "abstract_class_declaration": _name,
    "enum_declaration": _name,
    "catch_clause": _catch,
    "for_in_statement": _loop,
    "import_statement": _import,
}
