"""
Source text into syntax nodes, in pieces whose cost is bounded.

One parse of a large file keeps every other thread waiting: the parser holds the
interpreter's lock, for longest at the end of its input, when everything still open is
closed at once.  So a file is parsed some top-level statements at a time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import lru_cache

import tree_sitter_typescript
from attrs import frozen
from tree_sitter import Language, Node, Parser, Point, Tree

from ...protocol.limits import KIB, SOURCE_NESTING
from .literals import TooComplexError

WINDOW_BYTES = 64 * KIB
_READ_BYTES = 16 * KIB
_SECONDS = 0.25
_SECONDS_PER_KIB = 0.004
_RUN_BYTES = 20_000
_ANGLES = 200

_TYPESCRIPT = frozenset({".ts", ".mts", ".cts"})
_STATEMENTS = frozenset({"comment", "hash_bang_line", "statement_block"})
_QUIET = re.compile(
    rb"//.*|/\*(?:.*?\*/|.*)|'(?:[^'\\]|\\.)*+'?|\"(?:[^\"\\]|\\.)*+\"?|=>|[<>]="
)
_STRUCTURE = re.compile(rb"[()\[\]{};,<>]")


class BadSyntaxError(Exception):
    """A source file that does not parse; the argument is the line, from 1."""


@frozen
class Piece:
    """
    Some top-level statements of a file.

    :ivar root: Their parent node, whose children from ``end`` on do not count.
    :ivar end: In ``data``, where the next piece starts.
    :ivar row: Lines of the file before this piece.
    """

    data: bytes
    root: Node
    end: int
    row: int


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
    while True:
        end = _line_end(content, start + size)
        data = content[start:end]
        root = _parse(data, language).root_node
        if end == len(content):
            if root.has_error:
                raise BadSyntaxError(row + _first_error(root) + 1)
            yield Piece(data, root, len(data), row)
            return
        kept = _complete(root)
        if kept == 0:
            # A statement longer than this.
            size *= 2
            continue
        yield Piece(data, root, kept, row)
        row += content.count(b"\n", start, start + kept)
        start, size = start + kept, WINDOW_BYTES


def _line_end(content: bytes, wanted: int) -> int:
    if wanted >= len(content):
        return len(content)
    return content.rfind(b"\n", 0, wanted) + 1 or wanted


def _parse(data: bytes, language: Language) -> Tree:
    # Processor time, so that a busy machine changes no verdict.
    deadline = time.thread_time() + _SECONDS + _SECONDS_PER_KIB * len(data) / KIB

    def read(offset: int, point: Point) -> bytes:
        return data[offset : offset + _READ_BYTES]

    def is_late(offset: int, has_error: bool) -> bool:
        return time.thread_time() > deadline

    try:
        # Only with both callbacks do other threads get their turns during a parse.
        return Parser(language).parse(read, progress_callback=is_late)
    except ValueError:
        raise TooComplexError from None


def _complete(root: Node) -> int:
    """Where the statements end that cutting the text off cannot have changed."""
    cursor = root.walk()
    ends = [0, 0, 0]
    more = cursor.goto_first_child()
    while more:
        node = cursor.node
        if node is None or node.has_error or not _is_statement(node):
            break
        ends.append(node.end_byte)
        del ends[0]
        more = cursor.goto_next_sibling()
    return ends[0]


def _is_statement(node: Node) -> bool:
    # What is left open at the end of the text lies about in loose tokens.
    return node.type in _STATEMENTS or node.type.endswith(
        ("_statement", "_declaration")
    )


def _first_error(root: Node) -> int:
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
    depth = angles = run = 0
    commented = False
    for whole in data.split(b"\n"):
        line = whole
        if commented:
            _, closed, line = whole.partition(b"*/")
            commented = not closed
        code, opened, _ = _QUIET.sub(_quiet, line).partition(b"/*")
        commented = commented or bool(opened)
        run += len(code)
        for token in _STRUCTURE.findall(code):
            depth += (token in b"([{") - (token in b")]}")
            angles = max(0, angles + (token == b"<") - (token == b">"))
            if token in b";{}":
                angles = 0
            if token in b";,{}":
                run = 0
        if depth > SOURCE_NESTING or angles > _ANGLES or run > _RUN_BYTES:
            return True
    return False
