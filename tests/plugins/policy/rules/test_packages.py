"""What a ``package.json`` may make an import mean."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.rules.packages import UNREADABLE, package_hits
from bridge.protocol.limits import MANIFEST_BYTES

OUTSIDE = "import outside the plugin"
LEAVING: tuple[str, ...] = (
    "../../state.json",
    "/etc/passwd",
    "..\\..\\token",
    "a/../../../x",
)
LEAVING += (
    "./%2e%2e/%2e%2e/token",
    "file:///etc/passwd",
    "C:/x",
    "https://x.example/a",
)
INSIDE = (
    "index.js",
    "./src/main.ts",
    "../shared/a.ts",
    "lodash",
    "node:fs",
    "#own",
    ".",
)


def rules(content: bytes, path: str = "src/package.json") -> list[tuple[int, str]]:
    """What is found in a package.json."""
    return list(package_hits(path, content))


class PackageTests(SynchronousTestCase):
    """The fields that name files."""

    def test_ordinary(self) -> None:
        """What authors and their tools write passes."""
        document = {
            "name": "@me/clock",
            "version": "1.0.0",
            "type": "module",
            "main": "dist/index.js",
            "module": "./dist/index.mjs",
            "browser": {"fs": False, "./node.js": "./browser.js"},
            "exports": {
                ".": {"types": "./a.d.ts", "import": "./a.js", "default": None},
                "./*": ["./src/*.js", {"node": "./b.js"}],
            },
            "imports": {"#dep": {"node": "node:fs", "default": "./polyfill.js"}},
            "scripts": {"build": "cd ../.. && tsc", "lint": "eslint ../x"},
            "repository": {"type": "git", "url": "git+https://forge.example/a.git"},
            "homepage": "https://clock.example",
            "workspaces": ["../packages/*"],
            "devDependencies": {"host": "file:../../host"},
            "files": ["/dist"],
            "jest": {"rootDir": "../.."},
        }
        self.assertEqual(rules(json.dumps(document).encode(), "package.json"), [])
        self.assertEqual(rules(b"[]"), [])
        self.assertEqual(rules(b"{}"), [])

    def test_attack_leaving(self) -> None:
        """A path out of the plugin is refused in every field and shape."""
        for name in LEAVING:
            for field in ("main", "module", "browser", "exports", "imports"):
                for value in (name, {"./a": name}, {".": [{"x": [None, name]}]}):
                    content = json.dumps({"name": "x", field: value}, indent=1)
                    ((line, rule),) = rules(content.encode())
                    self.assertEqual(rule, OUTSIDE, content)
                    self.assertIn(json.dumps(name), content.splitlines()[line - 1])

    def test_attack_written_twice(self) -> None:
        """Whichever of two fields the bundler takes, both are read."""
        for one, two in (("a.js", LEAVING[0]), (LEAVING[0], "a.js")):
            content = f'{{"main": "{one}", "main": "{two}"}}'.encode()
            self.assertEqual(rules(content), [(1, OUTSIDE)])

    def test_attack_escapes(self) -> None:
        """Escapes in names and values hide nothing."""
        content = b'{\n"m\\u0061in": "\\u002e./\\u002e./x"}'
        self.assertEqual(rules(content), [(1, OUTSIDE)])

    def test_attack_unreadable(self) -> None:
        """What is no JSON, or too much, is refused as such."""
        for content in (b"", b"{,}", b'{"a": 1,}', b"[" * 30_000, b"{/**/}"):
            self.assertEqual(rules(content), [(1, UNREADABLE)])
        self.assertEqual(rules(b"{}" + b" " * MANIFEST_BYTES), [(1, UNREADABLE)])

    def test_test_files(self) -> None:
        """A test file, which is not scanned, can't become a package."""
        self.assertEqual(rules(b'{"main": "a.test.ts"}'), [(1, "imports a test file")])

    @given(
        st.recursive(
            st.sampled_from(INSIDE) | st.none() | st.booleans(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        ),
        st.sampled_from(["main", "browser", "exports", "imports", "other"]),
    )
    def test_inside(self, value: object, field: str) -> None:
        """Any shape of paths inside the plugin passes."""
        self.assertEqual(rules(json.dumps({field: value}).encode()), [])

    @given(st.binary())
    def test_bytes(self, content: bytes) -> None:
        """Any bytes get a verdict."""
        rules(content)
