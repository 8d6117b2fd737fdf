"""
Binds the free names of a plugin's own bundle to its scope.

Each word of the bundle that may be a name is given to the bundler as one to replace,
and its own analysis of scopes replaces it where nothing declares it: ``fetch`` becomes
``$scope.fetch``.  No list of globals and no second opinion on scopes is needed.
Nothing here does I/O.
"""

from __future__ import annotations

import re
from typing import Any, Final

from attrs import field, frozen

from ...esbuild.language import TARGET
from ...policy.reader.encoding import encoded
from ...policy.reader.queries import Queries
from ...policy.reader.words import words_in
from ...policy.rules.standard import RESERVED
from .scope import CONSTANTS

SCOPE_FILE: Final = "scope.js"
_MAP: Final = "//# sourceMappingURL=data:application/json;base64,"
# What the bundler makes of an import that it cannot resolve, without being asked.
_GENERATED: Final = frozenset({"require"})
_FLAGS: Final = (
    "--loader=js",
    f"--target={TARGET}",
    "--sourcemap=inline",
    # One with a computed name is nothing that any name could stand for.
    "--supported:dynamic-import=false",
    "--log-level=silent",
)


@frozen
class Unbound:
    """
    A plugin's own bundle, before its free names are bound.

    :ivar path: Of the bundle, relative to the data directory, with ``/``.
    :ivar text: It, with its source map in a comment at the end.
    :ivar words: Its words that may be names, those that cannot be replaced left out.
    :ivar scope: The name of the scope, which is none of its words.
    """

    path: str
    text: str
    words: frozenset[str] = field(init=False)
    scope: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        code = self.text.rpartition(_MAP)[0] or self.text
        words = (words_in(code) | _GENERATED) - RESERVED - CONSTANTS
        name = "$scope"
        while name in words:
            name += "$"
        object.__setattr__(self, "words", frozenset(words))
        object.__setattr__(self, "scope", name)

    def request(self) -> dict[str, Any]:
        """Return the request that binds it."""
        bindings = [f"--define:{word}={self.scope}.{word}" for word in self.words]
        scope = f'import {{ scope as {self.scope} }} from "./{SCOPE_FILE}";'
        flags = [*_FLAGS, f"--sourcefile={self.path}", f"--banner={scope}"]
        return {
            "command": "transform",
            "flags": encoded([*flags, *sorted(bindings)]),
            "inputFS": False,
            "input": self.text.encode(),
        }

    def bound_names(self, code: str) -> set[str]:
        """
        Return the names that are bound, and perhaps more of the words.

        :param code: The answer to the request.
        """
        found = re.findall(rf"{re.escape(self.scope)}\.([\w$]+)", code)
        return set(self.words).intersection(found)


class Bindings(Queries[Unbound]):
    """The queries that bind some bundles."""

    def first(self, source: Unbound) -> dict[str, Any]:
        """See ``Queries.first``."""
        return source.request()
