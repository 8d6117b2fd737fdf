"""What the checks let into a bundle and its map, and where they say an import is."""

import json
from collections.abc import Collection
from typing import Any, ClassVar
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.metafile import API as API_AREA
from bridge.plugins.bundle.metafile import (
    BuildError,
    Edge,
    Rules,
    check_map,
    place_of,
    specifier_shown,
)
from bridge.protocol.limits import MIB
from bridge.protocol.strictjson import dumps

ENTRY = "host/packages/host/src/index.ts"
API = "host/packages/api/src/index.ts"
TABLE = "build/static-plugins.ts"
MAIN = "plugins/aa/main.ts"
OUTPUTS = ("b.js", "b.js.map")
NEITHER = (
    "which is neither source nor data; these are called NAME.ts, NAME.mts, NAME.cts, "
    "NAME.tsx, NAME.js, NAME.mjs, NAME.cjs, NAME.jsx, NAME.json, NAME.txt"
)
FILES = {
    "; a bundle holds only the host, the generated table and the bundled plugins' own "
    "files": (
        *("state.json", "token", "../.config/x.ts", "/etc/passwd", "host/x.ts"),
        "host/packages/../../state.json",
        "plugins/aa/../../state.json",
        *("plugins/aa", "plugins/cc/main.ts", "plugins/.tmp-x/main.ts"),
        *("node_modules/x/i.js", "build/other.ts"),
    ),
    ", which is a test file": ("plugins/aa/a.test.ts", "plugins/aa/b/a.SPEC.d.ts"),
    ", which is a declaration file": ("plugins/aa/a.d.ts", "plugins/aa/a.D.mts"),
    ", which is a tool's file": (
        "plugins/aa/eslint.config.mjs",
        "plugins/aa/scripts/sign-plugin.mjs",
    ),
    ", which is git's": ("plugins/aa/.git/hooks/x.js",),
    ", which is the signature": ("plugins/aa/plugin.sig",),
    ", with a query or a fragment": ("plugins/aa/a.ts?x", "plugins/aa/a.ts#x"),
    f", {NEITHER}": [
        f"plugins/aa/{name}"
        for name in ("x", ".ts", "..js", "b/.tsx", "x.TS", "x.html", "x.", "x.json5")
    ],
}
"""What no plugin may import, by the reason."""


def empty(path: str) -> bytes:
    """Stand for files of which no message has a line."""
    return b""


def check(text: bytes) -> dict[str, bool]:
    """Check a metafile of the host's bundle of two plugins."""
    files, plugins = ("main.ts", "plugin.json"), ("aa", "bb")
    table = {f"plugins/{plugin}/{file}" for plugin in plugins for file in files}
    return Rules(ENTRY, OUTPUTS, plugins, API_AREA, table, empty).check(text)


def metafile(*edges: tuple[str, str], left: Collection[str] = ()) -> bytes:
    """
    Write a metafile in which the host reads the table, and what is given.

    :param left: Targets that are not resolved, and left for the browser.
    """
    read: dict[str, list[Any]] = {ENTRY: [], TABLE: [], API: []}
    for path, target in ((ENTRY, TABLE), (ENTRY, API), (TABLE, MAIN), *edges):
        edge: dict[str, Any] = {"path": target, "kind": "import-statement"}
        read.setdefault(path, []).append(edge)
        if target in left:
            edge["external"] = True
        else:
            edge["original"] = f"./{target}"
            read.setdefault(target, [])
    return written(read, left)


def written(read: dict[str, list[Any]], left: Collection[str] = ()) -> bytes:
    """
    Write a metafile.

    :param read: The inputs, and the imports of each.
    :param left: What the outputs leave for the browser to import.
    """
    imports = [{"path": path, "external": True} for path in left]
    return dumps(
        {
            "inputs": {p: {"bytes": 1, "imports": i} for p, i in read.items()},
            "outputs": {f"../x/{name}": {"imports": imports} for name in OUTPUTS},
        }
    )


class MetafileTests(SynchronousTestCase):
    """What passes and what is refused, and in which words."""

    def refused(self, text: bytes) -> str:
        """Check, expect a refusal, and give its words."""
        return str(self.assertRaises(BuildError, check, text))

    def test_what_a_bundle_is_made_of(self):
        """The host, its packages, the API, the table and the plugins pass."""
        inputs = check(
            metafile(
                (TABLE, MAIN),
                (TABLE, "plugins/aa/plugin.json"),
                (MAIN, API),
                (MAIN, "plugins/aa/src/deep/x.ts"),
                # Only looks like a test, or like a tool's.
                (MAIN, "plugins/aa/tests/latest.ts"),
                (MAIN, "plugins/aa/src/eslint.config.mjs"),
                (MAIN, "(disabled):plugins/aa/off.ts"),
                (ENTRY, "host/node_modules/pk/i.js"),
                (API, "host/node_modules/pk/i.js"),
                (API, "host/packages/api/src/x.ts"),
                ("host/node_modules/pk/i.js", "host/node_modules/other/i.js"),
                ("host/node_modules/pk/i.js", "(disabled):fs"),
            )
        )
        self.assertIn("plugins/aa/src/deep/x.ts", inputs)
        self.assertNotIn("(disabled):fs", inputs)
        self.assertEqual(len(inputs), 11)

    def test_attack_import_by_area(self):
        """No area reaches further than it may."""
        package = "host/node_modules/pk/i.js"
        others = ("plugins/bb/main.ts", "host/packages/api/package.json")
        absent = ("(disabled):fs", f"(disabled):{ENTRY}")
        for path, targets in (
            (MAIN, (ENTRY, TABLE, package, *others, *absent)),
            (API, (ENTRY, TABLE, MAIN)),
            (ENTRY, (MAIN,)),
            (package, (ENTRY, API)),
            (TABLE, ("plugins/aa/other.ts", API)),
        ):
            for target in targets:
                refusal = self.refused(metafile((path, target)))
                named = target.removeprefix("(disabled):")
                self.assertEqual(refusal, f"{path} may not import {named}")

    def test_attack_files(self):
        """What is in no area, was never scanned, or is of no kind is refused."""
        for why, paths in FILES.items():
            for path in paths:
                refusal = f"{MAIN} may not import {path}{why}"
                self.assertEqual(self.refused(metafile((MAIN, path))), refusal)
        check(metafile((ENTRY, "host/node_modules/pk/cli")))

    def test_attack_others(self):
        """What else has no business in a bundle, or is not named by an import."""
        url, code = "https://x.example/a.js", "<data:text/javascript,evil()>"
        pattern = {"path": "../bb/**/*", "external": True}
        half = metafile((MAIN, "https://x"), left=["https://x"])
        sheet = "which is a style sheet; a bundle is one script, so styles belong into "
        for text, refusal in (
            (
                written({ENTRY: [], MAIN: []}),
                f"the bundle may not include {MAIN}, which no import names",
            ),
            (
                written({ENTRY: [], f"{ENTRY}.css": []}),
                f"the bundle may not include {ENTRY}.css, {sheet}",
            ),
            (metafile((code, ENTRY)), "the bundle may not include a data: URL; "),
            (
                metafile((ENTRY, f"{ENTRY}.module.css")),
                f"{ENTRY} may not import {ENTRY}.module.css, {sheet}",
            ),
            (metafile(left=["x"]), "the bundle imports what no file of it imports"),
            (
                metafile().replace(b"../x/b.js.map", b"../x/b.css"),
                "the bundler wrote b.css as well as",
            ),
            (half.replace(b"//x", rb"\ud800"), "what the bundler says of the bundle"),
            # The table is not left out, as a package above may ask.
            (
                written({ENTRY: [{"path": f"(disabled):{TABLE}"}]}),
                f"{ENTRY} may not import {TABLE}",
            ),
            (
                written(
                    {ENTRY: [{"path": TABLE}], TABLE: [{"path": f"(disabled):{MAIN}"}]}
                ),
                f"{TABLE} may not import {MAIN}",
            ),
        ):
            self.assertEqual(self.refused(text)[: len(refusal)], refusal)
        # The host may do so.
        check(written({ENTRY: [pattern]}))
        check(metafile((ENTRY, url), left=[url]))


def place(specifier: str, text: bytes) -> str:
    """Where it is in ``m.ts``."""
    return place_of(Edge("m.ts", "x", specifier, external=False), lambda _: text)


class PlaceTests(SynchronousTestCase):
    def test_lines(self):
        """Lines are counted from 1, whatever the import is like."""
        for text in (
            b'\r\nimport "./x"',
            b"import {\n} from './x';\nimport './x'",
            b"import(\n`./x`)",
            b"import x from\n'./x';",
            b"\nimport x from /* odd */ './x'",
        ):
            self.assertEqual(place("./x", text), "m.ts:2", text)

    def test_attack_blanks(self):
        """A text made to be slow to search is searched as fast as any."""
        for word in (b"from", b"import(", b"require"):
            self.assertEqual(place("./x", word + b" " * 2_000_000), "m.ts")

    def test_not_found(self):
        """An import that is spelled in another way has no line."""
        self.assertEqual(place("./x", b"import '\\u002e/x'"), "m.ts")
        self.assertEqual(place("./x", b"import './x/y'"), "m.ts")
        edge = Edge("m\x1b.ts", "x", "x", external=False)
        self.assertEqual(place_of(edge, mock.Mock(side_effect=OSError)), "m.ts")


class SpecifierTests(SynchronousTestCase):
    def test_shown(self):
        """A plain name is, in quotes, and nothing else."""
        self.assertEqual(specifier_shown("@a/b-c.js"), '"@a/b-c.js"')
        for odd in ("", "a b", "https://x", "a\nb", "\u202e", "a" * 101, "é", '"'):
            self.assertEqual(specifier_shown(odd), "another module")


def written_map(*sources: str, **more: object) -> bytes:
    """Write a map of these sources."""
    fields = {"version": 3, "sources": sources, "mappings": "AAAA", "names": ["n"]}
    return json.dumps(fields | more).encode()


class MapTests(SynchronousTestCase):
    files: ClassVar[dict[str, bytes]] = {
        "plugins/aa/main.ts": b"export default 1;",
        "plugins/aa/bad.ts": b"\xff",
    }

    def refused(self, text: bytes) -> str:
        """Check a map, expect a refusal, and give its words."""
        inputs, read = frozenset(self.files), self.files.__getitem__
        error = self.assertRaises(BuildError, check_map, text, "", inputs, read)
        return str(error)

    def test_attack_half_of_a_pair(self):
        """A map with half of a surrogate pair is refused in the words of a build."""
        text = written_map(names=["x"]).replace(b"x", rb"\ud800")
        self.assertIn("cannot be read", self.refused(text))

    def test_attack_foreign_source(self):
        """A source that was no input is refused without repeating its name."""
        for source in (
            "token",
            "../../me/.ssh/id",
            "/etc/passwd",
            "dataurl:x",
            "main.ts",
            "host/node_modules/../../token",
            "plugins/aa/main.ts%00",
        ):
            self.assertEqual(
                self.refused(written_map(source)),
                "the source map holds a source that is no part of the bundle",
                source,
            )

    def test_attack_text_of_another_file(self):
        """The text of an input is the file's, whatever its author's map calls it."""
        name, content = "plugins/aa/main.ts", "a" + "\xe9" * MIB
        claimed = written_map(name, sourcesContent=["secret"])
        checked = check_map(claimed, "", [name], lambda _: content.encode())
        self.assertEqual(json.loads(checked.text)["sourcesContent"], [content])

    def test_not_utf8(self):
        """A file that no map can hold is refused by its name."""
        why = self.refused(written_map("plugins/aa/bad.ts"))
        self.assertEqual(why, "plugins/aa/bad.ts is not UTF-8")
