"""Sources made to keep the daemon busy, and how much work they are for it."""

from __future__ import annotations

from typing import Final

from bridge.protocol.limits import KIB

_LINE: Final = 90


def repeated(unit: str, size: int) -> str:
    """Lines of one unit, up to a size."""
    line = unit * max(1, _LINE // len(unit)) + "\n"
    return line * (size // len(line))


SOURCES: Final = {
    "calls": repeated("eval(s);", 16 * KIB),
    "members": repeated("a.constructor;", 16 * KIB),
    "divisions": repeated("a/b/c;", 8 * KIB),
    "classes": repeated("class A{b(){}}", 8 * KIB),
    "brackets": "x = " + repeated("(", 8 * KIB),
    "arrows": "x = " + repeated("()=>", 8 * KIB) + "0",
    "lists": "f(window,\n" + repeated("[", 4 * KIB) + repeated("]", 4 * KIB) + ")",
    "texts": "setTimeout([\n" + repeated("'a',", 32 * KIB) + "])",
    "choices": f"document.createElement(\n{repeated('a?b:', 8 * KIB)}c)",
    "documents": "x = document\n" + repeated("||document", 32 * KIB),
    "assignments": "let a;\n" + repeated("a=document;", 32 * KIB),
    "names": "a0=document;\n" + "".join(f"a{n + 1}=a{n};\n" for n in range(4_000)),
    "objects": "el.innerHTML = " + "Object.a(\n" * 100 + "y" + ")" * 100,
    "wide objects": "el.innerHTML = Object.a(\n"
    + repeated("Object.b(c),", 32 * KIB)
    + "d)",
    "patterns": "({\n" + repeated("constructor:a,", 64 * KIB) + "} = x)",
    "exports": "export default a\n" + repeated("+a", 256 * KIB),
    "elements": "/* @jsx h */\n" + repeated("f(<a>b</a>);", 16 * KIB),
    "strings": "x = [window,\n" + repeated("'a',", 32 * KIB) + "]",
    "regular expressions": "x = [window,\n" + repeated("/[/]/,", 64 * KIB) + "]",
}
"""By what they are made of; none of them is honest."""
