"""
The list of intrinsics that the npm package ``ses`` maintains, as data.

It names every property of each object of the language that is known to be harmless, and
what the property leads to.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Final

from ...npm import npm_package, run_node

SES_PACKAGE: Final = "ses@1.15.0"
"""The package and its exact version."""

_PRINT: Final = """\
const { permitted, initialGlobalPropertyNames, universalPropertyNames } =
  await import(process.argv[1]);
const globals = { ...universalPropertyNames, ...initialGlobalPropertyNames };
console.log(JSON.stringify({ globals, permitted }));
"""


@cache
def permits() -> dict[str, Any]:
    """
    Return the list.

    :return: ``globals`` has the name of an intrinsic by that of a global; ``permitted``
        has for each intrinsic what its properties are: the type of a primitive, the
        name of an intrinsic, or an object of the same form.
    """
    source = npm_package(SES_PACKAGE) / "src" / "permits.js"
    printed = run_node("--input-type=module", "--eval", _PRINT, "--", source)
    found: dict[str, Any] = json.loads(printed)
    return found
