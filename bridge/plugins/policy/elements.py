"""How JSX elements are judged, and the comments that say what they mean."""

from __future__ import annotations

import re
from typing import Final

from tree_sitter import Node

from .constants import TAG
from .constructs import CALLBACKS, CALLED_WITH_TEXT, CODE_TAGS, TIMERS, WORDS
from .finding import Finding
from .literals import named
from .scopes import Scope

_WITH_ELEMENTS: Final = (".tsx", ".jsx")
_MARK: Final = b"@jsx"
_FACTORY: Final = re.compile(r"@jsx(?:Frag)?\s+(\S+)")
_PACKAGE: Final = re.compile(r"@jsxImportSource\s+(\S+)")
# The file that the bundler imports of the package.
_RUNTIME: Final = "/jsx-runtime"


def attribute(finding: Finding, node: Node) -> None:
    """Judge the name of an attribute."""
    if finding.page.name(next(named(node))).lower() == "srcdoc":
        finding.add(node, "srcdoc")


def element(finding: Finding, node: Node) -> None:
    """Judge the name of an element."""
    name = node.child_by_field_name("name")
    if name is None:
        return
    tag = finding.page.name(name)
    if tag.lower() == "script":
        finding.add(node, "script tag")
    elif tag in CODE_TAGS:
        finding.add(node, "createElement of a code-loading tag")
    finding.named(TAG, name)
    if tag.islower():
        finding.dismiss([name])


def closing(finding: Finding, node: Node) -> None:
    """Leave a closing tag out: it says what the opening one did."""
    finding.dismiss(named(node))


def pragmas(finding: Finding, comment: Node) -> None:
    """
    Judge a comment like ``/* @jsx h */``.

    Each element of its file becomes a call of what it names, with a string first:
    so it says as much as code does.
    """
    has_elements = finding.name.endswith(_WITH_ELEMENTS)
    data = finding.page.data
    if not has_elements or data.find(_MARK, comment.start_byte, comment.end_byte) < 0:
        return
    text = finding.page.text(comment).removesuffix("*/")
    for factory in _FACTORY.findall(text):
        _called(finding, comment, factory.split("."))
    for package in _PACKAGE.findall(text):
        finding.imported(comment, package + _RUNTIME)


def _called(finding: Finding, comment: Node, names: list[str]) -> None:
    first, *members = names
    # Elements can be where no name of the author's hides the global one.
    everywhere = Scope()
    if first in WORDS:
        finding.add(comment, first)
    finding.access(comment, first, CALLED_WITH_TEXT if not members else "", everywhere)
    for of, member in zip(names, members, strict=False):
        finding.member(comment, member)
        root = of if of is first else f".{of}"
        finding.access(comment, root, member, everywhere)
    if any(CALLBACKS in name for name in names):
        finding.add(comment, CALLBACKS)
    if members and members[-1] in TIMERS:
        finding.add(comment, f"{members[-1]} with a string")
