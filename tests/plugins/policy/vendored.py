"""
The list of standard names, copied from the npm package ``globals``.

``python -m tests.plugins.policy.vendored`` writes it from the package that npm
downloads and verifies.  To move to another version, change
``GLOBALS_PACKAGE`` and run it.
"""

import json
import textwrap
from pathlib import Path
from typing import Any, Final

from bridge.plugins.policy import rules

from ...npm import npm_package

GLOBALS_PACKAGE: Final = "globals@17.14.0"
"""The package and its exact version."""

HERE: Final = Path(rules.__file__).parent / "globals"


def published() -> dict[str, Any]:
    """Return what the copy has to hold."""
    package = npm_package(GLOBALS_PACKAGE)
    names = json.loads((package / "globals.json").read_text("utf-8"))
    worker = {*names["worker"]}
    return {
        "package": GLOBALS_PACKAGE,
        "source": "https://github.com/sindresorhus/globals",
        "licence": "MIT",
        "ecmascript": sorted(names["builtin"]),
        "page": sorted({*names["browser"]} - worker),
        "worker": sorted(worker),
    }


def licence() -> str:
    """Return the licence of the package."""
    return (npm_package(GLOBALS_PACKAGE) / "license").read_text("utf-8")


def copied() -> Any:
    """Return what the copy holds."""
    return json.loads((HERE / "names.json").read_text("utf-8"))


def main() -> None:
    """Replace the copy."""
    # No name has a blank or a hyphen, so lines are broken between names only.
    text = textwrap.fill(json.dumps(published()), 120, break_long_words=False)
    (HERE / "names.json").write_text(f"{text}\n", "utf-8")
    (HERE / "LICENSE").write_text(licence(), "utf-8")


if __name__ == "__main__":
    main()
