"""What a metafile has about a bundle; see ``test_metafile`` for what is refused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.parsing import Input, Metafile, parse_metafile
from bridge.plugins.bundle.places import Edge
from bridge.protocol.strictjson import dumps

_JSON = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["inputs", "outputs", "imports", "path", "with", "a"]),
            inner,
        )
    ),
)


class MetafileTests(SynchronousTestCase):
    """Reading one."""

    def test_fields(self):
        """Files, imports, outputs, and what is left to the browser."""
        asked = {"with": {"type": "json"}}
        text = dumps(
            {
                "inputs": {
                    "a\\b.ts": {
                        "imports": [
                            {"path": "c.json with { type: 'json' }", **asked},
                            {"path": "d.ts", "original": "./d"},
                            {"path": "https://x", "external": True},
                        ]
                    },
                    "c.json with { type: 'json' }": asked,
                    "d.ts with { type: 'json' }": {},
                },
                "outputs": {
                    "o\\b.js": {"imports": [{"path": "https://x", "external": True}]},
                    "o/b.js.map": {},
                },
            }
        )
        self.assertEqual(
            parse_metafile(text),
            Metafile(
                [
                    Input("a/b.ts", as_data=False),
                    Input("c.json", as_data=True),
                    Input("d.ts with { type: 'json' }", as_data=False),
                ],
                [
                    Edge("a/b.ts", "c.json", "c.json with { type: 'json' }", False),
                    Edge("a/b.ts", "d.ts", "./d", False),
                    Edge("a/b.ts", "https://x", "https://x", True),
                ],
                ["o/b.js", "o/b.js.map"],
                frozenset({"https://x"}),
            ),
        )

    @given(_JSON)
    def test_any_json(self, value):
        """Whatever it is, it is read or refused."""
        try:
            parse_metafile(dumps(value))
        except ValueError:
            pass
