"""
What the host's sources in a data directory reveal about its plugin API.

``api_version`` reads the version, ``check_types`` has the TypeScript compiler check a
plugin against the API's types.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final

from ...datadir.paths import API_ENTRY
from ...plugins.tree.manifest import ENTRY_FILE, read_object
from ...plugins.tree.versions import is_version
from ...protocol.errors import BridgeError
from ...protocol.limits import MANIFEST_BYTES, SOURCE_BYTES, TYPES_SECONDS
from ...protocol.text import escaped
from ..terminal import CommandError
from .programs import find_program, run, search_path
from .reading import read_text

COMPILER: Final = "tsc"
_NONE: Final = (
    f"there is no {COMPILER} on PATH outside the plugin; to check types, install it, "
    f"or name it with --tsc: npx --yes --package typescript which {COMPILER} prints "
    "where npx has it"
)
_PACKAGE: Final = Path("packages/api")
_HOST_PACKAGE: Final = Path("packages/host")
_CONSTANT: Final = re.compile(
    r"""^export const \w*VERSION\w*(?:\s*:[^=\n]+)?\s*=\s*["']([^"'\\\n]+)["']""",
    re.MULTILINE,
)
_CONFIG: Final = "tsconfig.json"
# One without a place is about the configuration.
_ERROR: Final = re.compile(r"^(?:(.+?)\((\d+),\d+\): )?error (TS\d+: .*)$")
_PACKAGES: Final = "node_modules/"
_SHOWN_ERRORS: Final = 20

# For a plugin without a tsconfig.json of its own.
_DEFAULTS: Final = {
    "target": "ES2022",
    "lib": ["ES2022", "DOM", "DOM.Iterable"],
    "module": "ESNext",
    "moduleResolution": "bundler",
    "resolveJsonModule": True,
    "jsx": "react",
    "strict": True,
}
# These win over the plugin's own: nothing is written or run, and nothing outside is
# needed.
_FIXED: Final = {
    "noEmit": True,
    "composite": False,
    "incremental": False,
    "declaration": False,
    "declarationMap": False,
    "emitDeclarationOnly": False,
    "skipLibCheck": True,
    "types": [],
    "baseUrl": None,
    "rootDir": None,
    "rootDirs": None,
    "outDir": None,
    "declarationDir": None,
    "tsBuildInfoFile": None,
    "outFile": None,
    "generateTrace": None,
    "generateCpuProfile": None,
    "plugins": None,
}


def api_version(host: Path) -> str | None:
    """
    Read the version of the host's plugin API.

    :param host: The ``host`` directory of a data directory.
    :return: The ``version`` of the API's ``package.json``, else of the only exported
        constant whose name has ``VERSION`` in it, in the API's sources or, without one
        there, in the host's; ``None`` when that is not certain.
    """
    package = read_text(host / _PACKAGE / "package.json", MANIFEST_BYTES)
    version = None
    with suppress(BridgeError):
        version = read_object(package.encode()).get("version")
    if type(version) is str:
        found = {version}
    else:
        found = _constants(host / _PACKAGE) or _constants(host / _HOST_PACKAGE)
    versions = [each for each in found if is_version(each)]
    return versions[0] if len(versions) == len(found) == 1 else None


def _constants(package: Path) -> set[str]:
    texts = (read_text(path, SOURCE_BYTES) for path in (package / "src").glob("*.ts"))
    return {each for text in texts for each in _CONSTANT.findall(text)}


def check_types(
    compiler: Path | None, root: Path, tree: Path, host: Path, module: str
) -> list[str]:
    """
    Check the types of a plugin's ``main.ts`` and of what it imports.

    The plugin's own ``tsconfig.json`` decides how strict that is.

    :param compiler: When the author names it.
    :param root: The author's directory, where nothing is looked for that runs.
    :param tree: A copy of the plugin; a file is written next to it.
    :param host: The ``host`` directory of a data directory.
    :param module: The name that plugins import the API by.
    :return: The errors in the plugin's files, as lines without control characters.
    :raise CommandError: The compiler did not get to check it.
    """
    config = tree.parent / _CONFIG
    config.write_text(json.dumps(_config(tree, host, module)), "utf-8")
    program = str(compiler.absolute()) if compiler else find_program(COMPILER, root)
    if program is None:
        raise CommandError(_NONE)
    command = [program, "--pretty", "false", "--project", config.name]
    kept = {k: v for k, v in os.environ.items() if k in ("HOME", "SYSTEMROOT", "TEMP")}
    environ = kept | {"PATH": search_path(root)}
    done = run(COMPILER, command, tree.parent, environ, TYPES_SECONDS)
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    errors = [*filter(None, map(_ERROR.match, lines))]
    broken = [one[0] for one in errors if not one[1] or one[1].endswith(".json")]
    folder = f"{tree.name}/"
    if done.returncode and (broken or not errors):
        why = (*broken, f"it ended with {done.returncode}")[0].removeprefix(folder)
        raise CommandError(f"{COMPILER} could not check the types: {escaped(why)}")
    # Errors in the host's sources are not the plugin's.
    own = (one for one in errors if one[1] and one[1].startswith(folder))
    texts = [f"{one[1]}:{one[2]} {one[3]}".removeprefix(folder) for one in own]
    shown = (escaped(text) for text in texts if not text.startswith(_PACKAGES))
    return list(islice(shown, _SHOWN_ERRORS))


def _config(tree: Path, host: Path, module: str) -> dict[str, Any]:
    entry = host.resolve() / Path(API_ENTRY).relative_to("host")
    options = {**_FIXED, "paths": {module: [str(entry)]}}
    config: dict[str, Any] = {
        "files": [f"{tree.name}/{ENTRY_FILE}"],
        "include": [f"{tree.name}/**/*.d.ts"],
    }
    own = tree / _CONFIG
    if own.is_file() and not own.is_symlink():
        config["extends"] = f"./{tree.name}/{_CONFIG}"
    else:
        options = {**_DEFAULTS, **options}
    return {**config, "compilerOptions": options}
