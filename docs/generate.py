"""
Writes the committed files that come from the code: schemas and TypeScript types.

Run ``python docs/generate.py`` and commit the result; a test compares it. What pages
have from the code is not committed: see ``docs/parts.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fileschemas import ROOT, SCHEMAS, file_schemas
from protocolfile import document
from typescript import module

from bridge.schemas import PROTOCOL_FILE

WIDTH = 120


def shipped() -> Iterator[tuple[Path, str]]:
    """Yield every generated file, and its text."""
    about = document()
    yield SCHEMAS / PROTOCOL_FILE, f"{pretty(about)}\n"
    for path, schema in file_schemas():
        yield path, f"{pretty(schema)}\n"
    yield ROOT / "bridge/reference/packages/client/src/protocol.ts", module(about)


def pretty(value: Any, depth: int = 0) -> str:
    """
    Write JSON for people to read, too: what fits in a line is in one.

    :param depth: How far the lines after the first one are indented.
    """
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + depth <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    inner, outer = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, list):
        held = [pretty(one, depth + 1) for one in value]
        lines = held[:1]
        for one in held[1:]:
            # Words share a line, what has fields has its own.
            if "{" in one + lines[-1] or len(lines[-1] + one) + depth > WIDTH - 4:
                lines.append(one)
            else:
                lines[-1] += f", {one}"
        return f"[{inner}{f',{inner}'.join(lines)}{outer}]"
    held = [f"{json.dumps(k)}: {pretty(one, depth + 1)}" for k, one in value.items()]
    return f"{{{inner}{f',{inner}'.join(held)}{outer}}}"


if __name__ == "__main__":
    for path, text in shipped():
        path.write_text(text, encoding="utf-8")
