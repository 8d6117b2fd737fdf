"""Random programs: listed constructs, or none, in nested contexts."""

import re
from collections.abc import Callable
from typing import Final

from attrs import evolve, frozen

from .constructs import OUTSIDE, TEST_FILE, Expected, expect, listed
from .contexts import CONTEXTS, HASHBANG, HOLE, NAME, STARTS
from .writer import Choices, Writer, mark_for

SUFFIXES: Final = (
    *(".ts", ".ts", ".tsx", ".tsx", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs"),
)
_NAMED: Final = re.compile(NAME + "(?!x)")
_HARMLESS: Final = ("a", "f(a)", "a.b", "'a'", "1", "a.fetch(b)", "() => a")

Fill = Callable[[Writer], str]


@frozen
class Program:
    """
    One program.

    :ivar suffix: Of its file's name.
    :ivar scanned: Its text, as a plugin has it.
    :ivar built: The same with the marks the build needs.
    :ivar expected: What must be found in it, if it is live.
    """

    suffix: str
    scanned: str
    built: str
    expected: tuple[Expected, ...]


def disguised(choices: Choices) -> Program:
    """Write a program with at least one listed construct."""
    return _program(choices, is_honest=False)


def honest(choices: Choices) -> Program:
    """Write a program without any."""
    return _program(choices, is_honest=True)


def _program(choices: Choices, *, is_honest: bool) -> Program:
    suffix, scanned, expected = _write(choices, is_honest=is_honest, is_built=False)
    again = Choices(choices.seed)
    _, built, _ = _write(again, is_honest=is_honest, is_built=True)
    return Program(suffix, scanned, built, tuple(expected))


def _write(
    choices: Choices, *, is_honest: bool, is_built: bool
) -> tuple[str, str, list[Expected]]:
    suffix = choices.pick(SUFFIXES)
    writer = Writer(choices, suffix, is_built=is_built)
    expected: list[Expected] = []

    def construct(writer: Writer) -> str:
        if is_honest:
            return writer.choices.pick(_HARMLESS)
        code, found = listed(writer)
        expected.append(found)
        return code

    parts = [_statement(writer, construct) for _ in range(1 + choices.below(2))]
    if not is_honest and choices.rarely(6):
        code, found = _import(writer)
        parts.append(code)
        expected.append(found)
    if not is_honest and writer.has_elements and choices.rarely(8):
        code, found = _pragma(writer)
        parts.insert(0, code)
        # What the elements are made with is another function, and is refused.
        expected[:] = [evolve(one, rules=frozenset()) for one in expected]
        expected.append(found)
    code = "".join(_inert(writer) + part for part in parts) + _inert(writer)
    code = choices.pick(STARTS) + code
    if choices.rarely(20):
        code = HASHBANG + code.lstrip("\ufeff")
    return suffix, code, expected


def _statement(writer: Writer, construct: Fill) -> str:
    """Write a statement around an expression around a construct."""
    choices = writer.choices
    template = choices.pick(_available(writer, "STATEMENTS"))
    code = construct(writer)
    for _ in range(choices.pick((0, 0, 1, 1, 2, 3))):
        code = _put(writer, choices.pick(_available(writer, "EXPRESSIONS")), code)
    return _put(writer, template, code)


def _put(writer: Writer, template: str, code: str) -> str:
    if NAME in template:
        template = _NAMED.sub(writer.fresh(), template)
        template = template.replace(NAME, writer.fresh())
    # A function: the code may hold what a replacement cannot.
    return template.replace(HOLE, code)


def _inert(writer: Writer) -> str:
    if not writer.choices.rarely(3):
        return ""
    options = CONTEXTS["INERT"] + CONTEXTS["INERT_TYPED"] * writer.has_types
    return "\n" + _put(writer, writer.choices.pick(options), "") + "\n"


def _import(writer: Writer) -> tuple[str, Expected]:
    """Write an import of what the plugin may not read."""
    choices = writer.choices
    rule, path, mark = choices.pick(
        (
            ("import outside the plugin", "../outside", OUTSIDE),
            ("import outside the plugin", "./a/../../outside", OUTSIDE),
            ("imports a test file", "./some.test", TEST_FILE),
        )
    )
    where = writer.plain(path)
    forms = [f"import*as № from{where}\n;f(№)\n", f"import{where}\n"]
    forms += [f"export*from{where}\n", f"export{{y as №}}from{where}\n"]
    if not writer.is_module:
        forms = [f"f(require({where}))\n"]
    elif writer.has_types:
        forms += [f"import type{{Y}}from{where}\n"]
    if writer.has_types:
        forms += [f"import № = require({where})\n;f(№)\n"]
    # The rule for the name is another one, and is as good.
    code = _put(writer, choices.pick(forms), "")
    return code, expect("" if "require" in code else rule, mark)


def _pragma(writer: Writer) -> tuple[str, Expected]:
    """Write a comment that names what elements are made with."""
    mark = writer.marked("eval")
    forms = (
        f"/* @jsx {mark} */",
        f"/** @jsxRuntime classic @jsx {mark} */",
        f"// @jsx {mark}",
        f"/* @jsxFrag {mark} */",
        f"/*\n * @jsx {mark}.x\n */",
    )
    return writer.choices.pick(forms) + "\n;f(<></>, <b/>);\n", expect(
        "", mark_for("eval")
    )


def _available(writer: Writer, kind: str) -> list[str]:
    """List the contexts of a kind that the language of the file has."""
    wanted = [kind]
    if writer.has_types:
        wanted.append(f"{kind}_TYPED")
        wanted += [f"{kind}_ANGLED"] if writer.suffix == ".ts" else []
    if writer.has_elements:
        wanted.append(f"{kind}_MARKUP")
        wanted += [f"{kind}_MARKUP_TYPED"] if writer.has_types else []
    if writer.is_module:
        wanted.append(f"{kind}_MODULE")
        wanted += [f"{kind}_MODULE_TYPED"] if writer.has_types else []
    elif not writer.has_types:
        wanted.append(f"{kind}_COMMON")
    return [one for name in wanted for one in CONTEXTS[name]]
