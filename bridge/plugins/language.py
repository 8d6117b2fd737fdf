"""
How the bundler reads sources: one home, for the scan and for the build.

What one of them read in another way than the other, or not at all, would be code that
runs without having been scanned.
"""

from __future__ import annotations

import json
import os.path
from typing import Final

TARGET: Final = "es2022"
"""What the bundler compiles to."""

TSCONFIG_RAW: Final = json.dumps(
    {
        "compilerOptions": {
            "target": TARGET,
            "useDefineForClassFields": True,
            # In sloppy code the `this` of a plain function is the window.
            "alwaysStrict": True,
        }
    },
    separators=(",", ":"),
)
"""The compiler options of every source, which no ``tsconfig.json`` changes."""

# The bundler's own defaults, except that it reads `.mts` and `.cts` in a stricter
# variant of `ts` that has no name: there `<T>x` is an error.
LOADERS: Final = {
    ".ts": "ts",
    ".mts": "ts",
    ".cts": "ts",
    ".tsx": "tsx",
    ".js": "js",
    ".mjs": "js",
    ".cjs": "js",
    ".jsx": "jsx",
}
"""How each kind of source is read, by the suffix of its name."""

DATA_LOADERS: Final = {".json": "json", ".txt": "text"}
"""The same for files that hold no code, and that only the build reads."""

# What the bundler would read as code and as style sheets without being asked.  What has
# no dot in its name is an error, which it calls `default`; style sheets are read as
# nothing, so that the check of what was read can refuse them in better words.
_OTHERS: Final = {"": "default", ".css": "empty", ".module.css": "empty"}


def suffix_of(name: str) -> str:
    """
    Return what decides how a file is read.

    Exact in its letters' case, as the bundler is; dots at the start begin no suffix,
    so that a file called ``.ts`` or ``..js`` has none, although the bundler finds one.

    :param name: A base name, or a path with ``/``.
    :return: The suffix with its dot; an empty string when there is none.
    """
    return os.path.splitext(name.rpartition("/")[2])[1]


def is_source_name(name: str) -> bool:
    """Whether a file is code by its name; see ``suffix_of``."""
    return suffix_of(name) in LOADERS


def is_data_name(name: str) -> bool:
    """Whether a file is data that a plugin may import; see ``suffix_of``."""
    return suffix_of(name) in DATA_LOADERS


def loader_arguments() -> list[str]:
    """Return the bundler's arguments for all of this, so that no default decides."""
    kinds = {**LOADERS, **DATA_LOADERS, **_OTHERS}
    return [f"--loader:{suffix}={loader}" for suffix, loader in kinds.items()]
