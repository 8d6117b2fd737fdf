"""The nearest of some known words, for errors about a word that is unknown."""

from __future__ import annotations

from collections.abc import Iterable

from .limits import NAME_CHARACTERS


def nearest(word: str, known: Iterable[str]) -> str:
    """
    Return a hint with the nearest of the known words; empty if none is near.

    The hint never has anything of ``word`` itself, which a caller has sent.
    """
    if len(word) > NAME_CHARACTERS:
        return ""  # comparing takes a time that grows with the square of the length
    # It takes as long to load as the rest of this package, and is needed only here.
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), 1)
    return f"; did you mean {found[0]}?" if found else ""
