"""Whether the bundler compiles a source at all, with the options of the build."""

import subprocess
from typing import Final

from bridge.plugins.esbuild.language import LOADERS, TSCONFIG_RAW, suffix_of

from ..npm import esbuild

SECONDS: Final = 60.0


def compiles(name: str, content: bytes) -> bool:
    """Whether the bundler compiles a source of this name."""
    run = subprocess.run(
        [
            str(esbuild()),
            f"--loader={LOADERS[suffix_of(name)]}",
            f"--tsconfig-raw={TSCONFIG_RAW}",
            "--target=es2022",
            "--log-level=silent",
        ],
        input=content,
        capture_output=True,
        check=False,
        env={},
        timeout=SECONDS,
    )
    return run.returncode == 0
