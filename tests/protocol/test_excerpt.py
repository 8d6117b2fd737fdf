"""Tests for bridge.protocol.excerpt."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import excerpt as module
from bridge.protocol.excerpt import excerpt
from bridge.protocol.strictjson import dumps

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
)


class ExcerptTests(SynchronousTestCase):
    """Tests for the beginning of a value."""

    @given(JSON, st.integers(0, 50))
    def test_any_value(self, value: Any, most: int) -> None:
        """It is what writing the whole at once begins with."""
        whole = dumps(value).decode("utf-8")
        self.assertEqual(excerpt(value, most), (whole[:most], len(whole)))

    def test_steps(self) -> None:
        """A long text, and a long key, are the same however they are cut."""
        value = {'a"\n\u00e9\U0001f600' * 9: ["\\\u0001x\u20ac" * 9]}
        whole = dumps(value).decode("utf-8")
        for characters in (1, 2, 7, 64):
            self.patch(module, "_STEP_CHARACTERS", characters)
            self.assertEqual(excerpt(value, 60), (whole[:60], len(whole)))
