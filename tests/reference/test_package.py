"""The npm package of the plugin API: what is in it, and that it can be used."""

import atexit
import json
import re
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ..clients.packing import run, tools
from ..npm import STRICT, TYPESCRIPT, extract, node, npm, pack_reports, tsc
from .bundling import REFERENCE

API = REFERENCE / "packages" / "api"
PLUGIN = Path(__file__).with_name("typedplugin.ts").read_text("utf-8")
TSCONFIG = {
    "compilerOptions": {**STRICT, "module": "NodeNext"},
    "include": ["*.ts"],
}


@cache
def packed() -> tuple[TemporaryDirectory[str], dict[str, Any]]:
    """Pack a copy of the package; return its directory and npm's report."""
    scratch = TemporaryDirectory()
    atexit.register(scratch.cleanup)
    copy = Path(scratch.name) / "packages" / "api"
    shutil.copytree(API, copy, ignore=shutil.ignore_patterns("dist", "node_modules"))
    shutil.copy(REFERENCE / "tsconfig.json", scratch.name)
    done = run(
        npm(), "pack", "--json", "--silent", cwd=copy, path=tools(copy.parent / "bin")
    )
    assert done.returncode == 0, done.stderr + done.stdout
    (about,) = pack_reports(done.stdout)
    return scratch, about


def unpacked(project: Path) -> None:
    """Install the packed package in a project."""
    scratch, about = packed()
    archive = Path(scratch.name) / "packages" / "api" / about["filename"]
    target = project / "node_modules" / "@bridge" / "plugin-api"
    extract(archive, target.parent)
    (target.parent / "package").rename(target)


class PackageTests(SynchronousTestCase):
    """What ``npm publish`` would publish."""

    def test_files(self) -> None:
        """A script and declarations for each module, and nothing else of ours."""
        modules = sorted(path.stem for path in (API / "src").glob("*.ts"))
        built = [f"dist/{name}{end}" for name in modules for end in (".d.ts", ".js")]
        wanted = sorted([*built, "LICENSE", "README.md", "package.json"])
        _, about = packed()
        self.assertEqual(sorted(file["path"] for file in about["files"]), wanted)

    def test_version(self) -> None:
        """It has the version of the API, and no dependencies."""
        package = json.loads((API / "package.json").read_text("utf-8"))
        source = (API / "src" / "version.ts").read_text("utf-8")
        self.assertEqual(re.findall(r'"(.*)"', source), [package["version"]])
        self.assertNotIn("dependencies", package)
        self.assertEqual(
            package["devDependencies"]["typescript"], TYPESCRIPT.partition("@")[2]
        )

    def test_use(self) -> None:
        """A plugin's project finds its types, which refuse what is wrong, and code."""
        with TemporaryDirectory() as scratch:
            project = Path(scratch)
            unpacked(project)
            (project / "main.ts").write_text(PLUGIN, "utf-8")
            # A setting without a default.
            wrong = PLUGIN.replace("default: 1, ", "")
            (project / "wrong.ts").write_text(wrong, "utf-8")
            (project / "package.json").write_text('{"type": "module"}', "utf-8")
            (project / "tsconfig.json").write_text(json.dumps(TSCONFIG), "utf-8")
            checked = tsc(project / "tsconfig.json").stdout
            found = set(re.findall(r"(?m)^\S*?(\w+\.ts\(\d+),", checked))
            self.assertEqual(found, {"wrong.ts(10"}, checked)
            script = (
                'import { definePlugin } from "@bridge/plugin-api";'
                'console.log(definePlugin({ id: "x" }).id);'
            )
            (project / "use.mjs").write_text(script, "utf-8")
            used = run(node(), "use.mjs", cwd=project)
            self.assertEqual(used.stdout, "x\n")
