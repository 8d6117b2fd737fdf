"""Large generated sources are accepted; one fills what a plugin may have."""

import random
from collections.abc import Callable
from typing import Final

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.limits import SOURCE_BYTES

from ..plugins.policy.scanning import every_hit

_MARGIN: Final = 2_000


def numbers(chooser: random.Random) -> str:
    """Return one line of a dense table of numbers."""
    return "  " + ", ".join(f"{chooser.random() * 1e4:.6g}" for _ in range(24)) + ",\n"


def words(chooser: random.Random) -> str:
    """Return one entry of a dictionary."""
    letters = "abcdefghijklmnopqrstuvwxyzäöüßéèñç"
    text = "".join(chooser.choices(letters, k=chooser.randint(3, 12)))
    return f'  ["{text}", "{text.upper()} {chooser.randint(0, 9999)}"],\n'


def members(chooser: random.Random) -> str:
    """Return one function of generated code."""
    name = f"field{chooser.getrandbits(40)}"
    return (
        f"export function read_{name}(m: Message, r: Reader): number {{\n"
        f"  switch (r.tag >>> 3) {{ case {chooser.randint(1, 99)}: m.{name} = r.i();"
        " break; default: r.skipType(r.tag & 7); }\n"
        f"  return m.{name}! / {chooser.randint(1, 99)};\n}}\n"
    )


def names(chooser: random.Random) -> str:
    """Return one enumeration; the bundler needs minutes for a single large one."""
    members = "".join(
        f"  Name{chooser.getrandbits(48):012x} = {chooser.randint(0, 2**31)},\n"
        for _ in range(40)
    )
    return f"export enum Names{chooser.getrandbits(48):012x} {{\n{members}}}\n"


def _filled(
    start: str,
    line: Callable[[random.Random], str],
    end: str,
    most: int = SOURCE_BYTES // 4,
) -> bytes:
    chooser = random.Random(7)  # noqa: S311 - not for secrets
    parts, size = [start], len(start) + len(end) + _MARGIN
    while size < most:
        parts.append(line(chooser))
        size += len(parts[-1].encode())
    return "".join([*parts, end]).encode()


def sources() -> dict[str, bytes]:
    """Return the sources by name; the one that takes longest is as large as can be."""
    return {
        "numbers.ts": _filled("export const TABLE = [\n", numbers, "];\n"),
        "words.js": _filled("export default new Map([\n", words, "]);\n", SOURCE_BYTES),
        "members.ts": _filled("interface Message {}\n", members, ""),
        "names.ts": _filled("", names, ""),
    }


class GeneratedTests(SynchronousTestCase):
    """Tables, dictionaries and code that no person wrote."""

    def test_accepted(self) -> None:
        """None has a hit, also when it fills all that a plugin may have."""
        for name, content in sources().items():
            self.assertEqual(every_hit({name: content}), {}, name)
        self.assertIn(len(sources()["words.js"]), range(SOURCE_BYTES)[-5_000:])
