"""What hypothesis makes for the tests: JSON, strict and not, and broken text."""

import json

from hypothesis import strategies as st

SECRET = "Zx9-SECRET-q7"
"""Stands in for what a caller sent; no refusal may hold it."""

characters = st.characters(exclude_categories=["Cs"])
"""Any character a UTF-8 text can hold."""

texts = st.text(characters, max_size=12)

leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)

values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4)
    ),
    max_leaves=12,
)
"""Any JSON value."""

objects = st.dictionaries(texts, values, max_size=5)
"""Any JSON object."""

loose = st.recursive(
    leaves | st.floats() | st.text(max_size=6) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
    ),
    max_leaves=8,
)
"""What Python's ``json`` writes and reads, though some of it is no JSON."""

ids = st.text(characters, min_size=1, max_size=128)
"""Any usable request id."""

names = st.text("abcdefghijklmnopqrstuvwxyz0123456789_-", min_size=1, max_size=64)
"""Any name a service or a method may have."""

requests = st.fixed_dictionaries(
    {"type": st.just("request"), "id": ids, "service": names, "method": names},
    optional={"params": st.none() | objects},
)
"""Any good request, as plain JSON."""

secretive = st.recursive(
    leaves | st.just(SECRET),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(texts | st.just(SECRET), inner, max_size=3)
    ),
    max_leaves=8,
)
"""JSON with the secret in some keys and values."""

broken = st.binary(max_size=40) | loose.map(
    lambda value: json.dumps(value).encode("ascii")
)
"""Bytes that may be anything: noise, JSON, nearly JSON."""


def nested(depth: int) -> bytes:
    """Write JSON nested exactly so deep."""
    return b"[" * depth + b"]" * depth
