"""
The reference of the plugin API, from the TypeScript of ``packages/api``.

It reads the part of the language that the API is written in: exported interfaces,
types, classes, functions and constants, each with a comment.  Anything else is an
error, so that nothing is left out of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent, indent
from typing import Final

from attrs import frozen

SOURCES: Final = Path(__file__).parents[1] / "bridge/reference/packages/api/src"

_COMMENT: Final = r"/\*\*(?P<doc>(?:(?!\*/).)*)\*/\s*"
_DECLARATION: Final = re.compile(
    rf"(?:{_COMMENT})?^export "
    r"(?P<kind>interface|type|class|function|const) (?P<name>\w+)",
    re.DOTALL | re.MULTILINE,
)
_MEMBER: Final = re.compile(rf"\s*(?:{_COMMENT})?", re.DOTALL)
_TAG: Final = re.compile(r"^@(\w+)\s*", re.MULTILINE)
_EXPORTS: Final = re.compile(
    r"^export (?:type )?\{([^}]*)\} from \"\./(\w+)\.js\";", re.MULTILINE
)
_TAGS: Final = {"returns": "Returns", "throws": "Throws"}


class UnreadableError(ValueError):
    """A source that is not written as the API is."""


@frozen
class Member:
    """
    A member of an interface or a class.

    :ivar signature: Its code in one line, without ``readonly``.
    :ivar doc: Its comment; empty without one.
    """

    signature: str
    doc: str


@frozen
class Declaration:
    """
    An exported name.

    :ivar code: The declaration without comments and without the body of a function.
    :ivar members: Of an interface or a class.
    """

    name: str
    doc: str
    code: str
    members: tuple[Member, ...]


def reference() -> Iterator[str]:
    """Every exported name of ``index.ts`` and of ``testing.ts``, in their order."""
    opening, own = _exported("index.ts")
    yield f"{opening}\n"
    for declaration in own:
        yield from _section(declaration, "###")
    yield "### Testing\n"
    opening, own = _exported("testing.ts")
    yield f"{opening} The module is `@bridge/plugin-api/testing`.\n"
    for declaration in own:
        yield from _section(declaration, "####")


def _exported(name: str) -> tuple[str, list[Declaration]]:
    """
    Read what a module exports, from wherever it is declared.

    :return: The module's opening comment, and the declarations.
    """
    index = (SOURCES / name).read_text("utf-8")
    opening = re.match(_COMMENT, index, re.DOTALL)
    if opening is None:
        raise UnreadableError(f"{name}: there is no opening comment")
    own = {one.name: one for one in declarations(index)}
    for names, module in _EXPORTS.findall(index):
        text = (SOURCES / f"{module}.ts").read_text("utf-8")
        known = {one.name: one for one in declarations(text)}
        own |= {name: known[name] for name in re.findall(r"\w+", names)}
    return _prose(opening["doc"]), list(own.values())


def declarations(text: str) -> Iterator[Declaration]:
    """
    Read the exported declarations of a module.

    :raise UnreadableError: One has no comment, or does not end.
    """
    for found in _DECLARATION.finditer(text):
        name, kind = found["name"], found["kind"]
        if found["doc"] is None:
            raise UnreadableError(f"{name}: there is no comment")
        start = found.start("kind")
        members: tuple[Member, ...] = ()
        if kind in ("interface", "class"):
            opened = text.index("{", start)
            end = _end(text, opened, name)
            members = tuple(_members(text[opened + 1 : end - 1], name))
        elif kind == "type":
            end = _end(text, start, name, ";")
        elif kind == "function":
            # Its body follows the type it returns.
            end = re.compile(r" \{$", re.MULTILINE).search(text, start).start()  # type: ignore[union-attr]
        else:
            end = text.index(" =", start)
        code = _code(text[start:end])
        if kind == "class":
            # Without the bodies of its functions.
            head = code.partition("\n")[0]
            own = [f"  readonly {member.signature};" for member in members]
            code = "\n".join([head, *own, "}"]) if own else f"{head.rstrip(' {')} {{}}"
        yield Declaration(name, _prose(found["doc"]), code, members)


def _members(body: str, name: str) -> Iterator[Member]:
    at = 0
    while body[at:].strip():
        found = _MEMBER.match(body, at)
        start = found.end() if found else at
        end = _end(body, start, name, ";", "{")
        signature = body[start:end].rstrip(";")
        if signature.startswith("constructor"):
            end = _end(body, body.index("{", start), name)
        else:
            line = " ".join(_code(signature).removeprefix("readonly ").split())
            doc = _prose(found["doc"] or "") if found else ""
            yield Member(_tight(line), doc)
        at = end


def _end(text: str, start: int, name: str, *stops: str) -> int:
    """
    Find where something ends: after its outermost bracket, or after a stop.

    :param stops: What ends it outside of brackets; a ``{`` only after ``)``.
    """
    depth = 0
    at = start
    while at < len(text):
        if text.startswith("/*", at):
            at = text.index("*/", at) + 2
            continue
        char = text[at]
        if char in stops and depth == 0 and (char != "{" or text[at - 2] == ")"):
            return at + (char == ";")
        depth += (char in "([{") - (char in ")]}")
        at += 1
        if depth == 0 and char == "}" and not stops:
            return at
    raise UnreadableError(f"{name}: it does not end")


def _code(text: str) -> str:
    without = re.sub(r"[ \t]*/\*\*.*?\*/[ \t]*", "", text, flags=re.DOTALL)
    lines = [line.rstrip() for line in without.splitlines()]
    return "\n".join(line for line in lines if line)


def _tight(line: str) -> str:
    """Undo the line breaks of a long signature."""
    line = re.sub(r"([(\[]) ", r"\1", line)
    return re.sub(r",? ([)\]])", r"\1", line)


def _prose(comment: str) -> str:
    """Return a comment as Markdown: paragraphs, and a list of what is tagged."""
    text = dedent(re.sub(r"^\s*\* ?", "", comment.strip("* \n"), flags=re.MULTILINE))
    opening, *tagged = _TAG.split(text)
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", opening)]
    for tag, words in zip(tagged[::2], tagged[1::2], strict=True):
        line = " ".join(words.split())
        if tag == "param":
            name, _, line = line.partition(" ")
            paragraphs.append(f"`{name}`: {line}")
        else:
            paragraphs.append(f"{_TAGS[tag]}: {line[0].lower()}{line[1:]}")
    return "\n\n".join(filter(None, paragraphs))


def _section(declaration: Declaration, heading: str) -> Iterator[str]:
    yield f"{heading} {declaration.name}\n"
    yield f"{declaration.doc}\n"
    yield f"```ts\n{declaration.code}\n```\n"
    for member in declaration.members:
        if member.doc:
            doc = indent(member.doc, "  ")
            yield f"- `{member.signature}`\n\n{doc}\n"
