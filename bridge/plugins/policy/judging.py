"""How each kind of syntax node is judged."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from tree_sitter import Node

from .calls import (
    call_rules,
    called_with_text,
    key_names,
    member_names,
    named_arguments,
)
from .constants import ASSIGNMENT, MEMBER
from .constructs import ASSIGNED, CALLBACKS, CALLED_WITH_TEXT, WORDS
from .declaring import DECLARED, declare, is_type_only
from .elements import attribute, closing, element, pragmas
from .finding import Finding
from .kinds import RESERVED
from .literals import children, constant, is_sum, named, parts
from .scopes import assigned_members, object_names, pattern_keys

_SOURCE_MAP = re.compile(rb"[#@]\s*sourceMappingURL\s*=")


def judge(finding: Finding, node: Node, kind: str) -> None:
    """
    Judge a node that is evaluated.

    :raise TooComplexError: Its expressions are nested too deep.
    """
    if kind in DECLARED:
        declare(node, kind, finding.scope, finding.page)
    judged = JUDGES.get(kind)
    if judged is not None:
        judged(finding, node)


def judge_type(finding: Finding, node: Node, kind: str) -> None:
    """Judge a node of a type: only what it imports matters."""
    if kind == "comment":
        _comment(finding, node)
    elif kind == "call_expression":
        _imports_by_call(finding, node)


def _comment(finding: Finding, node: Node) -> None:
    data = finding.page.data
    place = data.find(b"sourceMappingURL", node.start_byte, node.end_byte)
    if place >= 0 and _SOURCE_MAP.search(data, node.start_byte, node.end_byte):
        finding.add(node, "source map reference")
    pragmas(finding, node)


def _imports_by_call(finding: Finding, node: Node) -> None:
    arguments = node.child_by_field_name("arguments")
    if arguments is not None and _is_import(finding, node):
        for argument in named(arguments):
            finding.specifier(argument)


def _is_import(finding: Finding, call: Node) -> bool:
    callee = call.children[0]
    # In a decorator, the keyword is a name like any other to this parser.
    is_name = callee.type == "identifier" and finding.page.name(callee) == "import"
    return is_name or callee.type == "import"


def _source(finding: Finding, node: Node) -> None:
    source = node.child_by_field_name("source")
    if source is not None:
        finding.specifier(source)


def _export(finding: Finding, node: Node) -> None:
    _source(finding, node)
    has_source = node.child_by_field_name("source") is not None
    for clause in children(node):
        if clause.type == "export_clause":
            # Another module's name for something is no name of this one.
            for specifier in named(clause):
                finding.dismiss([specifier.child_by_field_name("alias")])
                finding.dismiss(named(specifier) if has_source else [])
        elif clause.type == "namespace_export":
            finding.dismiss(named(clause))


def _import(finding: Finding, node: Node) -> None:
    _source(finding, node)
    if is_type_only(node):
        for clause in named(node):
            for names in named(clause):
                finding.dismiss([names, *named(names)])


def _import_specifier(finding: Finding, node: Node) -> None:
    # What is imported as a type, alone or with all others, is never a value.
    if finding.is_dismissed(node) or is_type_only(node):
        finding.dismiss(named(node))
    if node.child_by_field_name("alias") is not None:
        finding.dismiss([node.child_by_field_name("name")])


def _identifier(finding: Finding, node: Node) -> None:
    if finding.is_dismissed(node):
        return
    name = finding.page.name(node)
    if name in WORDS:
        finding.add(node, name)
    elif name == "opener":
        finding.access(node, name, "")
    elif name in RESERVED:
        finding.add(node, "ambiguous syntax")
    elif CALLBACKS in name:
        finding.add(node, CALLBACKS)


def _shorthand(finding: Finding, node: Node) -> None:
    _identifier(finding, node)
    name = finding.page.name(node)
    if node.type.endswith("_pattern"):
        finding.member(node, name)
    elif name.lower() == "srcdoc":
        finding.add(node, "srcdoc")


def _pair(finding: Finding, node: Node) -> None:
    if node.type == "pair_pattern":
        finding.named(MEMBER, node.child_by_field_name("key"))
    for name in key_names(node, finding.page):
        if node.type == "pair_pattern":
            finding.member(node, name)
        elif name.lower() == "srcdoc":
            finding.add(node, "srcdoc")


def _method(finding: Finding, node: Node) -> None:
    names = {name.lower() for name in key_names(node, finding.page)}
    if "srcdoc" in names and node.parent is not None and node.parent.type == "object":
        finding.add(node, "srcdoc")


def _property(finding: Finding, node: Node) -> None:
    if CALLBACKS in finding.page.name(node):
        finding.add(node, CALLBACKS)


def _member(finding: Finding, node: Node) -> None:
    target = node.child_by_field_name("object")
    place = node.child_by_field_name("property") or node.child_by_field_name("index")
    if target is None or place is None:
        return
    names = member_names(node, finding.page)
    for name in names:
        finding.member(place, name)
    if node.type == "subscript_expression":
        finding.named(MEMBER, place)
        names.append("[")
    for root in object_names(target, finding.page):
        for name in names:
            finding.access(place, root, name)


def _assignment(finding: Finding, node: Node) -> None:
    left = node.child_by_field_name("left")
    right = node.child_by_field_name("right")
    if left is None:
        return
    targets = [] if left.type == "identifier" else assigned_members(left, finding.page)
    for target in targets:
        finding.named(ASSIGNMENT, target.child_by_field_name("index"))
        for name in member_names(target, finding.page):
            if name in ASSIGNED:
                finding.add(target, f"{name} assignment")
    if right is not None and node.type != "for_in_statement":
        _bind(finding, left, right)


def _bound(finding: Finding, node: Node) -> None:
    """Follow an initial or default value into the name or pattern that takes it."""
    patterns = [node.child_by_field_name(each) for each in ("name", "pattern", "left")]
    values = [node.child_by_field_name(each) for each in ("value", "right")]
    for pattern in filter(None, patterns):
        for value in filter(None, values):
            _bind(finding, pattern, value)


def _bind(finding: Finding, pattern: Node, value: Node) -> None:
    if pattern.type in ("identifier", "shorthand_property_identifier_pattern"):
        finding.bind(finding.page.name(pattern), value)
    elif pattern.type == "object_pattern":
        for name in set(object_names(value, finding.page)):
            for key in pattern_keys(pattern):
                for member in key_names(key, finding.page):
                    finding.access(key, name, member)
                if key.type == "computed_property_name":
                    finding.access(key, name, "[")


def _enum(finding: Finding, node: Node) -> None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is not None and body is not None:
        finding.bind_members(finding.page.name(name), body)


def _import_alias(finding: Finding, node: Node) -> None:
    pattern, value = named(node)
    _bind(finding, pattern, value)


def _call(finding: Finding, node: Node) -> None:
    if _is_import(finding, node):
        _imports_by_call(finding, node)
        finding.add(node, "dynamic import")
    for rule in call_rules(node, finding.page):
        finding.add(node, rule)
    for place, argument in named_arguments(node, finding.page):
        finding.named(place, argument)
    name = called_with_text(node, finding.page)
    if name is not None:
        finding.access(node, name, CALLED_WITH_TEXT)


def _require(finding: Finding, node: Node) -> None:
    _source(finding, node)
    finding.add(node, "require")


def _string(finding: Finding, node: Node) -> None:
    finding.text(node, constant(node, finding.page) or "")


def _sum(finding: Finding, node: Node) -> None:
    if finding.is_dismissed(node) or not is_sum(node):
        return
    # Sums hang on each other's left side: they are judged once, as a whole.
    inner = node.child_by_field_name("left")
    while inner is not None and is_sum(inner):
        finding.dismiss([inner])
        inner = inner.child_by_field_name("left")
    _joined(finding, node)


def _joined(finding: Finding, node: Node) -> None:
    run: list[str] = []
    for part in [*parts(node, finding.page), None]:
        if part is not None:
            run.append(part)
        elif run:
            finding.text(node, "".join(run))
            run.clear()


def _with(finding: Finding, node: Node) -> None:
    finding.add(node, "with statement")


JUDGES: Final[dict[str, Callable[[Finding, Node], None]]] = {
    "identifier": _identifier,
    "shorthand_property_identifier": _shorthand,
    "shorthand_property_identifier_pattern": _shorthand,
    "method_definition": _method,
    "property_identifier": _property,
    "pair": _pair,
    "pair_pattern": _pair,
    "member_expression": _member,
    "subscript_expression": _member,
    "nested_identifier": _member,
    "assignment_expression": _assignment,
    "augmented_assignment_expression": _assignment,
    "for_in_statement": _assignment,
    "variable_declarator": _bound,
    "required_parameter": _bound,
    "optional_parameter": _bound,
    "assignment_pattern": _bound,
    "object_assignment_pattern": _bound,
    "enum_declaration": _enum,
    "import_alias": _import_alias,
    "import_statement": _import,
    "import_specifier": _import_specifier,
    "import_require_clause": _require,
    "export_statement": _export,
    "call_expression": _call,
    "string": _string,
    "template_string": _joined,
    "binary_expression": _sum,
    "comment": _comment,
    "jsx_attribute": attribute,
    "jsx_opening_element": element,
    "jsx_self_closing_element": element,
    "jsx_closing_element": closing,
    "with_statement": _with,
}
