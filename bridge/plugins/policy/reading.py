"""
The walk over a source file's syntax nodes.

It knows where types are, which nothing evaluates, which block is being read, and where
two readers of the language could disagree about what the text means.
"""

from __future__ import annotations

import re

from attrs import Factory, define
from tree_sitter import Node, TreeCursor

from .declaring import DECLARED
from .finding import Finding
from .judging import JUDGES, judge, judge_type
from .kinds import (
    CASTS,
    ELEMENTS,
    INSTANTIATED,
    LEGACY_COMMENTS,
    NAMES,
    ONE_LINE,
    OPENERS,
    SCOPES,
    SLASHES,
    STARTS,
    SUFFIXED,
    TYPES,
    TYPESCRIPT_ONLY,
)
from .literals import Page, children, last_named
from .scopes import Scope

AMBIGUOUS = "ambiguous syntax"

_CARED_FOR = frozenset(JUDGES) | frozenset(DECLARED) | SCOPES | TYPES | CASTS
_CARED_FOR |= TYPESCRIPT_ONLY | SLASHES | STARTS | LEGACY_COMMENTS | ONE_LINE
_CARED_FOR |= SUFFIXED
_UNSURE = frozenset({"comment", "!"})
# Before these, type arguments are comparisons.
_OPERATOR = re.compile(rb"(?:\s|/\*(?s:.*?)\*/|//[^\n]*)*+[-+<>]")
# This ends the types around them, if one bracket opened those: before a template, they
# are types to all who read the language, if not to this parser.
_CLOSED = re.compile(rb">\s*`")


@define
class Reading:
    """
    The state of one walk.

    :ivar finding: What is told of every node outside types.
    :ivar is_script: Whether the file is JavaScript, where nothing is a type.
    """

    finding: Finding
    is_script: bool
    _last: Node | None = None
    _firm: Node | None = None
    _jsx: list[tuple[int, int]] = Factory(list)
    _casts: set[int] = Factory(set)
    _types: int = 0
    _outer: list[tuple[int, Scope]] = Factory(list)

    def read(self, root: Node, end: int, page: Page) -> int:
        """
        Walk one piece of a file.

        :param root: The parent of its statements.
        :param end: The statement that starts there, and those after it, are left out.
        :return: How many nodes were judged.
        :raise TooComplexError: Its expressions are nested too deep.
        """
        self.finding.turn(page)
        self._casts.clear()
        self._last = self._firm = None
        self._jsx.clear()
        cursor = root.walk()
        depth = int(cursor.goto_first_child())
        judged = 0
        while depth:
            node = cursor.node
            if node is None or (depth == 1 and node.start_byte >= end):
                break
            kind = node.type
            if kind in _CARED_FOR or node.id in self._casts:
                self._enter(node, kind, depth)
                self._visit(node, kind, depth, page)
                judged += 1
            if kind != "regex" and cursor.goto_first_child():
                depth += 1
                continue
            if kind != "comment":
                self._last = node
            if kind not in _UNSURE:
                self._firm = node
            depth = _advance(cursor, depth)
            if self._types or self._outer:
                self._leave(depth)
        self._leave(0)
        # Nothing of the tree is kept.
        self._last = self._firm = None
        return judged

    def _enter(self, node: Node, kind: str, depth: int) -> None:
        if not self._types and (kind in TYPES or node.id in self._casts):
            self._types = depth
        if kind in SCOPES:
            self._outer.append((depth, self.finding.scope))
            self.finding.scope = Scope(self.finding.scope)

    def _leave(self, depth: int) -> None:
        """Leave every node that is as deep as the next one, or deeper."""
        if depth <= self._types:
            self._types = 0
        while self._outer and depth <= self._outer[-1][0]:
            self.finding.scope = self._outer.pop()[1]

    def _visit(self, node: Node, kind: str, depth: int, page: Page) -> None:
        if kind in CASTS:
            self._casts.update(child.id for child in _after_keyword(node))
        if kind in SLASHES or kind in STARTS or kind in LEGACY_COMMENTS:
            self._doubt(node, kind, depth, page)
        if self.is_script and kind in TYPESCRIPT_ONLY:
            self.finding.add(node, "type syntax in JavaScript")
        is_parted = kind in ONE_LINE and _is_parted(node)
        if is_parted or (kind in SUFFIXED and self._is_misread(node, kind, page)):
            self.finding.add(node, AMBIGUOUS)
        if self._types and not self.is_script:
            judge_type(self.finding, node, kind)
        else:
            judge(self.finding, node, kind)

    def _doubt(self, node: Node, kind: str, depth: int, page: Page) -> None:
        """Refuse what one reader of the language takes for something else."""
        last = self._last
        before = "" if last is None else last.type
        if kind in SLASHES:
            # After a block this starts a regular expression.
            if before == "}":
                self.finding.add(node, AMBIGUOUS)
        elif kind in STARTS:
            if before == "!" and self._firm is not None and self._firm.type in NAMES:
                before = self._firm.type
            is_child = kind in ELEMENTS and self._is_child(node, depth)
            if before and before not in OPENERS and not is_child:
                self.finding.add(node, AMBIGUOUS)
        else:
            after = page.data[node.end_byte : node.end_byte + 3]
            is_first = last is None or last.end_point.row < node.start_point.row
            opens = kind == "<" and after == b"!--"
            closes = kind == "--" and after[:1] == b">" and is_first
            if opens or closes or kind == "html_comment":
                self.finding.add(node, "html comment")

    def _is_misread(self, node: Node, kind: str, page: Page) -> bool:
        """Whether brackets follow what another reader ends before them."""
        first = node.child(0)
        if self._types and not self.is_script:
            # Types call nothing but imports, and index types alone.
            return kind not in INSTANTIATED and first.type != "import"
        if kind == "subscript_expression" and _ends_in_types(first):
            return True
        if _ends_in_types(node) and _OPERATOR.match(page.data, node.end_byte):
            is_inside = self._last is not None and self._last.type == "<"
            return not (is_inside and _CLOSED.match(page.data, node.end_byte))
        return first.type in CASTS

    def _is_child(self, element: Node, depth: int) -> bool:
        """Whether an element is right in another, where no expression can be."""
        while self._jsx and self._jsx[-1][1] <= element.start_byte:
            self._jsx.pop()
        is_child = bool(self._jsx) and self._jsx[-1][0] == depth - 1
        self._jsx.append((depth, element.end_byte))
        return is_child


def _advance(cursor: TreeCursor, depth: int) -> int:
    """Go to the next node that is not below this one; its depth, 0 for none."""
    while not cursor.goto_next_sibling():
        if not cursor.goto_parent() or depth == 1:
            return 0
        depth -= 1
    return depth


def _after_keyword(cast: Node) -> list[Node]:
    found = list(children(cast))
    places = [n for n, child in enumerate(found) if child.type in ("as", "satisfies")]
    return found[places[0] + 1 :] if places else []


def _ends_in_types(node: Node) -> bool:
    """Whether the last of an expression are type arguments."""
    while node.type == "type_assertion":
        node = last_named(node) or node.children[0]
    last = last_named(node) if node.type in INSTANTIATED else None
    return last is not None and last.type == "type_arguments"


def _is_parted(node: Node) -> bool:
    """Whether a line ends after a node's first part."""
    first, *others = children(node)
    return bool(others) and others[0].start_point.row != first.end_point.row
