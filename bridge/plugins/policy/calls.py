"""Which arguments of which calls are refused."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from tree_sitter import Node

from .constants import TAG
from .constructs import ASSIGNED, CODE_TAGS, TIMERS
from .literals import Page, branches, children, constant, named, parts, strings

_BORROWED = frozenset({"call", "apply", "bind"})
_CREATORS = frozenset({"createElement", "createElementNS"})
_SETTERS = frozenset({"setAttribute", "setAttributeNS", "createAttribute"})
_REFLECTORS = frozenset({"Reflect", "Object"})
_PLAIN = frozenset({"identifier", "member_expression", "subscript_expression"})
_KEYED = frozenset({"pair", "method_definition", "shorthand_property_identifier"})


def call_rules(call: Node, page: Page) -> Iterator[str]:
    """
    Judge a call.

    :return: The names of the rules it breaks.
    """
    callee = call.child_by_field_name("function")
    arguments = call.child_by_field_name("arguments")
    if callee is None or arguments is None:
        return
    for branch in branches(callee, page):
        name, of, borrowed = _called(branch, page)
        if name in _CREATORS and _has_code_tag(arguments, page):
            yield "createElement of a code-loading tag"
        if name in TIMERS and _starts_with_text(arguments, borrowed, page):
            yield f"{name} with a string"
        if name in _SETTERS and "srcdoc" in _lowered(arguments, page):
            yield "srcdoc"
        if of in _REFLECTORS:
            yield from _set_markup(arguments, page)


def named_arguments(call: Node, page: Page) -> Iterator[tuple[str, Node]]:
    """The arguments that may hold a refused string, each after its ``Use.place``."""
    callee = call.child_by_field_name("function")
    arguments = call.child_by_field_name("arguments")
    if callee is None or arguments is None or callee.type not in _PLAIN:
        return
    name, _, borrowed = _called(callee, page)
    if name in _CREATORS:
        yield from ((TAG, value) for value in _values(arguments))
    if name in TIMERS:
        count = 2 if borrowed else 1
        yield from ((name, value) for value in islice(_values(arguments), count))


def called_with_text(call: Node, page: Page) -> str | None:
    """The name that a call calls with a string as its first argument."""
    callee = call.child_by_field_name("function")
    arguments = call.child_by_field_name("arguments")
    if callee is None or arguments is None or callee.type != "identifier":
        return None
    return page.name(callee) if _starts_with_text(arguments, False, page) else None


def member_names(node: Node, page: Page) -> list[str]:
    """The names of the member a node reads, none when they are not constant."""
    if node.type == "subscript_expression":
        index = node.child_by_field_name("index")
        return [] if index is None else list(strings(index, page))
    member = node.child_by_field_name("property")
    return [] if member is None else [page.name(member)]


def _called(node: Node, page: Page) -> tuple[str, str, bool]:
    """The called function's name, its object's, and whether through ``call``."""
    if node.type == "identifier":
        return page.name(node), "", False
    name = next(iter(member_names(node, page)), "")
    target = node.child_by_field_name("object")
    if target is None:
        return name, "", False
    inner = next(branches(target, page), target)
    if name in _BORROWED:
        called, of, _ = _called_plainly(inner, page)
        return called, of, True
    return name, page.name(inner) if inner.type == "identifier" else "", False


def _called_plainly(node: Node, page: Page) -> tuple[str, str, bool]:
    if node.type == "identifier":
        return page.name(node), "", False
    target = node.child_by_field_name("object")
    of = page.name(target) if target and target.type == "identifier" else ""
    return next(iter(member_names(node, page)), ""), of, False


def _values(arguments: Node) -> Iterator[Node]:
    """The arguments, and the elements of those that are arrays."""
    if arguments.type == "template_string":
        yield arguments
        return
    for argument in named(arguments):
        is_spread = argument.type == "spread_element"
        inner = next(named(argument), argument) if is_spread else argument
        if inner.type == "array":
            yield from named(inner)
        else:
            yield inner


def _lowered(arguments: Node, page: Page) -> Iterator[str]:
    for value in _values(arguments):
        for text in strings(value, page):
            yield text.strip().lower()


def _has_code_tag(arguments: Node, page: Page) -> bool:
    return any(
        text.rpartition(":")[2] in CODE_TAGS for text in _lowered(arguments, page)
    )


def _starts_with_text(arguments: Node, borrowed: bool, page: Page) -> bool:
    for place, value in enumerate(_values(arguments)):
        if not borrowed and place > 0:
            break
        # A borrowed timer's first argument is what it is called on.
        if any(_is_text(branch, page) for branch in branches(value, page)):
            return True
    return False


def _is_text(node: Node, page: Page) -> bool:
    if node.type == "template_string":
        return True
    return any(part is not None for part in parts(node, page))


def _set_markup(arguments: Node, page: Page) -> Iterator[str]:
    """``Reflect.set(e, "innerHTML", h)``, ``Object.assign(e, {innerHTML: h})``."""
    for value in _values(arguments):
        if value.type == "object":
            keys = [key for child in children(value) for key in _keys(child, page)]
        elif value.type in ("string", "template_string", "binary_expression"):
            text = constant(value, page)
            keys = [] if text is None else [text]
        else:
            continue
        yield from (f"{key} assignment" for key in keys if key in ASSIGNED)


def _keys(member: Node, page: Page) -> Iterator[str]:
    if member.type in _KEYED:
        yield from key_names(member, page)


def key_names(member: Node, page: Page) -> Iterator[str]:
    """The constant names of an object literal's or pattern's member."""
    key = member.child_by_field_name("key") or member.child_by_field_name("name")
    key = member if key is None else key
    if key.type in ("string", "computed_property_name"):
        yield from strings(key, page)
    else:
        yield page.name(key)
