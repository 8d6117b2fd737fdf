"""What can be around an expression, as ``contexts.txt`` lists it."""

from collections import defaultdict
from pathlib import Path
from typing import Final

HOLE: Final = "\N{LOZENGE}"
NAME: Final = "\N{NUMERO SIGN}"


def _read() -> defaultdict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    kind = ""
    for line in Path(__file__).with_suffix(".txt").read_text("utf-8").split("\n"):
        if line.startswith("== "):
            kind = line.removeprefix("== ")
        elif line and not line.startswith("#"):
            found[kind].append(line.replace("\\n", "\n"))
    return found


CONTEXTS: Final = _read()
"""Templates by what they are, and by what their files may have."""

STARTS: Final = ("", "", "", "'use strict';\n", "\ufeff", "// @ts-nocheck\n")
HASHBANG: Final = "#!/usr/bin/env node 'eval\n"
