"""Reading, checking and writing source maps."""

from __future__ import annotations

import hashlib
import json
from typing import ClassVar
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.inputs import sourcemap
from bridge.plugins.bundle.inputs.metafile import BuildError
from bridge.plugins.bundle.inputs.sourcemap import (
    SourceMap,
    check_map,
    map_pieces,
    parse_map,
)

texts = st.text(max_size=20)
maps = st.lists(st.tuples(texts, st.none() | texts), max_size=4).flatmap(
    lambda pairs: st.builds(
        SourceMap,
        st.just([source for source, _ in pairs]),
        st.just([content for _, content in pairs]),
        st.text("AZaz09+/,;", max_size=20).map(str.encode),
        st.lists(texts, max_size=4),
    )
)


def written(given_map: SourceMap, **more: object) -> dict[str, object]:
    """The map as plain JSON."""
    return {
        "version": 3,
        "sources": given_map.sources,
        "sourcesContent": given_map.contents,
        "mappings": given_map.mappings.decode(),
        "names": given_map.names,
        **more,
    }


class ParsingTests(SynchronousTestCase):
    """Maps as text: short ones, which are decoded at once, and the same in pieces."""

    large = False

    def parse(self, text: bytes) -> SourceMap:
        """Read a map, as if it were large."""
        with mock.patch.object(sourcemap, "_AT_ONCE_BYTES", -1 if self.large else 1e9):
            return parse_map(text)

    def refused(self, text: str) -> None:
        """Reading it must be refused, either way."""
        for self.large in (False, True):
            with self.assertRaises(BuildError) as caught:
                self.parse(text.encode())
            self.assertEqual(
                str(caught.exception), "the bundler's source map cannot be read"
            )

    @settings(deadline=None)
    @given(maps, st.sampled_from([None, 1]), st.booleans())
    def test_any_map(self, made, indent, ascii_only):
        """A map is read however its JSON is laid out, and written back the same."""
        text = json.dumps(written(made), indent=indent, ensure_ascii=ascii_only)
        for self.large in (False, True):
            self.assertEqual(self.parse(f" {text}\n".encode()), made)
            self.assertEqual(self.parse(b"".join(map_pieces(made))), made)

    @settings(deadline=None)
    @given(st.text(alphabet='{}[]",:0123456789ntrue \\sources', max_size=60))
    def test_any_text(self, text):
        """Any text is a map or is refused, and nothing else."""
        read: list[SourceMap | None] = []
        for self.large in (False, True):
            try:
                read.append(self.parse(text.encode()))
            except BuildError:
                read.append(None)
        self.assertEqual(read[0], read[1])

    @settings(deadline=None)
    @given(maps, st.data())
    def test_a_map_cut_short(self, made, data):
        """No beginning of a map is a map."""
        text = json.dumps(written(made))
        self.refused(text[: data.draw(st.integers(0, len(text) - 1))])

    def test_what_is_no_map(self):
        """Other fields, other types and other versions are refused."""
        empty = SourceMap([], [], b"", [])
        for fields in (
            written(empty, sections=1),
            written(empty, version=2),
            written(empty, sources=["a"]),
            written(empty, sources=[1], sourcesContent=["a"]),
            written(empty, sources=["a"], sourcesContent=[1]),
            written(empty, sources="a"),
            written(empty, mappings=[]),
            written(empty, mappings=1),
            written(empty, mappings='A"'),
            written(empty, version=True),
            written(empty, version=[3]),
            written(empty, version=3.0),
            written(empty, mappings="\xe4"),
            written(empty, names=[[]]),
            written(empty, names={}),
            {"version": 3},
        ):
            with self.subTest(fields=fields):
                self.refused(json.dumps(fields))
        good = json.dumps(written(empty))
        for text in (
            good.replace('"mappings": ""', '"mappings": "\\u0041"'),
            good.replace('"mappings": ""', '"mappings": "\\/"'),
            good.replace("{", '{"names": [], '),
            "\ufeff" + good,
        ):
            with self.subTest(text=text):
                self.refused(text)
        surrogate = json.dumps(written(empty, names=["x"])).encode()
        for other in (
            good.encode("utf-16"),
            good.encode("utf-32"),
            surrogate.replace(b"x", b"\xed\xa0\x80"),
        ):
            for self.large in (False, True):
                self.assertRaises(BuildError, self.parse, other)
        deep = "[" * 100_000
        for text in (
            "",
            "[]",
            "{}",
            "{}x",
            '{"version":3}{}',
            "{[]: 1}",
            '{"a" 1}',
            deep,
        ):
            with self.subTest(text=text):
                self.refused(text)


class CheckingTests(SynchronousTestCase):
    """Maps against the files they speak of."""

    files: ClassVar[dict[str, bytes]] = {
        "plugins/aa/main.ts": b"export default 1;",
        "plugins/aa/\xfc %.ts": "\ufeffü".encode(),
        "plugins/aa/bad.ts": b"\xff",
        "host/packages/host/src/index.ts": b"",
        "plugins/bb/main.ts": b"must not be read",
    }
    known: ClassVar[dict[str, bytes]] = {
        "plugins/bb/main.ts": hashlib.sha256("\ufeffü".encode()).digest(),
    }

    def check(self, *pairs: tuple[str, str | None]) -> SourceMap:
        """Check a map of these sources."""
        given_map = SourceMap(
            [s for s, _ in pairs], [c for _, c in pairs], b"AA", ["n"]
        )
        return check_map(
            given_map,
            "/home/me/themes/x/.build-1",
            "/home/me/data",
            frozenset(self.files),
            self.files.__getitem__,
            self.known,
        )

    def refused(self, *pairs: tuple[str, str | None]) -> str:
        """Check, expect a refusal, and give its words."""
        with self.assertRaises(BuildError) as caught:
            self.check(*pairs)
        return str(caught.exception)

    def test_known(self):
        """A file whose digest is known is not read."""
        text, other = "\ufeffü", ("must not be read", "ü", "\ud800", "", None)
        path = "../../../data/plugins/bb/main.ts"
        self.assertEqual(self.check((path, text)).contents, [text])
        for content in other:
            with self.subTest(content=content):
                self.assertIn("differs from what", self.refused((path, content)))

    def test_named_from_the_data_directory(self):
        """Sources lose the way from the theme's folder to the data directory."""
        checked = self.check(
            ("../../../data/plugins/aa/main.ts", "export default 1;"),
            ("../../../data/plugins/aa/%C3%BC%20%25.ts", "\ufeffü"),
        )
        self.assertEqual(
            checked.sources, ["plugins/aa/main.ts", "plugins/aa/\xfc %.ts"]
        )
        self.assertEqual(checked.names, ["n"])

    def test_attack_foreign_source(self):
        """A source that was no input is refused without repeating its name."""
        for source in (
            "../../../data/token",
            "../../../../me/.ssh/id",
            "/etc/passwd",
            "dataurl:x",
            "plugins/aa/main.ts",
            "../../../data/host/node_modules/../../token",
        ):
            with self.subTest(source=source):
                self.assertEqual(
                    self.refused((source, "x")),
                    "the source map holds a source that is no part of the bundle",
                )

    def test_attack_text_of_another_file(self):
        """An input whose text is not the file's is refused, and so is no text."""
        for content in ("secret", "", None):
            reported = self.refused(("../../../data/plugins/aa/main.ts", content))
            self.assertIn("plugins/aa/main.ts differs from what", reported)

    def test_not_utf8(self):
        """A file that no map can hold is refused by its name."""
        self.assertEqual(
            self.refused(("../../../data/plugins/aa/bad.ts", "\ufffd")),
            "plugins/aa/bad.ts is not UTF-8",
        )

    def test_sources_of_packages(self):
        """What a package of the host was made from keeps only its name."""
        checked = self.check(("../../../data/host/node_modules/p/x.ts", "text"))
        self.assertEqual(checked.sources, ["host/node_modules/p/x.ts"])
        self.assertEqual(checked.contents, [None])
