"""
Source text into syntax nodes, in pieces whose cost is bounded.

One parse of a large file keeps every other thread waiting: the parser holds the
interpreter's lock, for longest at the end of its input, when everything still open is
closed at once.  So a file is parsed some top-level statements at a time.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterator
from functools import lru_cache

import tree_sitter_typescript
from attrs import define
from tree_sitter import Language, Node, Parser, Point, Tree

from ...protocol.limits import KIB, SOURCE_NESTING
from .literals import TooComplexError

WINDOW_BYTES = 64 * KIB
STATEMENT_BYTES = 256 * KIB
_READ_BYTES = 16 * KIB
_FREED_NODES = 60_000
_SECONDS = 1.0
_SECONDS_PER_KIB = 0.02
_RUN_BYTES = 64_000
_ANGLES = 200
_ARROWS = 10_000

_TYPESCRIPT = frozenset({".ts", ".mts", ".cts"})
_STATEMENTS = frozenset({"comment", "hash_bang_line", "statement_block"})
# An apostrophe after a letter is one in JSX text: no string starts there.
_QUIET = re.compile(
    rb"//.*|/\*(?:.*?\*/|.*)|(?<![A-Za-z])'(?:[^'\\]|\\.)*+'?|\"(?:[^\"\\]|\\.)*+\"?|[<>]="
)
_STRUCTURE = re.compile(rb"=>|[()\[\]{};,<>]")
_OPEN = frozenset({b"(", b"[", b"{"})
_CLOSED = frozenset({b")", b"]", b"}"})
_SEPARATORS = frozenset({b";", b",", b"{", b"}"})


class BadSyntaxError(Exception):
    """A source file that does not parse; the argument is the line, from 1."""


@define
class Piece:
    """
    Some top-level statements of a file.

    :ivar data: Their text, and some more.
    :ivar end: In ``data``, where they end.
    :ivar row: Lines of the file before this piece.
    """

    data: bytes
    end: int
    row: int
    _tree: Tree | None

    @property
    def root(self) -> Node:
        """The parent of the statements; its children from ``end`` on do not count."""
        assert self._tree is not None, "this piece is closed"  # noqa: S101
        return self._tree.root_node

    def close(self, language: Language) -> None:
        """
        Give the nodes' memory back, some at a time.

        Freeing a large tree at once is one long step.  A shorter text parsed from the
        same tree keeps the nodes it shares, so each round frees a little.
        """
        tree, self._tree = self._tree, None
        rest = self.data
        while tree is not None:
            count = tree.root_node.descendant_count
            if count <= _FREED_NODES:
                break
            wanted = len(rest) - len(rest) * _FREED_NODES // count
            cut = rest.rfind(b"\n", 0, wanted) + 1
            rows = rest.count(b"\n"), rest.count(b"\n", 0, cut)
            tree.edit(cut, len(rest), cut, (rows[1], 0), (rows[0], 0), (rows[1], 0))
            rest = rest[:cut]
            try:
                tree = _parse(rest, language, tree)
            except TooComplexError:
                break


@lru_cache
def grammar(suffix: str) -> Language:
    """
    The grammar for a file name's suffix.

    Only the grammar without JSX knows ``<T>value``; the other one reads all else.
    """
    if suffix in _TYPESCRIPT:
        return Language(tree_sitter_typescript.language_typescript())
    return Language(tree_sitter_typescript.language_tsx())


def pieces(content: bytes, language: Language) -> Iterator[Piece]:
    """
    Parse a file.

    :raise BadSyntaxError: It is not clean TypeScript or JavaScript.
    :raise TooComplexError: Parsing it would cost too much.
    """
    if _is_crowded(content):
        raise TooComplexError
    start, row, size = 0, 0, WINDOW_BYTES
    while start < len(content):
        end = _line_end(content, start + size)
        data = content[start:end]
        tree = _parse(data, language)
        is_last = end == len(content)
        error = _first_error(tree.root_node) if is_last else None
        kept = len(data) if is_last else _complete(tree.root_node, size)
        piece = Piece(data, kept, row, tree)
        del tree
        if kept and error is None:
            yield piece
        piece.close(language)
        if error is not None:
            raise BadSyntaxError(row + error + 1)
        if not kept and size >= STATEMENT_BYTES:
            raise TooComplexError
        row += data.count(b"\n", 0, kept)
        # With nothing kept, a statement is longer than this.
        start, size = start + kept, WINDOW_BYTES if kept else size * 2


def _line_end(content: bytes, wanted: int) -> int:
    if wanted >= len(content):
        return len(content)
    return content.rfind(b"\n", 0, wanted) + 1 or wanted


def _parse(data: bytes, language: Language, old: Tree | None = None) -> Tree:
    # Processor time, so that a busy machine changes no verdict.
    deadline = time.thread_time() + _SECONDS + _SECONDS_PER_KIB * len(data) / KIB

    def read(offset: int, point: Point) -> bytes:
        return data[offset : offset + _READ_BYTES]

    def is_late(offset: int, has_error: bool) -> bool:
        return time.thread_time() > deadline

    try:
        # Only with both callbacks do other threads get their turns during a parse.
        if old is not None:
            return Parser(language).parse(read, old, progress_callback=is_late)
        return Parser(language).parse(read, progress_callback=is_late)
    except ValueError:
        raise TooComplexError from None


def _complete(root: Node, size: int) -> int:
    """
    Where the statements end that cutting the text off cannot have changed.

    :param size: The window's: before the widest one is given up, one more statement
        has to follow instead of two.
    """
    cursor = root.walk()
    ends = [0, 0, 0] if size < STATEMENT_BYTES else [0, 0]
    is_first = True
    more = cursor.goto_first_child()
    while more:
        node = cursor.node
        if node is None or node.has_error or not _is_statement(node):
            break
        # A statement can go on after comments, so they do not end one.
        is_first = is_first and node.type == "comment"
        if is_first:
            ends = [node.end_byte] * len(ends)
        elif node.type != "comment":
            ends.append(node.end_byte)
            del ends[0]
        more = cursor.goto_next_sibling()
    return ends[0]


def _is_statement(node: Node) -> bool:
    # What is left open at the end of the text lies about in loose tokens.
    return node.type in _STATEMENTS or node.type.endswith(
        ("_statement", "_declaration")
    )


def _first_error(root: Node) -> int | None:
    """The row of the first place that does not parse; None when all of it does."""
    if not root.has_error:
        return None
    cursor = root.walk()
    row = root.start_point.row
    more = True
    while more:
        node = cursor.node
        if node is None or node.is_error or node.is_missing:
            break
        row = node.start_point.row
        more = (
            cursor.goto_first_child() if node.has_error else cursor.goto_next_sibling()
        )
    return row if node is None else node.start_point.row


def _quiet(match: re.Match[bytes]) -> bytes:
    text = match[0]
    is_open = text.startswith(b"/*") and (len(text) < 4 or not text.endswith(b"*/"))
    return b"/*" if is_open else b" "


def _is_crowded(data: bytes) -> bool:
    """
    Whether a text nests deeper than a parser's time is worth.

    It reads brackets as they come and can be misled by templates and JSX: it spares
    time, and no verdict of acceptance rests on it.
    """
    arrows = [0]
    angles = run = 0
    commented = False
    for whole in io.BytesIO(data):
        line = whole.rstrip(b"\n")
        if commented:
            _, closed, line = line.partition(b"*/")
            commented = not closed
        code, opened, _ = _QUIET.sub(_quiet, line).partition(b"/*")
        commented = commented or bool(opened)
        run += len(code.strip())
        for token in _STRUCTURE.findall(code):
            _count_arrows(arrows, token)
            angles = max(0, angles + (token == b"<") - (token == b">"))
            if token in _SEPARATORS:
                run = 0
                angles = angles if token == b"," else 0
        if (
            len(arrows) > SOURCE_NESTING
            or arrows[-1] > _ARROWS
            or angles > _ANGLES
            or run > _RUN_BYTES
        ):
            return True
    return False


def _count_arrows(open_brackets: list[int], token: bytes) -> None:
    """Keep, for each open bracket, the arrow functions not ended since."""
    if token in _OPEN:
        open_brackets.append(0)
    elif token in _CLOSED:
        # The last one stays when more are closed than were opened.
        if len(open_brackets) > 1:
            open_brackets.pop()
    elif token == b"=>":
        open_brackets[-1] += 1
    elif token in _SEPARATORS:
        open_brackets[-1] = 0
