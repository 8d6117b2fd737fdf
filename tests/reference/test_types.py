"""The TypeScript of the reference host, the API and the sample plugin is sound."""

import functools
import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from twisted.trial.unittest import SynchronousTestCase

from ..npm import ROOT, modules, tsc
from .bundling import REFERENCE

BLOCK: Final = re.compile(r"^```ts\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EXAMPLE: Final = re.compile(r"\S*\bexample\d+\.ts\(")
UNUSED: Final = re.compile(r"error TS6(133|192|196|198): ")


def as_module(block: str) -> str:
    """Complete an example: with its import, and with a function where it needs one."""
    if "import " in block:
        return block
    imported = 'import { type Context, definePlugin } from "@bridge/plugin-api";\n'
    if "export default" in block:
        return imported + block
    return f"{imported}export async function use(ctx: Context) {{\n{block}}}\n"


@functools.cache
def printed() -> tuple[str, ...]:
    """What the compiler prints of all that uses the page's library, in one run."""
    options = json.loads((REFERENCE / "tsconfig.json").read_text("utf-8"))
    own = options["compilerOptions"]["paths"]
    paths = {name: [str(REFERENCE / path) for path in own[name]] for name in own}
    library = modules() / "preact"
    paths["preact"] = [str(library / "src" / "index.d.ts")]
    paths["preact/hooks"] = [str(library / "hooks" / "src" / "index.d.ts")]
    included = []
    for folder in (REFERENCE, Path(__file__).parent):
        project = json.loads((folder / "tsconfig.json").read_text("utf-8"))
        included += [str((folder / name).resolve()) for name in project["include"]]
    with TemporaryDirectory() as scratch:
        for n, block in enumerate(examples()):
            (Path(scratch) / f"example{n}.ts").write_text(as_module(block), "utf-8")
        config = {
            "extends": str(REFERENCE / "tsconfig.json"),
            "compilerOptions": {"paths": paths},
            "include": [*included, "*.ts"],
        }
        (Path(scratch) / "tsconfig.json").write_text(json.dumps(config), "utf-8")
        run = tsc(Path(scratch) / "tsconfig.json")
    assert bool(run.returncode) == bool(run.stdout), run
    return tuple(run.stdout.splitlines())


def examples() -> list[str]:
    """The examples of plugins in the documentation."""
    pages = ROOT / "docs" / "plugins.md", REFERENCE / "packages" / "api" / "README.md"
    return [one for page in pages for one in BLOCK.findall(page.read_text("utf-8"))]


class TypeTests(SynchronousTestCase):
    """What the compiler prints."""

    def test_sources(self) -> None:
        """The page, the API, the sample plugin and the scenarios next to this pass."""
        self.assertEqual([one for one in printed() if not EXAMPLE.match(one)], [])

    def test_documented_examples(self) -> None:
        """So does every example of a plugin in the documentation."""
        self.assertGreater(len(examples()), 4)
        # An example shows what there is, not what to do with it.
        found = [one for one in printed() if EXAMPLE.match(one)]
        self.assertEqual([one for one in found if not UNUSED.search(one)], [])
