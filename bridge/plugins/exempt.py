"""Files of a plugin's tree that are tooling or tests: nothing may load one."""

from __future__ import annotations

EXEMPT = frozenset(
    {
        "eslint.config.js",
        "eslint.config.mjs",
        "eslint.config.cjs",
        "vitest.config.ts",
        "vitest.config.js",
        "vitest.config.mts",
        "scripts/sign-plugin.mjs",
    }
)
"""Paths of tooling that plugins carry and that nothing may load."""


def is_test_name(name: str) -> bool:
    """Whether a base name is a test file's: ``a.test.ts``, ``a.spec.d.ts``."""
    return bool({"test", "spec"}.intersection(name.lower().split(".")[1:-1]))
