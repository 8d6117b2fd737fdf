"""How sources are read, and by which names."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.esbuild.language import (
    DATA_LOADERS,
    LOADERS,
    TSCONFIG_RAW,
    is_data_name,
    is_source_name,
    loader_arguments,
    suffix_of,
)


class NameTests(SynchronousTestCase):
    """What a name reveals about a file."""

    def test_sources(self):
        """A source has a stem and one of eight suffixes."""
        for suffix in LOADERS:
            for stem in ("a", "a.test", "..a", "src/a", "a b", "a."):
                self.assertTrue(is_source_name(stem + suffix), stem + suffix)
        self.assertEqual(
            set(LOADERS),
            {".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"},
        )

    def test_attack_names_without_a_stem(self):
        """What the bundler reads by its whole name is no source."""
        for suffix in (*LOADERS, *DATA_LOADERS):
            for name in (suffix, f".{suffix}", f"..{suffix}", f"src/{suffix}"):
                self.assertEqual(suffix_of(name), "", name)
                self.assertFalse(is_source_name(name), name)
                self.assertFalse(is_data_name(name), name)

    def test_attack_names_of_no_kind(self):
        """Nor is what has another suffix, none, or one in other letters."""
        for name in ("a", "a.", "a.TS", "a.Json", "a.css", "a.ts ", "a.js/b", "", "."):
            self.assertFalse(is_source_name(name), name)
            self.assertFalse(is_data_name(name), name)

    def test_data(self):
        """Data is JSON or text."""
        self.assertTrue(is_data_name("a/b.json"))
        self.assertTrue(is_data_name("b.txt"))
        self.assertFalse(is_source_name("b.txt"))

    @given(st.text(max_size=12), st.sampled_from([*LOADERS, *DATA_LOADERS]))
    def test_any_name(self, stem, suffix):
        """A name is of one kind at most, and directories do not count."""
        for name in (stem, stem + suffix):
            self.assertFalse(is_source_name(name) and is_data_name(name))
            self.assertEqual(suffix_of(name), suffix_of(f"x.ts/{name}"))


class OptionTests(SynchronousTestCase):
    """What the bundler is asked for."""

    def test_compiler_options(self):
        """Modern, with the fields of the language, and strict."""
        self.assertEqual(
            json.loads(TSCONFIG_RAW),
            {
                "compilerOptions": {
                    "target": "es2022",
                    "useDefineForClassFields": True,
                    "alwaysStrict": True,
                }
            },
        )

    def test_loaders(self):
        """Every suffix has its loader on the command line."""
        self.assertEqual(
            sorted(loader_arguments()),
            [
                "--loader:.cjs=js",
                "--loader:.css=empty",
                "--loader:.cts=ts",
                "--loader:.js=js",
                "--loader:.json=json",
                "--loader:.jsx=jsx",
                "--loader:.mjs=js",
                "--loader:.module.css=empty",
                "--loader:.mts=ts",
                "--loader:.ts=ts",
                "--loader:.tsx=tsx",
                "--loader:.txt=text",
                "--loader:=default",
            ],
        )
