"""
What each attack took in each mode: the committed file, and how it is written.

Tests compare it with what happens; the docs' table is made from it.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Final

from .modes import MODES

FILE: Final = Path(__file__).with_name("outcomes.toml")
LOOT: Final = {
    "cookie": "the page's cookie",
    "data": "what another plugin keeps",
    "host": "something that the host or another plugin does was changed",
    "request": "a request to another origin",
    "token": "the pairing token",
}
"""What can be taken, and what the docs call it."""

Outcomes = dict[str, dict[str, str | list[str]]]
"""
By attack: ``about``, in a sentence, and the loot by mode, where there was any.
"""

_HEAD: Final = """\
# Written by: python -m tests.attacks
# Review what changes: an attack that takes more than before is a hole.
"""


def read() -> Outcomes:
    """Read the committed file; nothing when there is none."""
    return tomllib.loads(FILE.read_text("utf-8")) if FILE.exists() else {}


def text(outcomes: Outcomes) -> str:
    """Write outcomes as they are committed."""
    lines = [_HEAD]
    for attack, about in sorted(outcomes.items()):
        keys = ("about", *(mode.name for mode in MODES))
        # JSON's strings and lists are TOML's too.
        held = (
            (k, json.dumps(about[k], ensure_ascii=False)) for k in keys if k in about
        )
        lines += [f'["{attack}"]', *(f"{key} = {value}" for key, value in held), ""]
    return "\n".join(lines)
