"""
The snippets of source code in the files of ``corpus/``, and their verdicts.

A snippet begins after a line ``==== FILE:LINE RULE, LINE RULE | WHAT``: where it stands
in a plugin's tree, every hit that it has, in order, and what is special about it.
Without hits it is honest.  Where the line begins with ``==== each``, every line that
follows is a snippet of its own, in which ``⏎`` is a line break.  A ``␍`` is one of CR.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

CORPUS = Path(__file__).parent / "corpus"
_HEAD = re.compile(
    r"^==== (?P<each>each )?(?P<file>[^: |]+)(?::(?P<hits>[^|]+))? \| (?P<name>.+)\n",
    re.MULTILINE,
)


@frozen
class Snippet:
    """
    One file of source code.

    :ivar name: What is special about it, after the name of the file that it is from.
    :ivar file: Its path in a plugin's tree.
    :ivar hits: The lines and rules of all its hits, as ``1 eval``.
    """

    name: str
    file: str
    code: str
    hits: tuple[str, ...]

    @property
    def rules(self) -> list[str]:
        return [hit.partition(" ")[2] for hit in self.hits]


def snippets(path: Path) -> Iterator[Snippet]:
    """The snippets of one file of the corpus."""
    text = path.read_text(encoding="utf-8").replace("␍", "\r")
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        code = text[head.end() : end]
        assert "==== " not in code, f"{path.name}: a head that is none"
        name = f"{path.stem}: {head['name']}"
        hits = tuple(head["hits"].split(", ")) if head["hits"] else ()
        for one in code.removesuffix("\n").split("\n") if head["each"] else [code]:
            yield Snippet(name, head["file"], one.replace("⏎", "\n"), hits)


FILES = sorted(CORPUS.glob("*/*.txt"))
REFUSED = [one for path in FILES for one in snippets(path) if one.hits]
ACCEPTED = [one for path in FILES for one in snippets(path) if not one.hits]
