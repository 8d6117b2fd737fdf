"""Mutants: sources of a module that differ from it by one small change."""

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any

from attrs import frozen

_BOUNDARY: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_NEGATED: dict[type, type] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
}
_ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_UNCHANGED_FIELDS = ("annotation", "returns", "type_params")


@frozen
class Mutant:
    """
    One change of a module.

    :ivar tree: The changed module.
    :ivar line: Where it is changed, from 1.
    :ivar lines: All lines of what is changed.
    :ivar change: The piece before and after, for people.
    """

    tree: ast.Module
    line: int
    lines: range
    change: str


def mutants(source: str) -> Iterator[Mutant]:
    """Make every mutant of a module, in the order of its text."""
    tree = ast.parse(source)
    for number, (_, _, _, node, unit) in enumerate(_places(tree)):
        for changed in _VARIANTS.get(type(node), lambda _: iter(()))(node):
            mutated = copy.deepcopy(tree)
            parent, name, index, _, _ = list(_places(mutated))[number]
            ast.copy_location(changed, node)
            if index is None:
                setattr(parent, name, changed)
            else:
                getattr(parent, name)[index] = changed
            ast.fix_missing_locations(mutated)
            lines = range(unit.lineno, (unit.end_lineno or unit.lineno) + 1)
            change = f"{_short(node)}  ->  {_short(changed)}"
            yield Mutant(mutated, node.lineno, lines, change)


def _places(
    node: ast.AST, unit: ast.AST | None = None
) -> Iterator[tuple[ast.AST, str, int | None, Any, Any]]:
    """
    Go through what may be changed: its parent, the field, the index there, itself.

    Last comes what tests cover when they run it: a statement, or a piece of its head.
    """
    is_head = isinstance(node, ast.stmt) and hasattr(node, "body")
    for name, value in ast.iter_fields(node):
        if name in _UNCHANGED_FIELDS:
            continue
        listed = isinstance(value, list)
        for index, child in enumerate(value if listed else [value]):
            around = child if is_head or unit is None else unit
            if isinstance(child, ast.stmt):
                around = getattr(child, "test", child)
            if isinstance(child, ast.expr | ast.stmt | ast.excepthandler):
                yield node, name, index if listed else None, child, around
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                # Arguments have no line of their own; each of them has.
                located = hasattr(around, "lineno")
                yield from _places(child, around if located else None)


def _compared(node: Any) -> Iterator[ast.AST]:
    for index, op in enumerate(node.ops):
        for table in (_BOUNDARY, _NEGATED):
            if type(op) in table:
                ops = [*node.ops[:index], table[type(op)](), *node.ops[index + 1 :]]
                yield ast.Compare(node.left, ops, node.comparators)


def _both(node: Any) -> Iterator[ast.AST]:
    op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
    yield ast.BoolOp(op, node.values)


def _calculated(node: Any) -> Iterator[ast.AST]:
    if type(node.op) in _ARITHMETIC:
        yield ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)


def _signed(node: Any) -> Iterator[ast.AST]:
    if isinstance(node.op, ast.Not | ast.USub):
        yield node.operand


def _constant(node: Any) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value - 1)


def _condition(node: Any) -> Iterator[ast.AST]:
    if not isinstance(node.test, ast.Compare | ast.UnaryOp | ast.Constant):
        negated = copy.copy(node)
        negated.test = ast.UnaryOp(ast.Not(), node.test)
        yield negated


def _returned(node: Any) -> Iterator[ast.AST]:
    if node.value is None:
        yield ast.Pass()
    elif not (isinstance(node.value, ast.Constant) and node.value.value is None):
        yield ast.Return(ast.Constant(None))


def _statement(node: Any) -> Iterator[ast.AST]:
    # Neither docstrings, nor names of which the rest of the function needs the value.
    described = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if not described and not (
        isinstance(node, ast.Assign)
        and not isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    ):
        yield ast.Pass()


def _caught(node: Any) -> Iterator[ast.AST]:
    if len(node.body) > 1:
        yield ast.ExceptHandler(node.type, node.name, [ast.Pass()])


_VARIANTS: dict[type, Callable[[Any], Iterator[ast.AST]]] = {
    ast.Compare: _compared,
    ast.BoolOp: _both,
    ast.BinOp: _calculated,
    ast.UnaryOp: _signed,
    ast.Constant: _constant,
    **dict.fromkeys((ast.If, ast.While, ast.IfExp), _condition),
    ast.Return: _returned,
    **dict.fromkeys((ast.Expr, ast.Assign, ast.AugAssign, ast.Raise), _statement),
    **dict.fromkeys((ast.Delete, ast.Break, ast.Continue), _statement),
    ast.ExceptHandler: _caught,
}
"""What may stand in the place of a piece, by its class."""


def _short(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(copy.deepcopy(node)))
    first, *more = text.splitlines()
    return first + (" ..." if more else "")
