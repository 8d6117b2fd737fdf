"""How sources are read, and by which names."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.esbuild import language

SOURCES = {".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"}
DATA = {".json", ".txt"}


class NameTests(SynchronousTestCase):
    """What a name reveals about a file."""

    def test_kinds(self):
        """A source and a data file have a stem and one of the suffixes."""
        for suffix in SOURCES | DATA:
            for stem in ("a", "a.test", "..a", "src/a", "a b", "a."):
                name = stem + suffix
                self.assertEqual(language.is_source_name(name), suffix in SOURCES, name)
                self.assertEqual(language.is_data_name(name), suffix in DATA, name)
        self.assertEqual(
            (set(language.LOADERS), set(language.DATA_LOADERS)), (SOURCES, DATA)
        )

    def test_attack_names_of_no_kind(self):
        """None has what has no stem, another suffix, or one in other letters."""
        for suffix in SOURCES | DATA:
            for name in (suffix, f".{suffix}", f"..{suffix}", f"src/{suffix}"):
                self.assertEqual(language.suffix_of(name), "", name)
        for name in ("a", "a.", "a.TS", "a.Json", "a.css", "a.ts ", "a.js/b", "", "."):
            self.assertFalse(
                language.is_source_name(name) or language.is_data_name(name), name
            )
