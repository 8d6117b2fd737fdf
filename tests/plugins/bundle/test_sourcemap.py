"""Source maps, checked against the files they speak of."""

import json
from typing import ClassVar

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.metafile import BuildError
from bridge.plugins.bundle.sourcemap import SourceMap, check_map


def written(*pairs: tuple[str, str | None], **more: object) -> bytes:
    """Write a map of these sources."""
    fields = {
        "version": 3,
        "sources": [source for source, _ in pairs],
        "sourcesContent": [content for _, content in pairs],
        "mappings": "AAAA",
        "names": ["n"],
    }
    return json.dumps(fields | more).encode()


class MapTests(SynchronousTestCase):
    """Maps against the files they speak of."""

    files: ClassVar[dict[str, bytes]] = {
        "plugins/aa/main.ts": b"export default 1;",
        "plugins/aa/\xfc %.ts": "\ufeffü".encode(),
        "plugins/aa/bad.ts": b"\xff",
        "host/packages/host/src/index.ts": b"",
    }

    def check(self, text: bytes) -> SourceMap:
        """Check a map."""
        inputs = frozenset(self.files)
        return check_map(text, "", inputs, self.files.__getitem__)

    def refused(self, text: bytes) -> str:
        """Check, expect a refusal, and give its words."""
        error = self.assertRaises(BuildError, self.check, text)
        return str(error)

    def test_as_it_was_written(self):
        """A map that holds the files is published as the bundler wrote it."""
        text = written(
            ("plugins/aa/main.ts", "export default 1;"),
            ("plugins/aa/%C3%BC%20%25.ts", "\ufeffü"),
        )
        self.assertEqual(self.check(text).text, text)

    def test_attack_half_of_a_pair(self):
        """A map with half of a surrogate pair is refused in the words of a build."""
        text = written(names=["x"]).replace(b"x", rb"\ud800")
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
                self.refused(written((source, "x"))),
                "the source map holds a source that is no part of the bundle",
                source,
            )

    def test_attack_text_of_another_file(self):
        """An input whose text is not the file's is refused, and so is no text."""
        for content in ("secret", "", None):
            reported = self.refused(written(("plugins/aa/main.ts", content)))
            self.assertIn("plugins/aa/main.ts differs from what", reported)

    def test_not_utf8(self):
        """A file that no map can hold is refused by its name."""
        self.assertEqual(
            self.refused(written(("plugins/aa/bad.ts", "\ufffd"))),
            "plugins/aa/bad.ts is not UTF-8",
        )

    def test_sources_of_packages(self):
        """What a package of the host was made from keeps only its name."""
        found = self.check(written(("host/node_modules/p/x.ts", "text")))
        self.assertEqual(found.sources, ["host/node_modules/p/x.ts"])
        self.assertEqual(json.loads(found.text)["sourcesContent"], [None])
