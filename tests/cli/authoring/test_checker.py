"""What ``plugin-bridge check`` finds, with the real bundler."""

import json
import os
import shutil
from codecs import BOM_UTF8
from pathlib import Path
from unittest import mock

from attrs import evolve
from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from bridge.cli.authoring.checker import STEPS, Checker, Outcome, Report, report_lines
from bridge.cli.authoring.worktree import Difference
from bridge.plugins.tree.tree import key_id, public_key_of
from bridge.protocol.limits import SOURCE_BYTES
from bridge.protocol.wire import unstructure
from bridge.settings.host import Paths

from ...directories import fresh_directory
from ...npm import TYPESCRIPT, node, npm_package
from ...plugins.bundle.workshop import MAIN, Workshop
from ...plugins.operations.bench import SEED, files_of, write_tree
from ...programs import program
from ...reactors import brief_reactor
from ..commandcase import CommandTestCase
from ..repository import commit, git

NOW = 1_700_000_000

MANIFEST = str(files_of("demo")["plugin.json"])
FAULTY = '{\n "id": "demo"\n "name": "\x1bN"\n}'
UNKNOWN = MANIFEST.replace('"name"', '"permision": [], "name"')
VERSION = MANIFEST.replace('"1.0.0"', '"1"')
NESTED = "export default\n" + "[\n" * 20_000 + "]\n" * 20_000

NOTHING_ELSE = dict.fromkeys(set(STEPS) - {"files"}, "not_done")

# A file, its text, what steps come to, and the words of the first of them.
CASES: list[tuple[str, str | None, str, str]] = [
    ("plugin.sig", None, "signature:refused build:ok", "there is no plugin.sig"),
    (
        *("plugin.json", "{}"),
        "manifest:refused policy:ok signature:not_done build:not_done",
        "manifest_invalid: ",
    ),
    (
        *("plugin.json", UNKNOWN, "manifest:refused signature:refused build:ok"),
        "unknown field; did you mean permissions?\nplugin.json:1 {",
    ),
    (
        *("plugin.json", VERSION, "manifest:refused signature:refused build:ok"),
        "version: must be a version by SemVer 2",
    ),
    ("plugin.json", FAULTY, "manifest:refused", '\nplugin.json:3 "name": "\\x1bN"'),
    (
        *("plugin.json", MANIFEST.replace('"demo"', '"con"')),
        *("manifest:refused build:not_done", "invalid_id: an id must not be"),
    ),
    ("icon.png", "GIF89a", "files:warned build:ok", "bytes\nicon.png is not shown"),
    ("main.ts", None, "id:not_done types:not_done build:not_done", "no main.ts"),
    ("main.ts", 'import "./no";', "build:refused", "esbuild failed:\nmain.ts:1:7: "),
    ("main.ts", "export default { id: 'demo' };", "id:ok", "exports demo"),
    ("main.ts", "export default { id: 'no' };", "id:refused", "the id no, plugin.json"),
    ("main.ts", "export default { id: name };", "id:left_out", "as a plain string"),
    (
        *("main.ts", "eval('1');\n\neval('2');\n"),
        *("policy:refused signature:refused build:ok", "policy: 2 hits"),
    ),
    ("main.ts", "eval('1');\nexport default 1;\n", "policy:refused", "policy: 1 hit"),
    # What ends the bundler is refused, as by the daemon.
    ("main.ts", NESTED, "policy:refused build:not_done", "policy: 1 hit"),
    # What the bundler only warns of is reported, too.
    ("main.ts", "export default { no: 1, no: 2 };", "build:ok", "\nmain.ts:1:24: "),
    # Types that no bundle can have, nor the bundler read, keep no step from running.
    ("a.d.ts", "export const a: string;", "id:left_out build:ok", "a plain string"),
    ("a.ts", "\n" * SOURCE_BYTES, "id:not_done", "main.ts was not read; see policy"),
]


def compiler_environ() -> dict[str, str]:
    """An environment in which the TypeScript compiler is on PATH."""
    modules = npm_package(TYPESCRIPT).parent
    return {"PATH": os.pathsep.join([str(modules / ".bin"), str(Path(node()).parent)])}


class CheckerTests(TestCase):
    def setUp(self):
        """A data directory that is set up, and a signed plugin."""
        self.directory = fresh_directory(self)
        self.shop = Workshop(self.directory).fill()
        self.environ = {"PATH": str(Path(program("git", "git")).parent)}
        self.profile = self.shop.profile
        self.root = self.directory / "demo"
        self.files = files_of("demo", **{"main.ts": MAIN})
        write_tree(self.root, self.files, "demo", SEED, NOW)

    async def report(self, unsigned=False, tsc=None) -> Report:
        """Try the tree; nothing of the check may touch the data directory."""
        scratch = fresh_directory(self)
        options = ("--host", "reference", "--data-dir", str(self.shop.data.root))
        place = Paths(self.profile, self.shop.data, self.shop.theme_dir, options)
        before = self.everything()
        with mock.patch.dict(os.environ, self.environ):
            checker = Checker(reactor, place, self.root, scratch, unsigned, tsc)
            made = await checker.run()
        self.assertEqual(self.everything(), before)
        self.assertEqual([step.step for step in made.steps], list(STEPS))
        self.steps = {step.step: step for step in made.steps}
        return made

    def everything(self):
        return sorted(str(path) for path in self.directory.rglob("*"))

    def assert_outcomes(self, **wanted: str) -> None:
        """Check what steps of the last check came to."""
        found = {name: str(self.steps[name].outcome) for name in wanted}
        self.assertEqual(found, wanted)

    async def test_good(self):
        """A good signed plugin passes every step that applies to it."""
        made = await self.report()
        applies = {"files", "manifest", "policy", "signature", "build"}
        for name, step in self.steps.items():
            outcome = Outcome.OK if name in applies else Outcome.LEFT_OUT
            self.assertIs(step.outcome, outcome, name)
        self.assertEqual((made.ok, made.outcome), (True, Outcome.OK))
        self.assertEqual((made.id, made.version), ("demo", "1.0.0"))
        self.assertEqual(made.key_id, key_id(public_key_of(SEED)))
        self.assertEqual(made.hits, [])
        # A byte order mark changes nothing.
        manifest = self.root / "plugin.json"
        manifest.write_bytes(BOM_UTF8 + manifest.read_bytes())
        self.assertTrue((await self.report(unsigned=True)).ok)

    async def test_faults(self):
        """Each fault is in its step, and others are taken, as far as they can be."""
        for name, text, wanted, words in CASES:
            write_tree(self.root, self.files, "demo", SEED, NOW)
            (self.root / name).write_text(text or "")
            if text is None:
                (self.root / name).unlink()
            self.assertFalse((await self.report()).ok)
            outcomes = dict(one.split(":") for one in wanted.split())
            self.assert_outcomes(**outcomes)
            self.assertIn(words, self.steps[next(iter(outcomes))].message)

    async def test_syntax_error(self):
        """The bundler's sentence stands once, below its line; a name is said, too."""
        (self.root / "main.ts").write_text("export default {};\nlet = ;\n")
        (self.root / "more.ts").write_text("chrome.a;\n")
        made = await self.report(unsigned=True)
        hit, more = made.hits
        self.assertIn("declare or import chrome; only", more.advice)
        fix = 'correct the syntax: Unexpected ";"'
        self.assertEqual((hit.line, hit.rule, hit.advice), (2, "syntax error", fix))
        lines = list(report_lines(made))
        self.assertEqual(str(lines).count("Unexpected"), 1)
        shown = ["  main.ts:2 syntax error", "      let = ;", f"      fix: {fix}"]
        policy = lines.index("policy     refused: policy: 2 hits")
        self.assertEqual(lines[policy + 1 : policy + 4], shown)
        self.assert_outcomes(id="not_done", types="not_done", build="not_done")

    async def test_changed_since_signed(self):
        """In a git work tree, the files that differ from the signed ones are named."""
        commit(self.root)
        (self.root / "main.ts").write_text("export default 2;\n")
        for unsigned, outcome in ((False, "refused"), (True, "left_out")):
            made = await self.report(unsigned=unsigned)
            self.assert_outcomes(signature=outcome)
            self.assertEqual(made.changed, [Difference("main.ts", "changed")])
            signed = f"{made.signed_commit}, the last signed commit"
            line = f"main.ts: changed since {signed}"
            self.assertIn(line, self.steps["signature"].message.split("\n"))
            self.assertIn(f"  {line}", report_lines(made))
        self.assertIn(
            {"file": "main.ts", "change": "changed"}, unstructure(made)["changed"]
        )

    async def test_object_format(self):
        """A repository that the daemon cannot clone is refused."""
        git(self.root, "init", "--quiet", "--object-format=sha256")
        commit(self.root)
        made = await self.report()
        self.assert_outcomes(**NOTHING_ELSE, files="refused")
        self.assertIn("format is not SHA-1, so nobody can", made.steps[0].message)

    async def test_realm(self):
        """What only a page has is warned of where plugins run in workers."""
        await self.report(unsigned=True)
        self.assert_outcomes(realm="left_out")
        (self.root / "a.ts").write_text("\ndocument.title;\nnew Image();\n")
        self.profile = evolve(self.shop.profile, plugins="texts")
        await self.report(unsigned=True)
        self.assert_outcomes(realm="warned")
        found = "which does not have these:\na.ts:2 document\na.ts:3 Image"
        self.assertIn(found, self.steps["realm"].message)

    async def test_api_version(self):
        """A version outside of apiVersion is warned of, and refuses nothing."""
        api = self.shop.data.host / "packages/api/src/version.ts"
        for version, outcome in (("0.1.7", "ok"), ("9.0.0", "warned")):
            api.write_text(f'export const API_VERSION = "{version}";\n')
            self.shop.data.create()
            self.assertTrue((await self.report()).ok)
            self.assert_outcomes(api=outcome)
            self.assertIn(version, self.steps["api"].message)

    async def test_types(self):
        """With a compiler on PATH the types are checked against the host's."""
        self.environ = compiler_environ()
        await self.report(unsigned=True)
        self.assertEqual(self.steps["types"].message, "no type errors")
        source = MAIN.replace("activate()", "activate: 1, stop()")
        (self.root / "main.ts").write_text(source)
        made = await self.report(unsigned=True)
        self.assert_outcomes(types="refused")
        self.assertEqual(made.outcome, Outcome.REFUSED)
        found = r"^1 type error\nmain.ts:2 TS\d+: "
        self.assertRegex(self.steps["types"].message, found)
        # The one that the author names comes first.
        accepting = Path(program("true", "coreutils"))
        await self.report(unsigned=True, tsc=accepting)
        self.assertEqual(self.steps["types"].message, "no type errors")

    async def test_not_set_up(self):
        """Without bundler or host the build is not done; the command is shown."""
        where = f"--host reference --data-dir {self.shop.data.root}"
        for part, policy in (("host", "ok"), ("bin", "not_done")):
            shutil.rmtree(self.shop.data.root / part)
            made = await self.report()
            self.assert_outcomes(build="not_done", policy=policy)
            self.assertEqual((made.ok, made.outcome), (False, Outcome.NOT_DONE))
            message = self.steps["build"].message
            self.assertTrue(message.endswith(f"plugin-bridge setup {where}"), message)
        message = self.steps["policy"].message
        self.assertTrue(message.endswith(f"setup --bundler-only {where}"), message)

    async def test_no_directory(self):
        """A directory that is not there any more is refused at the first step."""
        shutil.rmtree(self.root)
        await self.report()
        self.assert_outcomes(files="refused", **NOTHING_ELSE)
        self.assertIn("No such file or directory", self.steps["files"].message)

    async def test_attack_import_outside(self):
        """What names files outside is neither built nor type-checked."""
        self.environ = compiler_environ()
        # Also when so much is reported that the import is not.
        for lines in ("", "eval('1');\n" * 60):
            text = f'{lines}export * from "../secret";\n'
            (self.root / "main.ts").write_text(text)
            made = await self.report(unsigned=True)
            self.assert_outcomes(types="not_done", build="not_done")
            reported = "import outside the plugin" in {hit.rule for hit in made.hits}
            self.assertEqual(reported, not lines)


class CheckTests(CommandTestCase):
    """The command around it; ``tests/e2e/test_commands.py`` runs all of it."""

    def run_check(self, *arguments):
        """Run it on a plugin that can't be built here."""
        tree = self.root / "demo"
        write_tree(tree, files_of("demo"), None)
        where = ("--host=reference", f"--data-dir={self.root}")
        with mock.patch("twisted.internet.reactor", brief_reactor(self)):
            status, out, _ = self.run_main("check", *arguments, *where, str(tree))
        return status, out

    def test_text(self):
        """A plugin that could not be built makes the exit status 4, no warning does."""
        commit(self.root)
        status, out = self.run_check("--unsigned")
        self.assertEqual(status, 4)
        self.assertRegex(out, "files +warned: .*\n  it is a folder of the git")
        self.assertIn("manifest   ok: demo 1.0.0\n", out)
        self.assertIn("signature  left out: --unsigned\n", out)
        self.assertIn("policy     not done: there is no bin/esbuild", out)

    def test_json(self):
        """With --json only the object is printed; what is refused makes it 1."""
        status, out = self.run_check("--json")
        value = json.loads(out)
        keys = "ok outcome host id version keyId steps hits signedCommit changed"
        self.assertEqual(list(value), keys.split())
        self.assertEqual((status, value["ok"], value["outcome"]), (1, False, "refused"))
