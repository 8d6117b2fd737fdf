"""
Writes the committed files that come from the code: schemas and TypeScript types.

Run ``python docs/generate.py`` and commit the result; a test compares it. What pages
have from the code is not committed: see ``docs/parts.py``.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from fileschemas import ROOT, SCHEMAS, file_schemas
from protocolfile import document
from typescript import module

from bridge.schemas import PROTOCOL_FILE

WIDTH: Final = 160  # descriptions are longer in any case


def shipped() -> Iterator[tuple[Path, str]]:
    """Yield every generated file, and its text."""
    about = document()
    yield SCHEMAS / PROTOCOL_FILE, f"{pretty(about)}\n"
    for path, schema in file_schemas():
        yield path, f"{pretty(schema)}\n"
    yield ROOT / "bridge/reference/packages/client/src/protocol.ts", module(about)


def pretty(value: Any, depth: int = 0, *, fields: bool = False) -> str:
    """
    Write JSON so that a diff shows what has changed: each field of a schema has a line.

    :param depth: How far the lines after the first one are indented.
    :param fields: Whether the value is what a schema calls ``properties``.
    """
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict) or len(line) + depth <= WIDTH:
        return line
    inner, outer = "\n" + " " * (depth + 1), "\n" + " " * depth
    lines: list[str] = []
    for key, one in value.items():
        text = json.dumps(one, ensure_ascii=False)
        if not fields:
            text = pretty(one, depth + 1, fields=key == "properties")
        entry = f"{json.dumps(key)}: {text}"
        # What has no fields shares a line.
        together = f"{lines[-1]}, {entry}" if lines and not fields else "{"
        if "{" in together or len(together) + depth >= WIDTH:
            lines.append(entry)
        else:
            lines[-1] = together
    return f"{{{inner}{f',{inner}'.join(lines)}{outer}}}"


if __name__ == "__main__":
    for path, text in shipped():
        path.write_text(text, encoding="utf-8")
