"""
What the bundler finds in a plugin's sources, for its author.

The daemon installs a plugin that does not start; only pages would find that. Nothing is
run and nothing is guessed: what is not one of a few plain forms, such as
``export default definePlugin({ id: 'demo', … })``, has no certain id.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from attrs import field
from twisted.internet.defer import maybeDeferred

from ...classes import define, frozen
from ...plugins.esbuild.conversation import Conversation, converse, together
from ...plugins.esbuild.executable import Executable
from ...plugins.policy.javascript.meaning import elements, key_name, string_value
from ...plugins.policy.javascript.tokens import Code, UnreadableError
from ...plugins.policy.reading import Lines, Source, read, words_in
from ...plugins.policy.rules import ADVICE, PAGE_NAMES, UNKNOWN, Hit
from ...plugins.policy.scan import scan_limits, survey_tree
from ...plugins.tree.jsontext import key_place
from ...plugins.tree.manifest import ENTRY_FILE, MANIFEST_FILE
from ...plugins.tree.tree import SIGNATURE_FILE, Tree
from ...protocol.errors import Prefix
from ...protocol.limits import MANIFEST_BYTES, SOURCE_BYTES
from ...protocol.text import escaped, printable, shortened
from ...system.files import read_bounded
from ..terminal import first_of

SHOWN_CHARACTERS: Final = 120

_FILES: Final = "|".join(map(re.escape, (MANIFEST_FILE, SIGNATURE_FILE)))
_PLACED: Final = re.compile(rf"\w+: (?P<file>{_FILES}):(?P<line>\d+):\d+ ")
_FIELD: Final = re.compile(
    rf"{Prefix.INVALID_ID}: |{Prefix.MANIFEST_INVALID}: (?P<field>[A-Za-z]+): "
)


@frozen
class ShownHit:
    """
    A hit of the source policy.

    :ivar file: Empty when it is the tree's as a whole.
    :ivar source: The line, with control characters written out; empty if there is
        none.
    :ivar advice: What to do about it; empty when nothing is known about the rule.
    """

    file: str
    line: int
    rule: str
    source: str
    advice: str


def read_text(path: Path, most: int) -> str:
    """Read a file of at most so many bytes; empty when that is not possible."""
    try:
        return read_bounded(path, most).decode("utf-8", "replace")
    except OSError:
        return ""


def source_line(root: Path, hit: Hit) -> str:
    """
    The line that a hit is about.

    :param root: The tree that was scanned.
    :return: Cut, all of it visible; empty when there is no such line.
    """
    text = read_text(root / hit.file, SOURCE_BYTES) if hit.file else ""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not 1 <= hit.line <= len(lines):
        return ""
    return shortened(escaped(lines[hit.line - 1].strip()), SHOWN_CHARACTERS)


def quoted(root: Path, message: str) -> list[str]:
    """
    Quote the line of a manifest or a signature that a refusal is about.

    :param root: The tree that was refused.
    :param message: The refusal's.
    :return: One line, or none.
    """
    placed = _PLACED.match(message)
    if placed is not None:
        file, line = placed["file"], int(placed["line"])
    else:
        file, line = MANIFEST_FILE, _field_line(root, message)
    source = source_line(root, Hit(file, line, ""))
    return [f"{file}:{line} {source}"] if source else []


def _field_line(root: Path, message: str) -> int:
    """Return the line of the manifest's field that a refusal names, or 0."""
    found = _FIELD.match(message)
    if found is None:
        return 0
    content = read_text(root / MANIFEST_FILE, MANIFEST_BYTES)
    place = key_place(content.encode(), found["field"] or "id")
    return place[0] if place else 0


def shown_hit(root: Path, hit: Hit) -> ShownHit:
    """
    Return a hit for its author.

    :param root: The tree that was scanned.
    """
    # A daemon of another version may report a rule that is not known here.
    fix = ADVICE.get(hit.rule, "")
    if hit.why and hit.rule == UNKNOWN:
        fix = fix.replace("the name", hit.why, 1)
    elif hit.why:
        fix = f"correct the syntax: {hit.why}"
    return ShownHit(hit.file, hit.line, hit.rule, source_line(root, hit), fix)


def hit_lines(hit: ShownHit) -> list[str]:
    """Return what is printed of a hit: place and rule, the source, what to do."""
    texts = (hit.source, hit.advice and f"fix: {hit.advice}")
    report = Hit(hit.file, hit.line, hit.rule).report
    return [f"  {report}", *(f"      {text}" for text in texts if text)]


_RUNTIME: Final = "reference/packages/host/src/realm/runtime.ts"
_OF_EVERY_OBJECT: Final = (
    *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"),
    *("toLocaleString", "toString", "valueOf", r"__\w+__"),
)

_SHOWN_NAMES: Final = 10
_TESTS: Final = "tests/"
_MARK: Final = "$page$"
# The bundler writes each export on a line of its own, and no string on several.
_DEFAULT: Final = re.compile(
    r"^export \{\n(?:  .*\n)*?  (?:(.+) as )?default,?$", re.MULTILINE
)
_DEFINE: Final = "definePlugin"


@define(eq=False)
class Reading:
    """
    What was found.

    :ivar entry: What the bundler made of ``main.ts``; ``None`` if it is not there, or
        does not compile.
    :ivar broken: File and line of the first source that does not compile.
    :ivar page_names: Each use of what a page has, and a worker has not.
    """

    entry: str | None = None
    broken: str = ""
    page_names: list[str] = field(factory=list)

    def exported_id(self, manifest_id: str) -> str | None:
        """
        Return the id of the plugin that ``main.ts`` exports by default.

        :param manifest_id: What ``manifest.id`` is, when ``manifest`` is imported from
            ``./plugin.json``.
        :return: ``None`` when it is not certain.
        """
        try:
            code = Code(self.entry or "")
        except UnreadableError:
            return None
        found = _DEFAULT.search(self.entry or "")
        name = found[1] if found else None
        return _Module(code, manifest_id).id_of(name) if name else None

    def fault(self, plugin_id: str) -> str:
        """Return what is wrong with the default export, if that is certain, or ""."""
        if self.entry is None:
            return ""
        exported = self.exported_id(plugin_id)
        if not _DEFAULT.search(self.entry):
            what = f"{ENTRY_FILE} has no default export"
        elif exported in (None, plugin_id):
            return ""
        else:
            what = f"{ENTRY_FILE} exports the id {escaped(str(exported))}"
            what += f", {MANIFEST_FILE} has {plugin_id}"
        return f"{what}; pages cannot start the plugin"

    def warnings(self, plugin_id: str, in_worker: bool) -> list[str]:
        """
        Return why the plugin may not run.

        :param in_worker: Whether it runs in a worker.
        """
        fault = self.fault(plugin_id)
        return [*filter(None, [fault]), *(self.about_page() if in_worker else ())]

    def about_page(self) -> list[str]:
        """Return what the plugin uses that only a page has, as lines."""
        why = "a plugin runs in a worker, which does not have these:"
        names = first_of(self.page_names, _SHOWN_NAMES)
        return [why, *names] if names else []


@cache
def realm_names() -> tuple[frozenset[str], frozenset[str]]:
    """
    Read in its source what the reference host takes from its plugins.

    :return: What a worker has, and they have not; what they have of ``navigator``.
    """
    source = files("bridge").joinpath(_RUNTIME).read_text("utf-8")
    lists = re.findall(r"^const (?:OPEN|FACTS) = \[\n([^\]]+)", source, re.MULTILINE)
    withheld, facts = (frozenset(re.findall(r'"(\w+)"', names)) for names in lists)
    return withheld | {"WebAssembly"}, facts


def _missing_names(text: str) -> frozenset[str]:
    return (PAGE_NAMES | realm_names()[0] | {"navigator"}).intersection(words_in(text))


@cache
def _use() -> re.Pattern[str]:
    """Return what matches a use of a name that has the mark."""
    kept = "|".join((*realm_names()[1], *_OF_EVERY_OBJECT))
    # A member with the mark is what makes elements.
    return re.compile(
        rf"(?<!typeof )(?<!\.){re.escape(_MARK)}"
        rf"(navigator\??\.(?!(?:{kept})\b)\w+|(?!navigator\b)\w+)"
    )


async def read_sources(
    reactor: Any, executable: Callable[[], Executable], tree: Tree
) -> Reading:
    """
    Have the bundler read a tree's sources.

    :param executable: Gives a verified copy of it.
    :raise BundlerError: It can't.
    """
    reading = Reading()
    sources = survey_tree(tree).sources

    async def work(bundler: Conversation) -> None:
        await together(_read(bundler, source, reading) for source in sources)

    await converse(reactor, executable(), scan_limits(), work)
    reading.page_names.sort()
    return reading


async def _read(bundler: Conversation, source: Source, reading: Reading) -> None:
    name = printable(source.name)
    marked = Source(source.name, source.content, _missing_names)
    answer = await read(bundler, marked, _MARK, maybeDeferred, is_mapped=True)
    if answer.error_line:
        reading.broken = reading.broken or f"{name}:{answer.error_line}"
        return
    if source.name == ENTRY_FILE:
        reading.entry = answer.code
    if not source.name.startswith(_TESTS):
        lines = Lines(answer.code, answer.source_map)
        reading.page_names += (
            f"{name}:{lines.line(use.start())} {use[1]}"
            for use in _use().finditer(answer.code)
        )


@frozen
class _Module:
    _code: Code
    _manifest_id: str

    def id_of(self, name: str, follow: bool = True) -> str | None:
        """Return the id of the plugin that a constant is."""
        code, at = self._code, self._value(name)
        if at is not None and code.text(at) == _DEFINE and code.text(at + 1) == "(":
            at += 2
        if at is None or code.text(at) == "{":
            return None if at is None else self._id_in(at)
        ends = code.text(at + 1) in (";", ")", ",")
        return self.id_of(code.text(at), follow=False) if follow and ends else None

    def _value(self, name: str) -> int | None:
        """Return where the value of a constant of the module starts."""
        code = self._code
        found = [
            at + 2
            for at, text in enumerate(code.texts)
            if text == name and code.text(at + 1) == "=" and code.parent[at] < 0
        ]
        return found[0] if len(found) == 1 else None

    def _id_in(self, bracket: int) -> str | None:
        """Return the id of an object, if all of its members are plain."""
        code, ids = self._code, []
        for at in elements(code, bracket):
            name, after = key_name(code, at)
            if name is None or code.text(at) == "...":
                return None
            if name == "id":
                ids.append(after)
        return self._member(ids[0]) if len(ids) == 1 else None

    def _member(self, after: int) -> str | None:
        """
        Return the text that a member is.

        :param after: What follows its key.
        """
        code = self._code
        at = after + 1 if code.text(after) == ":" else after - 1
        length = 3 if code.text(at + 1) == "." else 1
        if code.text(at + length) not in (",", "}", ";"):
            return None
        if length == 3:
            is_id = code.text(at + 2) == "id"
            return self._manifest_id if is_id and self._is_manifest(at) else None
        value = string_value(code, at)
        constant = self._value(code.text(at)) if value is None else None
        if constant is not None and code.text(constant + 1) in (";", ","):
            return string_value(code, constant)
        return value

    def _is_manifest(self, at: int) -> bool:
        texts = self._code.texts
        wanted = ["import", texts[at], "from", f'"./{MANIFEST_FILE}"']
        return any(texts[n : n + 4] == wanted for n in range(len(texts)))
