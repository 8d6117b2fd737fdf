"""The listed constructs, each written as an expression in some disguise."""

import re
from collections.abc import Callable
from re import Pattern
from typing import Final

from attrs import frozen

from .writer import Writer, mark_for

WORDS: Final = (
    *("eval", "Function", "globalThis", "window", "opener", "localStorage"),
    *("sessionStorage", "indexedDB", "XMLHttpRequest", "fetch", "WebSocket"),
    *("EventSource", "Worker", "SharedWorker", "importScripts", "require"),
)
MEMBERS: Final = (
    *("constructor", "defaultView", "localStorage", "sessionStorage", "indexedDB"),
    *("sendBeacon", "insertAdjacentHTML", "srcdoc", "__receiveMessageCallbacks"),
)
ASSIGNED: Final = ("innerHTML", "outerHTML")
TAGS: Final = ("script", "iframe", "frame", "object", "embed")
WINDOWS: Final = ("top", "parent", "frames")
WINDOW_MEMBERS: Final = (
    *("document", "window", "self", "top", "parent", "frames", "opener", "location"),
    *("history", "navigator", "postMessage", "globalThis", "eval", "Function"),
    *("fetch", "XMLHttpRequest", "WebSocket", "EventSource", "open"),
)
USES: Final = {
    "document.cookie": ("document", "cookie"),
    "document.location": ("document", "location"),
    "location.href": ("location", "href"),
    "location.assign": ("location", "assign"),
    "Reflect.get": ("Reflect", "get"),
}
ROOTS: Final = (*WINDOWS, "self", "process", "document", "location", "Reflect")
DEFINED: Final = (*WORDS, *ROOTS, "setTimeout", "setInterval")
"""Names that the build is asked to mark where nothing declares them."""

PREFIX: Final = "MARK7_"
OUTSIDE: Final = "MARK7outside"
TEST_FILE: Final = "MARK7testfile"
_QUOTE: Final = "[\"'`]"


@frozen
class Expected:
    """
    What must be found if it is live.

    :ivar rules: One of these must be reported; any hit will do if there are none.
    :ivar mark: It is live where this is found in the bundle, in lower case.
    """

    rules: frozenset[str]
    mark: Pattern[str]


def expect(rule: str, *marks: str) -> Expected:
    """Return what must be found where the bundle holds one of these texts."""
    return expect_pattern(rule, "|".join(map(re.escape, marks)))


def expect_pattern(rule: str, pattern: str) -> Expected:
    """Return what must be found where the bundle has a place like this."""
    rules = frozenset(filter(None, rule.split(" or ")))
    return Expected(rules, re.compile(pattern.lower()))


def free_word(writer: Writer) -> tuple[str, Expected]:
    """Write a name that may not be used."""
    word = writer.choices.pick(WORDS)
    return writer.name(word), expect(word, PREFIX + word)


def window_use(writer: Writer) -> tuple[str, Expected]:
    """Write a use of one of the page's windows."""
    root = writer.choices.pick((*WINDOWS, "self", "process"))
    mark = PREFIX + root
    if root != "process" and writer.choices.rarely(3):
        name = writer.name(root)
        code = f"{name}[0]"
        return code, expect(root, f"{mark}[", f"{mark}?.[")
    member = writer.choices.pick(WINDOW_MEMBERS)
    code = _member(writer, _object(writer, writer.name(root)), member)
    return code, expect(root, f"{mark}.{member}", f"{mark}?.{member}")


def root_use(writer: Writer) -> tuple[str, Expected]:
    """Write a use of a name of which only some members may not be used."""
    rule, (root, member) = writer.choices.pick(tuple(USES.items()))
    mark = PREFIX + root
    code = _member(writer, _object(writer, writer.name(root)), member)
    marks = (f"{mark}.{member}", f"{mark}?.{member}")
    if member in ("get", "assign"):
        code += "(a,b)"
    return code, expect(rule, *marks)


def computed_document(writer: Writer) -> tuple[str, Expected]:
    """Write a computed member of the document."""
    name = _object(writer, writer.name("document"))
    dot = writer.choices.pick(("", "?."))
    mark = f"{PREFIX}document"
    code = f"{name}{dot}[a]"
    return code, expect("document[", f"{mark}[", f"{mark}?.[")


def member(writer: Writer) -> tuple[str, Expected]:
    """Write a member that may not be used, of any object."""
    word = writer.choices.pick(MEMBERS)
    text = writer.marked(word)
    way = writer.choices.below(12)
    if way < 5:
        code = _member(writer, _object(writer, "o"), text)
    elif way == 5 and writer.has_types:
        name = writer.fresh()
        inner = writer.literal(text)
        # An enum is a statement, and its members are constants.
        body = f"enum {name}{{A={inner}}}"
        code = f"(()=>{{{body};return o[{name}.A]}})()"
    else:
        code = _taken(writer, text)
    return code, expect(word, mark_for(word))


def assigned(writer: Writer) -> tuple[str, Expected]:
    """Write an assignment to a member that nothing may be assigned to."""
    word = writer.choices.pick(ASSIGNED)
    text = writer.marked(word)
    target = _member(writer, _object(writer, "o"), text, is_optional=False)
    key = _key(writer, text)
    ways = (
        f"{target}=x",
        f"{target}+=x",
        f"[{target}]=x",
        f"({{a:{target}=1}}=x)",
        f"[...{target}]=x",
        f"Object.assign(o,{{{key}:x}})",
        f"(()=>{{for({target} of x);}})()",
    )
    code = f"({writer.choices.pick(ways)})"
    return code, expect(f"{word} assignment", mark_for(word))


def element(writer: Writer) -> tuple[str, Expected]:
    """Write the making of an element that loads code."""
    tag = writer.choices.pick(TAGS)
    # The name of a component would begin with a capital letter.
    text = writer.marked(tag)
    for at in range(1, len(text)):
        if writer.choices.rarely(4):
            text = text[:at] + text[at].upper() + text[at + 1 :]
    if writer.has_elements and writer.choices.rarely(2):
        code = _markup(writer, text)
    else:
        string = writer.string(writer.choices.pick(("", "", " ", "\t")) + text)
        maker = writer.choices.pick(
            ("createElement", "d.createElement", "void (0,d.createElement)")
        )
        code = f"{maker}{_called(writer, string)}"
    # An element that is written as a tag is a script tag, too.
    rule = "createElement of a code-loading tag or script tag"
    start = rf"(createelement\)?(\?\.)?\((\.\.\.\[)?|createelement,){_QUOTE}"
    return code, expect_pattern(rule, rf"{start}( |\\t|svg:)*{mark_for(tag)}")


def timer(writer: Writer) -> tuple[str, Expected]:
    """Write a timer that runs a text."""
    word = writer.choices.pick(("setTimeout", "setInterval"))
    mark = writer.marked("someCode")
    string = writer.string(mark)
    if writer.choices.rarely(4):
        string = writer.choices.pick((f"`{mark}${{a}}`", f"{string}+a"))
    name = writer.name(word)
    name = writer.choices.pick((name, f"void (0,{name})", name))
    code = f"{name}{_called(writer, string)}"
    start = rf"{word.lower()})\)?(\?\.)?\((\.\.\.\[)?{_QUOTE}"
    rule = f"{word} with a string"
    return code, expect_pattern(rule, rf"{PREFIX}({start}{mark_for('someCode')}")


def dynamic_import(writer: Writer) -> tuple[str, Expected]:
    """Write an import of something that is only known when it runs."""
    what = writer.choices.pick(("a", "`${a}/b`", "a, {with: {}}", '"https://x.y/z"'))
    code = f"import({what})"
    return code, expect("dynamic import", "import(")


def script_tag(writer: Writer) -> tuple[str, Expected]:
    """Write a text that holds the beginning of a script element."""
    text = writer.choices.pick(("<script", "a<script>b", "\n<script src=x>"))
    if writer.has_elements and writer.choices.rarely(2):
        text = writer.entities(text)
        form = writer.choices.pick(
            ("<b>{}</b>", '<b a="{}"/>', "<>{}</>", "<b a='{}'/>")
        )
        code = form.format(text)
    else:
        code = writer.string(text.replace("\n", ""))
    return code, expect("script tag", "<script")


def srcdoc_key(writer: Writer) -> tuple[str, Expected]:
    """Write the attribute that holds a document as the key of an object."""
    text = writer.marked("srcdoc")
    if writer.has_elements and writer.choices.rarely(2):
        code = f'<b {text}="x"/>'
    else:
        code = f"({{{_key(writer, text)}:x}})"
    return code, expect("srcdoc", mark_for("srcdoc"))


FAMILIES: Final[tuple[Callable[[Writer], tuple[str, Expected]], ...]] = (
    *(free_word, free_word, free_word, window_use, root_use, computed_document),
    *(member, member, assigned, element, timer, dynamic_import, script_tag),
    srcdoc_key,
)


def listed(writer: Writer) -> tuple[str, Expected]:
    """Write any listed construct, and return what must be found."""
    return writer.choices.pick(FAMILIES)(writer)


def _object(writer: Writer, code: str) -> str:
    """Write an object in a wrapper that the bundler removes."""
    wrappers = ["{}", "{}", "{}", "({})", "(0,{})"]
    wrappers += ["({} as any)"] if writer.has_types else []
    return writer.choices.pick(wrappers).format(code)


def _member(writer: Writer, owner: str, text: str, *, is_optional: bool = True) -> str:
    dot = "?." if is_optional and writer.choices.rarely(4) else "."
    if writer.choices.rarely(3):
        dot = "?." if dot == "?." else ""
        return f"{owner}{dot}[{writer.string(text)}]"
    return f"{owner}{dot}{writer.name(text)}"


def _key(writer: Writer, text: str) -> str:
    way = writer.choices.below(4)
    if way == 2:
        return writer.plain(text)
    if way == 3:
        return f"[{writer.string(text)}]"
    return writer.name(text)


def _taken(writer: Writer, text: str) -> str:
    """Write a pattern that binds a member of an object."""
    key = f"{_key(writer, text)}:q"
    ways = [
        f"(({{{key}}})=>q)(o)",
        f"(({{{key}=1}}={{}})=>q)(o)",
        f"(({{a:[{{{key}}}]}})=>q)(o)",
        f"(()=>{{const {{{key}}}=o;return q}})()",
        f"(()=>{{for(const {{{key}}} of o)q()}})()",
        f"(()=>{{try{{a()}}catch({{{key}}}){{q()}}}})()",
        f"({{{_key(writer, text)}:o.x}}=o)",
        f"(function({{{key}}}){{return q}})(o)",
        f"(class{{static q=super.{writer.name(text)}}})",
        f"delete o.{writer.name(text)}",
    ]
    return writer.choices.pick(ways)


def _called(writer: Writer, string: str) -> str:
    """Write the arguments of a call, of which the string is the first."""
    forms = ["({})", "({},1)", "?.({})", "(...[{},1])"]
    forms += ["(...([{}] as const))", "<any>({})"] if writer.has_types else []
    return writer.choices.pick(forms).format(string)


def _markup(writer: Writer, tag: str) -> str:
    name = writer.choices.pick(("", "", "svg:")) + tag
    forms = (f"<{name}/>", f"<b><{name} a='b'></{name}></b>", f"<{name} {{...a}}/>")
    return writer.choices.pick(forms)
