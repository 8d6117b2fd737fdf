"""What the metafile check lets into a bundle."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.inputs.metafile import BuildError, check_metafile
from bridge.protocol.strictjson import dumps

ENTRY = "host/packages/host/src/index.ts"
API = "host/packages/api/src/index.ts"
TABLE = "build/static-plugins.ts"
MAIN = "plugins/aa/main.ts"
OUTPUTS = ("b.js", "b.js.map")


def unread(path: str) -> bytes:
    """Stand for files that can't be read; then messages have no lines."""
    raise FileNotFoundError(path)


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


def written(
    read: dict[str, list[Any]], left: Collection[str] = (), **more: Any
) -> bytes:
    """
    Write a metafile.

    :param read: The inputs, and the imports of each.
    :param left: What the outputs leave for the browser to import.
    :param more: Further fields of every input.
    """
    imports = [{"path": path, "external": True} for path in left]
    return dumps(
        {
            "inputs": {
                p: {"bytes": 1, "imports": i, **more.get(p, {})}
                for p, i in read.items()
            },
            "outputs": {f"../x/{name}": {"imports": imports} for name in OUTPUTS},
        }
    )


class MetafileTests(SynchronousTestCase):
    """What passes and what is refused, and in which words."""

    def check(
        self, text: bytes, read: Callable[[str], bytes] = unread
    ) -> frozenset[str]:
        """Check a build of the plugins ``aa`` and ``bb``."""
        return check_metafile(text, ["aa", "bb"], OUTPUTS, read, bound=False)

    def refused(self, text: bytes, read: Callable[[str], bytes] = unread) -> str:
        """Check, expect a refusal, and give its words."""
        with self.assertRaises(BuildError) as caught:
            self.check(text, read)
        return str(caught.exception)

    def test_what_a_bundle_is_made_of(self):
        """The host, its packages, the API, the table and the plugins pass."""
        inputs = self.check(
            metafile(
                (TABLE, MAIN),
                (TABLE, "plugins/aa/plugin.json"),
                (MAIN, API),
                (MAIN, "plugins/aa/src/deep/x.ts"),
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
        self.assertEqual(len(inputs), 9)

    def test_attack_import_by_area(self):
        """No area reaches further than it may."""
        package = "host/node_modules/pk/i.js"
        for path, target in (
            (MAIN, ENTRY),
            (MAIN, TABLE),
            (MAIN, package),
            (MAIN, "plugins/bb/main.ts"),
            (MAIN, "host/packages/api/package.json"),
            (MAIN, "(disabled):fs"),
            (MAIN, f"(disabled):{ENTRY}"),
            (API, ENTRY),
            (API, TABLE),
            (API, MAIN),
            (ENTRY, MAIN),
            (package, ENTRY),
            (package, API),
            (TABLE, "plugins/aa/other.ts"),
            (TABLE, API),
        ):
            with self.subTest(path=path, target=target):
                named = target.removeprefix("(disabled):")
                self.assertEqual(
                    self.refused(metafile((path, target))),
                    f"{path} may not import {named}",
                )

    def test_attack_input_of_no_area(self):
        """A file outside every area is refused, however its path is written."""
        for path in (
            "state.json",
            "token",
            "../.config/x.ts",
            "/etc/passwd",
            "host/x.ts",
            "host/packages/../../state.json",
            "plugins/aa/../../state.json",
            "plugins\\aa\\..\\..\\state.json",
            "plugins/aa",
            "plugins/cc/main.ts",
            "plugins/.tmp-x/main.ts",
            "node_modules/x/i.js",
            "build/other.ts",
        ):
            with self.subTest(path=path):
                slashed = path.replace("\\", "/")
                self.assertEqual(
                    self.refused(metafile((MAIN, path))),
                    f"{MAIN} may not import {slashed}; a bundle holds "
                    "only the host, the generated table and the bundled plugins' own "
                    "files",
                )

    def test_attack_data_url(self):
        """The text of a data: URL is refused, and not repeated."""
        code = "<data:text/javascript,evil()>"
        for edge, where in (
            ((MAIN, code), f"{MAIN} may not import a data: URL; "),
            ((code, ENTRY), "the bundle may not include a data: URL; "),
        ):
            refusal = self.refused(metafile(edge))
            self.assertTrue(refusal.startswith(where), refusal)
            self.assertNotIn("evil", refusal)

    def test_attack_file_that_was_never_scanned(self):
        """Files the source policy does not look at are refused."""
        for name, why in (
            ("a.test.ts", "which is a test file"),
            ("deep/a.SPEC.d.ts", "which is a test file"),
            ("eslint.config.mjs", "which is a tool's file"),
            ("scripts/sign-plugin.mjs", "which is a tool's file"),
            (".git/hooks/x.js", "which is git's"),
            ("plugin.sig", "which is the signature"),
            ("a.ts?x", "with a query or a fragment"),
            ("a.ts#x", "with a query or a fragment"),
        ):
            with self.subTest(name=name):
                path = f"plugins/aa/{name}"
                self.assertEqual(
                    self.refused(metafile((MAIN, path))),
                    f"{MAIN} may not import {path}, {why}",
                )

    def test_attack_file_of_no_kind(self):
        """Nor may a plugin contribute what its name does not make a source."""
        for name in ("x", ".ts", "..js", "sub/.tsx", "x.TS", "x.html", "x.", "x.json5"):
            with self.subTest(name=name):
                path = f"plugins/aa/{name}"
                self.assertEqual(
                    self.refused(metafile((MAIN, path))),
                    f"{MAIN} may not import {path}, which is neither source nor data; "
                    "these are called NAME.ts, NAME.mts, NAME.cts, NAME.tsx, NAME.js, "
                    "NAME.mjs, NAME.cjs, NAME.jsx, NAME.json, NAME.txt",
                )
        self.check(metafile((ENTRY, "host/node_modules/pk/cli")))

    def test_attributes(self):
        """Data may be asked for as such; the mark the bundler adds is no name."""
        for name in ("x.json", "x.txt"):
            path = f"plugins/aa/{name}"
            for key in (path, f"{path} with {{ type: 'json' }}"):
                asked = {"with": {"type": "json"}}
                edge = {"path": key, **asked}
                text = written(
                    {TABLE: [{"path": MAIN}], MAIN: [edge], key: []}, **{key: asked}
                )
                self.assertEqual(self.check(text), {TABLE, MAIN, path})

    def test_attack_attributes(self):
        """Source is not read as data, and an attribute opens no other file."""
        for name, why in (
            ("x.ts", "which is source, as data"),
            ("x.html", "which is neither source nor data"),
            ("x.test.json", "which is a test file"),
        ):
            path = f"plugins/aa/{name}"
            for key in (path, f"{path} with {{ type: 'text' }}"):
                text = written({key: []}, **{key: {"with": {"type": "text"}}})
                self.assertIn(
                    f"the bundle may not include {path}, {why}", self.refused(text)
                )
        self.assertIn("neither", self.refused(written({f"{MAIN} with {{ }}": []})))

    def test_attack_input_that_nothing_imports(self):
        """A file of a plugin is in the bundle because something names it."""
        self.assertEqual(
            self.refused(written({ENTRY: [], MAIN: []})),
            f"the bundle may not include {MAIN}, which no import names",
        )

    def test_attack_pattern(self):
        """A name that stands for many files is no import that was dropped."""
        edge = {"path": "../bb/**/*", "external": True}
        self.assertEqual(
            self.refused(written({TABLE: [{"path": MAIN}], MAIN: [edge]})),
            f"{MAIN} imports files by a pattern; name each",
        )
        self.check(written({ENTRY: [edge]}))

    def test_names_that_only_look_like_tests(self):
        """A name is a test file's by its middle parts alone."""
        for name in ("test.ts", "latest.ts", "tests/a.ts", "src/eslint.config.mjs"):
            self.check(metafile((MAIN, f"plugins/aa/{name}")))

    def test_style_sheet(self):
        """A style sheet is refused by its name, in every area."""
        for path, sheet in ((MAIN, "plugins/aa/a.css"), (ENTRY, f"{ENTRY}.module.css")):
            self.assertEqual(
                self.refused(metafile((path, sheet))),
                f"{path} may not import {sheet}, which is a style sheet; a bundle is "
                "one script, so styles belong into it as text",
            )

    def test_attack_module_left_to_the_browser(self):
        """What a plugin leaves unresolved is refused; the host may do so."""
        url = "https://x.example/a.js"
        self.assertEqual(
            self.refused(metafile((MAIN, url), left=[url])),
            f"{MAIN} imports another module, which is not in the bundle",
        )
        self.check(metafile((ENTRY, url), left=[url]))

    def test_attack_import_that_nothing_explains(self):
        """An import in the bundle that no file of it has is refused."""
        self.assertEqual(
            self.refused(metafile(left=["x"])),
            "the bundle imports what no file of it imports",
        )

    def test_erased_imports(self):
        """What the language drops, and helpers of the bundler, are no imports."""
        erased = [{"path": p, "external": True} for p in ("types", "<runtime>")]
        self.check(
            written(
                {
                    ENTRY: [*erased, {"path": TABLE}],
                    MAIN: erased,
                    TABLE: [{"path": MAIN}],
                }
            )
        )

    def test_lines(self):
        """A refusal names the line, when it can be found."""

        def read(path):
            return b"// 'vue'\n// from\nimport x from\n  'vue'; require('./y.html')\n"

        edge: dict[str, Any] = {"path": "vue", "external": True}
        self.assertEqual(
            self.refused(
                written({TABLE: [{"path": MAIN}], MAIN: [edge]}, ["vue"]), read
            ),
            f'{MAIN}:4 imports "vue", which is not in the bundle',
        )
        edge = {"path": "plugins/aa/y.html", "original": "./y.html"}
        refusal = self.refused(
            written({TABLE: [{"path": MAIN}], MAIN: [edge], "plugins/aa/y.html": []}),
            read,
        )
        self.assertTrue(refusal.startswith(f"{MAIN}:4 may not import plugins/aa/y.htm"))

    def test_further_outputs(self):
        """A further file is refused."""
        text = metafile().replace(b"../x/b.js.map", b"..\\\\x\\\\b.css")
        self.assertIn("the bundler wrote b.css as well as", self.refused(text))

    def test_no_inputs(self):
        """A metafile without inputs is refused."""
        for text in (b"{}", b'{"inputs": {}}', b'{"outputs": {}}'):
            self.assertEqual(
                self.refused(text), "the bundler's metafile names no inputs"
            )

    def test_unreadable(self):
        """What is not a metafile is refused."""
        for text in (
            b"",
            b"[]",
            b'{"inputs": []}',
            b'{"inputs": {"host/packages/a": 1}}',
            b'{"inputs": {"host/packages/a": {"imports": {}}}}',
            b'{"inputs": {"host/packages/a": {"imports": [1]}}}',
            b'{"inputs": {"host/packages/a": {"imports": [{}]}}}',
            b'{"inputs": {"host/packages/a": {}}, "outputs": 1}',
            b'{"inputs": {"host/packages/a": {"with": 1}}}',
            b'{"inputs": {"host/packages/a": {}}, "outputs": {"b.js": 1}}',
            b'{"inputs": {"host/packages/a": {}}, "outputs": {"b": {"imports": 1}}}',
        ):
            with self.subTest(text=text):
                self.assertEqual(
                    self.refused(text), "the bundler's metafile cannot be read"
                )

    @settings(deadline=None)
    @given(st.text(st.characters(codec="utf-8"), max_size=60), st.text(max_size=9))
    def test_any_path(self, path, plugin_id):
        """Whatever an input is called, it is in a area or it is refused."""
        try:
            text = metafile((MAIN, path))
            read = check_metafile(text, ["aa", plugin_id], OUTPUTS, unread, bound=False)
        except (BuildError, TypeError):
            return
        areas = ("host/", "plugins/aa/", f"plugins/{plugin_id}/", TABLE)
        self.assertTrue(all(name.startswith(areas) for name in read))
        self.assertFalse(any(".." in name.split("/") for name in read))


class BoundTests(SynchronousTestCase):
    """Bundles of plugins whose names were bound."""

    TABLE = "build/static-plugins.ts"

    def check(self, **edges: str) -> str:
        """Check imports between files; return the refusal."""
        return self.refusal(edges, bound=True)

    def check_unbound(self, **edges: str) -> str:
        """Check the same where the table imports a plugin's source."""
        return self.refusal(edges, bound=False)

    def refusal(self, edges: dict[str, str], *, bound: bool) -> str:
        """Check a bundle of a few files with these imports."""
        names = {
            "table": self.TABLE,
            "aa": "build/bound/aa/main.js",
            "scope": "build/bound/aa/scope.js",
            "own": "build/bound/aa/own.js",
            "bb": "build/bound/bb/main.js",
            "source": "plugins/aa/main.ts",
            "api": "host/packages/api/src/index.ts",
            "host": "host/packages/host/src/index.ts",
            "freeze": "build/freeze.js",
        }
        inputs: dict[str, Any] = {path: {"imports": []} for path in names.values()}
        if not bound:
            inputs[self.TABLE]["imports"] = [{"path": names["source"]}]
        elif "source" not in edges.values():
            del inputs[names["source"]]
        for importer, target in edges.items():
            given = names.get(target, target)
            inputs[names[importer]]["imports"] += [{"path": given}]
            inputs.setdefault(given, {"imports": []})
        text = json.dumps({"inputs": inputs}).encode()
        try:
            check_metafile(text, ["aa", "bb"], OUTPUTS, lambda path: b"", bound=bound)
        except BuildError as e:
            return str(e)
        return ""

    def test_bound_plugins(self) -> None:
        """The table imports them, and they import their scope and the API."""
        for target in ("scope", "api"):
            self.assertEqual(self.check(table="aa", aa=target), "")

    def test_prelude(self) -> None:
        """The table imports what freezes the page."""
        self.assertEqual(self.check(table="freeze"), "")

    def test_attack_prelude(self) -> None:
        """Nothing else imports it, and it imports nothing."""
        for importer in ("aa", "scope", "host", "api"):
            self.assertIn("may not import", self.check(**{importer: "freeze"}))
        for target in ("aa", "source", "host", "api", "table"):
            self.assertIn("may not import", self.check(freeze=target), target)
        error = self.check_unbound(source="freeze")
        self.assertEqual(error, "plugins/aa/main.ts may not import build/freeze.js")

    def test_attack_other_files(self) -> None:
        """They import nothing else, and nothing else is imported of them."""
        for edges in (
            {"aa": "bb"},
            {"aa": "host"},
            {"aa": "source"},
            {"scope": "bb"},
            {"table": "own"},
            {"table": "scope"},
            {"host": "aa"},
        ):
            self.assertIn("may not import", self.check(**edges), edges)

    def test_attack_bound_by_a_source(self) -> None:
        """A plugin's source imports nothing that is bound, nor does its table."""
        entry = "build/bound/aa/main.js"
        error = self.check_unbound(source="aa")
        self.assertEqual(error, f"plugins/aa/main.ts may not import {entry}")
        error = self.check_unbound(table="aa")
        self.assertEqual(error, f"{self.TABLE} may not import {entry}")

    def test_manifests(self) -> None:
        """Of a plugin's own files, the table imports the manifest."""
        self.assertEqual(self.check(table="plugins/aa/plugin.json"), "")

    def test_attack_source(self) -> None:
        """No file imports a plugin's source, as a package above may ask."""
        for importer in ("table", "aa", "scope", "host", "freeze"):
            self.assertIn("may not import", self.check(**{importer: "source"}))

    def test_attack_left_out(self) -> None:
        """Neither the prelude nor a scope is left out, as a package may ask."""
        for importer, path in (
            ("table", "build/freeze.js"),
            ("table", "build/bound/aa/main.js"),
            ("aa", "build/bound/aa/scope.js"),
            ("aa", "host/packages/api/src/index.ts"),
        ):
            error = self.check(**{importer: f"(disabled):{path}"})
            self.assertIn(f"may not import {path}", error)
