"""What the metafile check lets into a bundle."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle import metafile as module
from bridge.plugins.bundle.metafile import API as API_AREA
from bridge.plugins.bundle.metafile import (
    API_TEXT,
    Allowed,
    BuildError,
    check_metafile,
)
from bridge.protocol.strictjson import dumps

ENTRY = "host/packages/host/src/index.ts"
API = "host/packages/api/src/index.ts"
TABLE = "build/static-plugins.ts"
MAIN = "plugins/aa/main.ts"
OUTPUTS = ("b.js", "b.js.map")


def empty(path: str) -> bytes:
    """Stand for files of which no message has a line."""
    return b""


def missing(path: str) -> bytes:
    """Stand for files that are not there."""
    raise FileNotFoundError(path)


def allowed(
    read: Callable[[str], bytes] = empty,
    plugins: Collection[str] = ("aa", "bb"),
    **others: Any,
) -> Allowed:
    """Return what the host's bundle of some plugins may be made of."""
    table = {f"plugins/{p}/{f}" for p in plugins for f in ("main.ts", "plugin.json")}
    return Allowed(
        **{
            "entry": ENTRY,
            "outputs": OUTPUTS,
            "plugins": plugins,
            "shared": API_AREA,
            "table": table,
            "read": read,
            **others,
        }
    )


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


class MetafileCase(SynchronousTestCase):
    """Metafiles of the host's bundle."""

    def check(
        self, text: bytes, read: Callable[[str], bytes] = empty
    ) -> frozenset[str]:
        """Check a build of the plugins ``aa`` and ``bb``."""
        return check_metafile(text, allowed(read))

    def refused(self, text: bytes, read: Callable[[str], bytes] = empty) -> str:
        """Check, expect a refusal, and give its words."""
        with self.assertRaises(BuildError) as caught:
            self.check(text, read)
        return str(caught.exception)


class MetafileTests(MetafileCase):
    """What passes and what is refused, and in which words."""

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

    def test_attack_others(self):
        """What else has no business in a bundle, or is not named by an import."""
        url, files = "https://x.example/a.js", {TABLE: [{"path": MAIN}]}
        pattern = {"path": "../bb/**/*", "external": True}
        half = metafile((MAIN, "https://x"), left=["https://x"])
        sheet = "which is a style sheet; a bundle is one script, so styles belong into "
        for text, refusal in (
            (
                written({ENTRY: [], MAIN: []}),
                f"the bundle may not include {MAIN}, which no import names",
            ),
            (
                written({**files, MAIN: [pattern]}),
                f"{MAIN} imports files by a pattern; name each",
            ),
            *(
                (metafile((path, file)), f"{path} may not import {file}, {sheet}")
                for path, file in (
                    (MAIN, "plugins/aa/a.css"),
                    (ENTRY, f"{ENTRY}.module.css"),
                )
            ),
            (
                metafile((MAIN, url), left=[url]),
                f"{MAIN} imports another module, which is not in the bundle",
            ),
            (metafile(left=["x"]), "the bundle imports what no file of it imports"),
            (
                metafile().replace(b"../x/b.js.map", b"..\\\\x\\\\b.css"),
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
            with self.subTest(refusal=refusal):
                self.assertEqual(self.refused(text)[: len(refusal)], refusal)
        # The host may do so.
        self.check(written({ENTRY: [pattern]}))
        self.check(metafile((ENTRY, url), left=[url]))

    def test_attack_file_that_was_not_there(self):
        """A file that came after the verification is not in any bundle."""
        self.assertEqual(
            self.refused(metafile((MAIN, "plugins/aa/x.ts")), missing),
            f"{TABLE} may not import {MAIN}, which was not there when the plugin was "
            "verified",
        )

    def test_attack_too_large(self):
        """A metafile of any size is not read."""
        with mock.patch.object(module, "BUILD_METAFILE_BYTES", 3):
            self.assertEqual(self.refused(b"12345"), "the metafile is over 3 bytes")

    def test_names_that_only_look_like_tests(self):
        """A name is a test file's by its middle parts alone."""
        for name in ("test.ts", "latest.ts", "tests/a.ts", "src/eslint.config.mjs"):
            self.check(metafile((MAIN, f"plugins/aa/{name}")))

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

    @settings(deadline=None)
    @given(st.text(st.characters(codec="utf-8"), max_size=60), st.text(max_size=9))
    def test_any_path(self, path, plugin_id):
        """Whatever an input is called, it is in a area or it is refused."""
        try:
            text = metafile((MAIN, path))
            read = check_metafile(text, allowed(plugins=["aa", plugin_id]))
        except (BuildError, TypeError):
            return
        areas = ("host/", "plugins/aa/", f"plugins/{plugin_id}/", TABLE)
        self.assertTrue(all(name.startswith(areas) for name in read))
        self.assertFalse(any(".." in name.split("/") for name in read))


class AloneTests(MetafileCase):
    """A plugin's own bundle."""

    def check(
        self, text: bytes, read: Callable[[str], bytes] = empty
    ) -> frozenset[str]:
        """Check a bundle of ``aa``."""
        alone = allowed(read, entry=MAIN, shared=API_TEXT, table=())
        return check_metafile(text, alone)

    def test_own_files(self):
        """It is made of its own files and what stands for the API."""
        edges = [{"path": "plugins/aa/x.ts"}, {"path": API_TEXT}]
        text = written({MAIN: edges, "plugins/aa/x.ts": [], API_TEXT: []})
        self.assertEqual(self.check(text), {MAIN, "plugins/aa/x.ts", API_TEXT})

    def test_attack_other_files(self):
        """Nothing of the host, the API's sources and other plugins is in it."""
        for path in (ENTRY, API, TABLE, "plugins/bb/main.ts", "host/node_modules/x.js"):
            text = written({MAIN: [{"path": path}], path: []})
            self.assertEqual(self.refused(text), f"{MAIN} may not import {path}")
        text = written({MAIN: [{"path": API_TEXT}], API_TEXT: [{"path": ENTRY}]})
        self.assertEqual(self.refused(text), f"{API_TEXT} may not import {ENTRY}")

    def test_attack_texts_in_the_host(self):
        """Where plugins are texts, the host's bundle has their manifests only."""
        texts = allowed(table={"plugins/aa/plugin.json"})
        with self.assertRaises(BuildError) as caught:
            check_metafile(metafile(), texts)
        self.assertEqual(str(caught.exception), f"{TABLE} may not import {MAIN}")
