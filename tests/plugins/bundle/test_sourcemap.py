"""Source maps, checked against the files they speak of."""

import json
from typing import ClassVar

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.metafile import BuildError
from bridge.plugins.bundle.sourcemap import check_map


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
        "plugins/aa/bad.ts": b"\xff",
    }

    def refused(self, text: bytes) -> str:
        """Check a map, expect a refusal, and give its words."""
        inputs, read = frozenset(self.files), self.files.__getitem__
        error = self.assertRaises(BuildError, check_map, text, "", inputs, read)
        return str(error)

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
