"""What the constant expressions of a source file evaluate to."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import define
from tree_sitter import Node

from .budget import TooComplexError
from .escapes import unescape

_WRAPPERS = frozenset(
    {
        "as_expression",
        "satisfies_expression",
        "non_null_expression",
        "template_substitution",
        "computed_property_name",
    }
)
_LAST_MATTERS = frozenset(
    {"sequence_expression", "type_assertion", "parenthesized_expression"}
)
_BRANCHING = (
    _WRAPPERS
    | _LAST_MATTERS
    | {"ternary_expression", "binary_expression", "assignment_expression"}
)
_TEXTS = frozenset({"string", "template_string", "binary_expression"})
_LOGICAL = frozenset({"||", "&&", "??"})


@define
class Page:
    """
    A piece of a source file that was parsed as one.

    :ivar data: Its text; the offsets of its nodes count in it.
    :ivar row: Lines of the file before it.
    :ivar steps: Steps of evaluation left before it counts as too complex.
    """

    data: bytes
    row: int
    steps: int

    def text(self, node: Node) -> str:
        """The text of a node."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def name(self, node: Node) -> str:
        """The text of an identifier with its escapes decoded."""
        return unescape(self.text(node))

    def line(self, node: Node) -> int:
        """The line of the file a node starts on, from 1."""
        return self.row + node.start_point.row + 1

    def spend(self) -> None:
        """
        Count one step of evaluation.

        :raise TooComplexError: There were too many.
        """
        self.steps -= 1
        if self.steps < 0:
            raise TooComplexError


def children(node: Node) -> Iterator[Node]:
    """A node's children, comments left out, made one at a time."""
    cursor = node.walk()
    more = cursor.goto_first_child()
    while more:
        child = cursor.node
        if child is not None and child.type != "comment":
            yield child
        more = cursor.goto_next_sibling()


def named(node: Node) -> Iterator[Node]:
    """The children of a node that are more than punctuation."""
    return (child for child in children(node) if child.is_named)


def last_named(node: Node) -> Node | None:
    """The last of ``named``."""
    found = None
    for child in named(node):
        found = child
    return found


def unwrapped(node: Node) -> Node | None:
    """What parentheses, casts and commas come down to; None for another node."""
    if node.type in _WRAPPERS:
        return next(named(node), None)
    if node.type in _LAST_MATTERS:
        return last_named(node)
    return None


def parts(node: Node, page: Page) -> list[str | None]:
    """
    Flatten what is put together to one string, in order.

    :return: The constant pieces, and None for each that is not constant.
    """
    found: list[str | None] = []
    pending = [node]
    while pending:
        page.spend()
        one = pending.pop()
        if one.type == "string":
            found.append(unescape(page.text(one)[1:-1]))
        elif one.type in ("string_fragment", "escape_sequence"):
            found.append(unescape(page.text(one)))
        else:
            pieces = _pieces(one)
            if pieces is None:
                found.append(None)
            else:
                pending.extend(reversed(pieces))
    return found


def _pieces(node: Node) -> list[Node] | None:
    if node.type == "template_string":
        return list(named(node))
    if is_sum(node):
        return list(named(node))
    # An array of one element turns into that element's text.
    if node.type == "array" and node.named_child_count == 1:
        return list(named(node))
    inner = unwrapped(node)
    return None if inner is None else [inner]


def is_sum(node: Node) -> bool:
    """Whether a node is an addition or concatenation."""
    return node.type == "binary_expression" and operator(node) == "+"


def operator(node: Node) -> str:
    """The operator of a binary expression or an assignment."""
    found = node.child_by_field_name("operator")
    return "" if found is None else found.type


def constant(node: Node, page: Page) -> str | None:
    """The string a node always evaluates to; None when that is not known."""
    found = parts(node, page)
    return None if None in found else "".join(each for each in found if each)


def branches(node: Node, page: Page) -> Iterator[Node]:
    """Every expression whose value can be the node's."""
    pending = [node]
    while pending:
        page.spend()
        one = pending.pop()
        if one.type not in _BRANCHING:
            yield one
            continue
        inner = unwrapped(one)
        if inner is not None:
            pending.append(inner)
        elif one.type == "ternary_expression":
            pending.extend(list(named(one))[1:])
        elif one.type == "binary_expression" and operator(one) in _LOGICAL:
            pending.extend(named(one))
        elif one.type == "assignment_expression":
            right = one.child_by_field_name("right")
            pending.extend([] if right is None else [right])
        else:
            yield one


def strings(node: Node, page: Page) -> Iterator[str]:
    """Every constant string that can be the node's value."""
    for branch in branches(node, page):
        text = constant(branch, page)
        if text is not None:
            yield text


def text_of(branch: Node, page: Page) -> str | None:
    """The string that one of ``branches`` is, empty when its content is not known."""
    if branch.type not in _TEXTS:
        return None
    found = parts(branch, page)
    if branch.type != "template_string" and found == [None] * len(found):
        return None
    return "" if None in found else "".join(each for each in found if each)
