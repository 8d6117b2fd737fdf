"""The snippets of source code in the files of ``corpus/``."""

from __future__ import annotations

import re
from pathlib import Path

from attrs import frozen

CORPUS = Path(__file__).parent / "corpus"
_HEAD = re.compile(
    r"^==== (?P<file>[^: |]+)(?P<hit>:\d+ [^|]+)? \| (?P<name>.+)\n", re.MULTILINE
)


@frozen
class Snippet:
    """
    One file of source code.

    :ivar name: What is special about it, after the name of the file that it is from.
    :ivar file: Its path in a plugin's tree.
    :ivar code: Its text.
    :ivar report: The hit that it must have; empty when it must have none.
    """

    name: str
    file: str
    code: str
    report: str

    @property
    def rule(self) -> str:
        """The rule of its hit."""
        return self.report.partition(" ")[2]


def snippets(path: Path) -> list[Snippet]:
    """The snippets of one file of the corpus."""
    text = path.read_text(encoding="utf-8")
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [
        Snippet(
            f"{path.stem}: {head['name']}",
            head["file"],
            text[head.end() : end],
            head["file"] + head["hit"] if head["hit"] else "",
        )
        for head, end in zip(heads, ends, strict=True)
    ]


FILES = sorted(CORPUS.glob("*/*.txt"))
REFUSED = [one for path in FILES for one in snippets(path) if one.report]
ACCEPTED = [one for path in FILES for one in snippets(path) if not one.report]
