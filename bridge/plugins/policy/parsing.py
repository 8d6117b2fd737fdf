"""
Source text into syntax nodes, in pieces whose cost is bounded.

One parse of a large file keeps every other thread waiting: the parser holds the
interpreter's lock, for longest at the end of its input, when everything still open is
closed at once, and when a tree is freed.  So a file is parsed some top-level statements
at a time, in trees of bounded size, and no further when it is full of errors.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import lru_cache

import tree_sitter_typescript
from attrs import frozen
from tree_sitter import Language, Node, Parser, Point, Tree

from ...protocol.limits import KIB, SOURCE_ERRORS
from .budget import Budget, TooComplexError
from .crowding import Crowding

WINDOW_BYTES = 32 * KIB
STATEMENT_BYTES = 128 * KIB
_LEAST_BYTES = 4 * KIB
_READ_BYTES = 16 * KIB
_REPORTS = 3_000
# What does not parse makes trees that take the longest to free.
_BROKEN_REPORTS = 1_500
# Of text with fewer bytes than that between reports, there may be fewer.
_DENSE_REPORTS = 1_400
_DENSE_BYTES = 36
# Comments are nodes that the parser takes without a step to report.
_COMMENTS = 8_000
_SECONDS = 1.0
_SECONDS_PER_KIB = 0.02
_MOST_ERRORS = 30_000

TYPESCRIPT = frozenset({".ts", ".mts", ".cts"})
"""Suffixes of files without elements."""

_STATEMENTS = frozenset({"comment", "hash_bang_line", "statement_block"})


class TooLargeTreeError(TooComplexError):
    """A text with more syntax nodes than may be freed at once."""


class BadSyntaxError(Exception):
    """A source file that does not parse; the argument is the line, from 1."""


@frozen
class Piece:
    """
    Some top-level statements of a file.

    :ivar data: Their text, and some more.
    :ivar end: In ``data``, where they end.
    :ivar row: Lines of the file before this piece.
    :ivar root: The parent of the statements; its children from ``end`` on do not count.
    """

    data: bytes
    end: int
    row: int
    root: Node


@lru_cache
def grammar(suffix: str) -> Language:
    """
    The grammar for a file name's suffix.

    Only the grammar without JSX knows ``<T>value``; the other one reads all else.
    """
    if suffix in TYPESCRIPT:
        return Language(tree_sitter_typescript.language_typescript())
    return Language(tree_sitter_typescript.language_tsx())


def pieces(content: bytes, language: Language, budget: Budget) -> Iterator[Piece]:
    """
    Parse a file.

    :raise BadSyntaxError: It is not clean TypeScript or JavaScript.
    :raise TooComplexError: Parsing it would cost too much.
    """
    crowding = Crowding(content)
    start, row, size, usual = 0, 0, WINDOW_BYTES, WINDOW_BYTES
    while start < len(content):
        end = _line_end(content, start + size)
        data = content[start:end]
        crowding.read_to(end)
        try:
            tree = _parse(data, language)
        except TooLargeTreeError:
            if size > usual or size <= _LEAST_BYTES:
                raise
            size = usual = size // 2
            continue
        is_last = end == len(content)
        errors = _errors(tree.root_node)
        budget.spend(tree.root_node.descendant_count, len(errors))
        is_bad = bool(errors) if is_last else _is_noise(errors, data)
        kept = len(data) if is_last else _complete(tree.root_node, size)
        if is_bad:
            raise BadSyntaxError(row + errors[0] + 1)
        if not kept and size >= STATEMENT_BYTES:
            raise TooComplexError
        if kept:
            yield Piece(data, kept, row, tree.root_node)
        row += data.count(b"\n", 0, kept)
        # With nothing kept, a statement is longer than this.
        start, size = start + kept, usual if kept else size * 2


def _line_end(content: bytes, wanted: int) -> int:
    if wanted >= len(content):
        return len(content)
    return content.rfind(b"\n", 0, wanted) + 1 or wanted


def _parse(data: bytes, language: Language) -> Tree:
    """
    Parse a text.

    :raise TooLargeTreeError: A tree of it takes too long to free, which is one step.
        The parser reports after every hundred steps of its own, so those are counted.
    :raise TooComplexError: It took too long.
    """
    if data.count(b"/*") > _COMMENTS:
        raise TooLargeTreeError
    # Processor time, so that a busy machine changes no verdict.
    deadline = time.thread_time() + _SECONDS + _SECONDS_PER_KIB * len(data) / KIB

    reports = broken = 0
    is_large = False

    def read(offset: int, point: Point) -> bytes:
        return data[offset : offset + _READ_BYTES]

    def is_enough(offset: int, has_error: bool) -> bool:
        nonlocal reports, broken, is_large
        reports += 1
        broken += has_error
        is_dense = reports > _DENSE_REPORTS and offset < reports * _DENSE_BYTES
        is_large = is_dense or reports > _REPORTS or broken > _BROKEN_REPORTS
        return is_large or time.thread_time() > deadline

    try:
        # Only with both callbacks do other threads get their turns during a parse.
        return Parser(language).parse(read, progress_callback=is_enough)
    except ValueError:
        raise (TooLargeTreeError if is_large else TooComplexError) from None


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


def _errors(root: Node) -> list[int]:
    """The rows of the places that do not parse, the first ones of very many."""
    found: list[int] = []
    cursor = root.walk()
    depth = 0
    while len(found) <= _MOST_ERRORS:
        node = cursor.node
        if node is None:
            break
        if node.is_error or node.is_missing:
            found.append(node.start_point.row)
        if node.has_error and cursor.goto_first_child():
            depth += 1
            continue
        while not cursor.goto_next_sibling():
            if depth == 0 or not cursor.goto_parent():
                return found
            depth -= 1
    return found


def _is_noise(errors: list[int], data: bytes) -> bool:
    """Whether more than the end of a text that was cut off does not parse."""
    # The cut leaves an error or two; but inside a comment, all of it are errors.
    is_commented = data.rfind(b"/*") > data.rfind(b"*/")
    return len(errors) > SOURCE_ERRORS and not is_commented
