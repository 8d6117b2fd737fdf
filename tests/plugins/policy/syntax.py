"""Syntax nodes for tests."""

from __future__ import annotations

from tree_sitter import Node, Parser

from bridge.plugins.policy.literals import Page
from bridge.plugins.policy.parsing import grammar


def parsed(code: str, suffix: str = ".ts") -> tuple[Node, Page]:
    """Parse code: its root, and the page its nodes are on."""
    data = code.encode()
    return Parser(grammar(suffix)).parse(data).root_node, Page(data, 0, 1000)


def expression(code: str) -> tuple[Node, Page]:
    """The expression a code consists of."""
    root, page = parsed(code)
    found = root.child(0)
    assert found is not None
    inner = found.child(0)
    assert inner is not None
    return inner, page


def nodes(root: Node, kind: str) -> list[Node]:
    """Every node of a kind, in the order of the text."""
    found = [root] if root.type == kind else []
    for child in root.children:
        found.extend(nodes(child, kind))
    return found
