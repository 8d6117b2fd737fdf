"""Bundling the reference host in a scratch data directory, as the daemon does it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

from bridge.plugins.bundle.plugintable import text_table
from bridge.plugins.bundle.prerequisites import TABLE_FILE
from bridge.plugins.bundle.sourcemap import Bundle, SourceMap

from ..npm import ROOT, esbuild, unpack_library

REFERENCE: Final = ROOT / "bridge" / "reference"
BUILD_SECONDS: Final = 60.0
API: Final = "host/packages/api/src/index.ts"

_TSCONFIG: Final = (
    '{"compilerOptions":{"target":"es2022","useDefineForClassFields":true}}'
)


def lay_out(data: Path, plugins: list[Path]) -> None:
    """
    Fill a data directory: ``host/``, ``plugins/`` and what the daemon generates.

    :param plugins: Plugin trees to copy; each keeps its folder's name.
    """
    shutil.copytree(REFERENCE / "packages", data / "host" / "packages")
    unpack_library(data / "host")
    for tree in plugins:
        shutil.copytree(tree, data / "plugins" / tree.name)
    (data / "build").mkdir()
    entry = "host/packages/host/src/realm/runtime.ts"
    runtime = _script(data, entry, API, "--minify")
    # As the daemon does it, except for where errors are.
    (data / "build" / "api.js").write_text(
        "module.exports = globalThis.__pluginApi;", "utf-8"
    )
    texts = {
        tree.name: Bundle(
            _script(
                data,
                f"plugins/{tree.name}/main.ts",
                "build/api.js",
                "--global-name=plugin",
            ),
            SourceMap(b"", [], ""),
        )
        for tree in plugins
    }
    (data / TABLE_FILE).write_text(text_table(texts, runtime).text, "utf-8")


def lay_out_page(directory: Path, theme: Path) -> None:
    """
    Make a directory with the page, to be served.

    :param theme: The directory with the bundle; it need not be there yet.
    """
    directory.mkdir(parents=True)
    for file in (REFERENCE / "page").iterdir():
        (directory / file.name).symlink_to(file)
    (directory / "theme").symlink_to(theme)


def _run(data: Path, entry: str, *more: str) -> subprocess.CompletedProcess[bytes]:
    """Run the bundler in the data directory, with an empty environment."""
    return subprocess.run(
        [
            str(esbuild()),
            entry,
            "--bundle",
            "--format=iife",
            "--target=es2022",
            f"--tsconfig-raw={_TSCONFIG}",
            "--log-level=warning",
            *more,
        ],
        cwd=data,
        env={},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=BUILD_SECONDS,
    )


def _script(data: Path, entry: str, api: str, *more: str) -> bytes:
    """Bundle one script alone; return its text."""
    run = _run(data, entry, f"--alias:@bridge/plugin-api=./{api}", *more)
    assert run.returncode == 0, run.stderr
    return run.stdout


def bundle(data: Path, out: Path) -> subprocess.CompletedProcess[bytes]:
    """
    Run the bundler the way the daemon runs it, with an empty environment.

    :param out: Where the bundle goes; the metafile goes next to it.
    """
    return _run(
        data,
        "host/packages/host/src/index.ts",
        "--platform=browser",
        "--minify",
        "--sourcemap=linked",
        f"--alias:@bridge/plugin-api=./{API}",
        "--alias:@bridge/static-plugins=./build/static-plugins.ts",
        f"--outfile={out}",
        f"--metafile={out.with_name('meta.json')}",
        "--color=false",
    )
