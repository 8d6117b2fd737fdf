"""The real build of many programs at once, and what is live in the result."""

import functools
import re
import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from bridge.plugins.bundle.bundling import Target
from bridge.plugins.policy.reading import marked_names
from bridge.settings.host import load_profile

from ..npm import esbuild
from ..programs import run
from .constructs import DEFINED, OUTSIDE, PREFIX, TEST_FILE
from .programs import Program

SECONDS: Final = 120.0
_REFUSED: Final = re.compile(r"^\s+plugins/(\d+)\.\w+:\d+:\d+:$", re.MULTILINE)
_binary = functools.cache(esbuild)
_MODULE: Final = "export const y = a, jsx = a, jsxs = a; export default y; f('{}');\n"


class Build:
    """A directory programs are built in, each as a bundle of its own."""

    def __init__(self, directory: Path) -> None:
        self._root = directory
        self._plugins = directory / "plugins"
        self._out = directory / "out"
        self._plugins.mkdir(parents=True)
        (self._plugins / "x.ts").write_text("export const y = a; export type Y = 1;\n")
        outside, test = _MODULE.format(OUTSIDE), _MODULE.format(TEST_FILE)
        (directory / "outside.ts").write_text(outside)
        (self._plugins / "some.test.ts").write_text(test)
        self._flags = _flags(self._out)
        self._neutral: list[str] = []

    def bundles(
        self, programs: Sequence[Program], skipped: Sequence[bool]
    ) -> list[str | None]:
        """
        Build programs.

        :return: Their bundles in lower case; None for what the bundler refuses.
        """
        # A name that is replaced has no effect when it is read, in the scan as here.
        texts = [_MODULE, *(program.built for program in programs)]
        free = {name for text in texts for name in marked_names(text)}
        free -= {*DEFINED, "process"}
        self._neutral = [f"--define:{name}={name}" for name in sorted(free)]
        names = {
            at: f"plugins/{at}{program.suffix}"
            for at, program in enumerate(programs)
            if not skipped[at]
        }
        for at, name in names.items():
            text = programs[at].built
            (self._root / name).write_text(text, encoding="utf-8", newline="")
        files = list(names.values())
        # What cannot be linked is only reported once everything can be read.
        while refused := self._run(list(names.values())):
            names = {at: name for at, name in names.items() if at not in refused}
        bundles = [
            (self._out / f"{at}.js").read_text("utf-8").lower() if at in names else None
            for at in range(len(programs))
        ]
        for file in files:
            (self._root / file).unlink()
        shutil.rmtree(self._out, ignore_errors=True)
        return bundles

    def _run(self, files: list[str]) -> set[int]:
        """Run the bundler; return which programs it refuses."""
        if not files:
            return set()
        done = run(
            *(str(_binary()), *files, *self._flags, *self._neutral),
            cwd=self._root,
            # Memory is cheaper here than the time to collect it.
            env={"GOGC": "800"},
            # A line that it quotes may be cut within a character.
            errors="replace",
            timeout=SECONDS,
        )
        refused = {int(number) for number in _REFUSED.findall(done.stderr)}
        if done.returncode == 0 or refused:
            return refused
        # The bundler crashed: one of these is why.
        if len(files) == 1:
            return {int(PurePosixPath(files[0]).stem)}
        middle = len(files) // 2
        return self._run(files[:middle]) | self._run(files[middle:])


def _flags(out: Path) -> list[str]:
    """Return the arguments of the build, for many entries in place of the host's."""
    own = {"--metafile": None, "--sourcemap": None, "--log-level": "--log-level=error"}
    flags = [f"--outdir={out}", "--color=false"]
    for one in Target.host(load_profile("reference")).flags:
        kept = own.get(one.partition("=")[0], one)
        flags += [kept] if kept is not None else []
    flags += [f"--define:{name}={PREFIX}{name}" for name in DEFINED]
    return [*flags, "--log-limit=0"]
