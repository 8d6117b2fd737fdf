"""The TypeScript of the reference host, the API and the sample plugin is sound."""

import json
import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from twisted.trial.unittest import SynchronousTestCase

from ..npm import ROOT, modules, tsc
from .bundling import REFERENCE

BLOCK: Final = re.compile(r"^```ts\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def as_module(block: str) -> str:
    """Complete an example: with its import, and with a function where it needs one."""
    if "import " in block:
        return block
    imported = 'import { type Context, definePlugin } from "@bridge/plugin-api";\n'
    if "export default" in block:
        return imported + block
    return f"{imported}export async function use(ctx: Context) {{\n{block}}}\n"


def checked(*folders: Path, **given: bool) -> subprocess.CompletedProcess[str]:
    """Run the compiler on projects that use the page's library, as if they were one."""
    options = json.loads((REFERENCE / "tsconfig.json").read_text("utf-8"))
    own = options["compilerOptions"]["paths"]
    paths = {name: [str(REFERENCE / path) for path in own[name]] for name in own}
    library = modules() / "preact"
    paths["preact"] = [str(library / "src" / "index.d.ts")]
    paths["preact/hooks"] = [str(library / "hooks" / "src" / "index.d.ts")]
    included = []
    for folder in folders:
        project = json.loads((folder / "tsconfig.json").read_text("utf-8"))
        included += [str(folder / name) for name in project["include"]]
    with TemporaryDirectory() as scratch:
        config = {
            "extends": str(REFERENCE / "tsconfig.json"),
            "compilerOptions": {"paths": paths, **given},
            "include": included,
        }
        (Path(scratch) / "tsconfig.json").write_text(json.dumps(config), "utf-8")
        return tsc(Path(scratch) / "tsconfig.json")


class TypeTests(SynchronousTestCase):
    def test_sources(self) -> None:
        """The page, the API, the sample plugin and the scenarios next to this pass."""
        run = checked(REFERENCE, Path(__file__).parent)
        self.assertEqual((run.returncode, run.stdout), (0, ""))

    def test_documented_examples(self) -> None:
        """So does every example of a plugin in the documentation."""
        texts = [
            (ROOT / "docs" / "plugins.md").read_text("utf-8"),
            (REFERENCE / "packages" / "api" / "README.md").read_text("utf-8"),
        ]
        blocks = [one for text in texts for one in BLOCK.findall(text)]
        self.assertGreater(len(blocks), 4)
        with TemporaryDirectory() as scratch:
            project = Path(scratch)
            for n, block in enumerate(blocks):
                (project / f"example{n}.ts").write_text(as_module(block), "utf-8")
            (project / "tsconfig.json").write_text('{"include": ["*.ts"]}', "utf-8")
            # An example shows what there is, not what to do with it.
            run = checked(project, noUnusedLocals=False)
        self.assertEqual((run.returncode, run.stdout), (0, ""))
