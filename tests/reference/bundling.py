"""Where the reference host is, its page as a site, and its modules in Node.js."""

import json
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from ..npm import ROOT, esbuild, modules, run_node

REFERENCE: Final = ROOT / "bridge" / "reference"
BUILD_SECONDS: Final = 60.0


def lay_out_page(directory: Path, theme: Path) -> None:
    """
    Make a directory with the page, to be served.

    :param theme: The directory with the bundle; it need not be there yet.
    """
    directory.mkdir(parents=True)
    for file in (REFERENCE / "page").iterdir():
        (directory / file.name).symlink_to(file)
    (directory / "theme").symlink_to(theme)


def printed(entry: Path, *options: str) -> Any:
    """Bundle a module, run that in Node.js, and read the JSON that it prints."""
    with TemporaryDirectory() as scratch:
        code = Path(scratch) / "bundle.mjs"
        api = REFERENCE / "packages" / "api" / "src" / "index.ts"
        subprocess.run(
            [
                *(esbuild(), entry, "--bundle", "--platform=node", "--target=es2022"),
                *("--tsconfig-raw={}", f"--alias:@bridge/plugin-api={api}"),
                *(f"--outfile={code}", "--log-level=warning", *options),
            ],
            env={**os.environ, "NODE_PATH": str(modules())},
            check=True,
            timeout=BUILD_SECONDS,
        )
        return json.loads(run_node(code))
