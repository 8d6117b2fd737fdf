"""What the metafile check lets into a bundle."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.metafile import BuildError, check_metafile
from bridge.protocol.wire import dumps

ENTRY = "host/packages/host/src/index.ts"
API = "host/packages/api/src/index.ts"
TABLE = "build/static-plugins.ts"
MAIN = "plugins/aa/main.ts"
OUTPUTS = ("b.js", "b.js.map")


def metafile(*edges: tuple[str, str], external: bool = False) -> bytes:
    """Write a metafile in which the host reads the table, and what is given."""
    read: dict[str, list[Any]] = {ENTRY: [], TABLE: [], API: []}
    for path, target in ((ENTRY, TABLE), (ENTRY, API), *edges):
        edge: dict[str, Any] = {"path": target, "kind": "import-statement"}
        read.setdefault(path, []).append(edge)
        if external and (path, target) in edges:
            edge["external"] = True
        else:
            read.setdefault(target, [])
    return dumps(
        {
            "inputs": {p: {"bytes": 1, "imports": i} for p, i in read.items()},
            "outputs": {f"../x/{name}": {} for name in OUTPUTS},
        }
    )


class MetafileTests(SynchronousTestCase):
    """What passes and what is refused, and in which words."""

    def check(self, text: bytes) -> frozenset[str]:
        """Check a build of the plugins ``aa`` and ``bb``."""
        return check_metafile(text, ["aa", "bb"], OUTPUTS)

    def refused(self, text: bytes) -> str:
        """Check, expect a refusal, and give its words."""
        with self.assertRaises(BuildError) as caught:
            self.check(text)
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

    def test_attack_import_by_room(self):
        """No room reaches further than it may."""
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

    def test_attack_input_of_no_room(self):
        """A file outside every room is refused, however its path is written."""
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
                self.assertEqual(
                    self.refused(metafile((path, path))),
                    f"the bundle may not include {path.replace(chr(92), '/')}; only the"
                    " host, the generated table and the bundled plugins' own files",
                )

    def test_attack_data_url(self):
        """The text of a data: URL is refused, and not repeated."""
        code = "<data:text/javascript,evil()>"
        self.assertEqual(
            self.refused(metafile((MAIN, code))), f"{MAIN} may not import a data: URL"
        )
        told = self.refused(metafile((code, ENTRY)))
        self.assertIn("the bundle may not include a data: URL", told)
        self.assertNotIn("evil", told)

    def test_attack_file_that_was_never_scanned(self):
        """Files the source policy does not look at are refused."""
        for name, why in (
            ("a.test.ts", "is a test file; nothing may import one"),
            ("deep/a.SPEC.d.ts", "is a test file; nothing may import one"),
            ("eslint.config.mjs", "is a tool's file; nothing may import one"),
            ("scripts/sign-plugin.mjs", "is a tool's file; nothing may import one"),
            (".git/hooks/x.js", "is git's; nothing may import it"),
            ("plugin.sig", "is the signature; nothing may import it"),
            ("a.ts?x", "is imported with a query or a fragment"),
            ("a.ts#x", "is imported with a query or a fragment"),
        ):
            with self.subTest(name=name):
                path = f"plugins/aa/{name}"
                self.assertEqual(self.refused(metafile((MAIN, path))), f"{path} {why}")

    def test_names_that_only_look_like_tests(self):
        """A name is a test file's by its middle parts alone."""
        for name in ("test.ts", "latest.ts", "tests/a.ts", "src/eslint.config.mjs"):
            self.check(metafile((MAIN, f"plugins/aa/{name}")))

    def test_style_sheet(self):
        """A plugin's style sheet is refused by its name."""
        told = self.refused(metafile((MAIN, "plugins/aa/a.css")))
        self.assertTrue(told.startswith("plugins/aa/a.css is a style sheet"))

    def test_attack_module_left_to_the_browser(self):
        """What a plugin leaves unresolved is refused; the host may do so."""
        self.assertEqual(
            self.refused(metafile((MAIN, "https://x.example/a.js"), external=True)),
            f"{MAIN} imports what is not in the bundle",
        )
        self.check(metafile((ENTRY, "https://x.example/a.js"), external=True))

    def test_further_outputs(self):
        """A file beside the bundle is refused."""
        text = metafile().replace(b"../x/b.js.map", b"..\\\\x\\\\b.css")
        self.assertIn("the bundler wrote b.css beside the bundle", self.refused(text))

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
        ):
            with self.subTest(text=text):
                self.assertEqual(
                    self.refused(text), "the bundler's metafile cannot be read"
                )

    @settings(deadline=None)
    @given(st.text(st.characters(codec="utf-8"), max_size=60), st.text(max_size=9))
    def test_any_path(self, path, plugin_id):
        """Whatever an input is called, it is in a room or it is refused."""
        try:
            text = metafile((MAIN, path))
            read = check_metafile(text, ["aa", plugin_id], OUTPUTS)
        except (BuildError, TypeError):
            return
        rooms = ("host/", "plugins/aa/", f"plugins/{plugin_id}/", TABLE)
        self.assertTrue(all(name.startswith(rooms) for name in read))
        self.assertFalse(any(".." in name.split("/") for name in read))
