"""What ``plugin-bridge check`` finds, with the real bundler."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from unittest import mock

from twisted.internet import reactor
from twisted.internet.defer import maybeDeferred
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.cli import check as module
from bridge.cli.check import CheckOptions, as_json, as_text, check
from bridge.cli.trial import Outcome, ShownHit, StepResult, Trial, Verdict
from bridge.options import Place
from bridge.plugins.signature import key_id, public_key_of

from ..directories import fresh_directory
from ..plugins.bench import SEED, files_of, write_tree
from ..plugins.workshop import MAIN, Workshop
from .test_worktree import commit

NOW = 1_700_000_000


def at_once(work, *arguments):
    """Call a function as if in a thread."""
    return maybeDeferred(work, *arguments)


class TrialTests(TestCase):
    """Trying a tree."""

    def setUp(self):
        """A data directory that is set up, and a signed plugin."""
        self.directory = fresh_directory(self)
        self.shop = Workshop(self.directory).fill()
        self.root = self.directory / "demo"
        self.files = files_of("demo", **{"main.ts": MAIN})
        write_tree(self.root, self.files, "demo", SEED, NOW)

    async def verdict(self, unsigned=False) -> Verdict:
        """Try the tree; nothing of the trial may touch the data directory."""
        scratch = fresh_directory(self)
        place = Place(self.shop.profile, self.shop.data, self.shop.theme_dir)
        before = self.everything()
        trial = Trial(
            reactor,
            at_once,
            place,
            "reference",
            self.root,
            scratch,
            unsigned,
            lambda: NOW,
        )
        made = await trial.run()
        self.assertEqual(self.everything(), before)
        return made

    def everything(self):
        """All files there are."""
        return sorted(str(path) for path in self.directory.rglob("*"))

    async def outcomes(self, unsigned=False):
        """Try the tree; gives what each step came to."""
        made = await self.verdict(unsigned)
        return {step.step: str(step.outcome) for step in made.steps}, made

    async def test_good(self):
        """A good signed plugin passes every step."""
        outcomes, made = await self.outcomes()
        self.assertEqual(
            outcomes,
            dict.fromkeys(["files", "manifest", "policy", "signature", "build"], "ok"),
        )
        self.assertTrue(made.ok)
        self.assertEqual((made.id, made.version), ("demo", "1.0.0"))
        self.assertEqual(made.key_id, key_id(public_key_of(SEED)))
        self.assertEqual(made.hits, [])

    async def test_unsigned(self):
        """No signature is refused, unless the author is not there yet."""
        (self.root / "plugin.sig").unlink()
        outcomes, made = await self.outcomes()
        self.assertEqual((outcomes["signature"], made.ok), ("refused", False))
        self.assertEqual(outcomes["build"], "ok")
        outcomes, made = await self.outcomes(unsigned=True)
        self.assertEqual((outcomes["signature"], made.ok), ("left_out", True))
        self.assertIs(made.key_id, None)

    async def test_every_hit(self):
        """Every breach of the policy is told, with its line; nothing is built."""
        (self.root / "main.ts").write_text("eval('\x1b[2J');\n\neval('2');\n")
        outcomes, made = await self.outcomes(unsigned=True)
        self.assertEqual(outcomes["policy"], "refused")
        self.assertEqual(outcomes["build"], "not_done")
        self.assertFalse(made.ok)
        self.assertEqual(
            made.hits,
            [
                ShownHit("main.ts", 1, "eval", "eval('\\x1b[2J');"),
                ShownHit("main.ts", 3, "eval", "eval('2');"),
            ],
        )
        self.assertIn("2 breaches", made.steps[2].message)
        (self.root / "main.ts").write_text("eval('1');\n")
        self.assertIn("1 breach", (await self.verdict()).steps[2].message)

    async def test_manifest(self):
        """Without a manifest the sources are still judged; nothing else can be."""
        (self.root / "plugin.json").write_text("{}")
        outcomes, made = await self.outcomes()
        self.assertEqual(
            [outcomes[step] for step in ("manifest", "policy", "signature", "build")],
            ["refused", "ok", "not_done", "not_done"],
        )
        self.assertIs(made.id, None)
        self.assertTrue(made.steps[1].message.startswith("manifest_invalid: "))

    async def test_build(self):
        """What does not compile is refused with the bundler's words."""
        (self.root / "main.ts").write_text('import "./missing";\nexport default 1;\n')
        outcomes, made = await self.outcomes(unsigned=True)
        self.assertEqual(outcomes["build"], "refused")
        self.assertIn("build_failed: esbuild failed:\n", made.steps[4].message)
        self.assertIn("./missing", made.steps[4].message)

    async def test_bundler_warns(self):
        """What the bundler only warns of is told, too."""
        (self.root / "main.ts").write_text("export default { numbr: 1, numbr: 2 };\n")
        made = await self.verdict(unsigned=True)
        self.assertTrue(made.ok)
        self.assertIn("numbr", made.steps[4].message)

    async def test_not_set_up(self):
        """Without bundler or host the build is not done; the command is told."""
        for path in (self.shop.data.host, self.shop.data.bin):
            shutil.rmtree(path)
            outcomes, made = await self.outcomes()
            self.assertEqual((outcomes["build"], made.ok), ("not_done", False))
            self.assertTrue(
                made.steps[4].message.endswith(
                    "plugin-bridge setup --host reference --data-dir "
                    f"{self.shop.data.root}"
                ),
                made.steps[4].message,
            )

    async def test_no_directory(self):
        """A directory that is not there is refused at the first step."""
        shutil.rmtree(self.root)
        outcomes, made = await self.outcomes()
        self.assertEqual(outcomes.pop("files"), "refused")
        self.assertEqual(set(outcomes.values()), {"not_done"})
        self.assertIn("there is no directory", made.steps[0].message)

    async def test_attack_link(self):
        """A link to a file outside is refused, and the file is not read."""
        secret = self.directory / "secret.ts"
        secret.write_text("export const secret = 'Zq9';\n")
        (self.root / "link.ts").symlink_to(secret)
        (self.root / "main.ts").write_text('export * from "./link";\n')
        outcomes, made = await self.outcomes(unsigned=True)
        self.assertEqual(
            (outcomes["policy"], outcomes["build"]), ("refused", "not_done")
        )
        self.assertEqual(made.hits[0].rule, "symlink")
        self.assertNotIn("Zq9", as_json(made))

    async def test_ignored_files(self):
        """In a git work tree, what git ignores is not checked."""
        write_tree(self.root, {".gitignore": "dist/\n"}, "demo", SEED, NOW)
        commit(self.root)
        write_tree(self.root, {"dist/x.js": "eval('1')"}, None)
        self.assertTrue((await self.verdict()).ok)


class PrintingTests(SynchronousTestCase):
    """What is printed."""

    verdict = Verdict(
        ok=False,
        host="reference",
        id="demo",
        version="1.0.0",
        key_id=None,
        steps=[
            StepResult("files", Outcome.OK, "2 files, 10 bytes"),
            StepResult("manifest", Outcome.OK, "demo 1.0.0"),
            StepResult("policy", Outcome.REFUSED, "policy: 1 breach"),
            StepResult("signature", Outcome.LEFT_OUT, "--unsigned"),
            StepResult("build", Outcome.NOT_DONE, "one\ntwo"),
        ],
        hits=[ShownHit("main.ts", 1, "eval", "eval('1')")],
    )

    def test_text(self):
        """A line for each step, the hits below theirs."""
        self.assertEqual(
            as_text(self.verdict),
            "files      ok: 2 files, 10 bytes\n"
            "manifest   ok: demo 1.0.0\n"
            "policy     refused: policy: 1 breach\n"
            "  main.ts:1 eval\n"
            "      eval('1')\n"
            "signature  left out: --unsigned\n"
            "build      not done: one\n"
            "  two\n",
        )

    def test_json(self):
        """One object on one line, its keys always the same."""
        text = as_json(self.verdict)
        self.assertEqual(text.count("\n"), 1)
        value = json.loads(text)
        self.assertEqual(
            list(value), ["ok", "host", "id", "version", "keyId", "steps", "hits"]
        )
        self.assertEqual(
            value["steps"][4],
            {"step": "build", "outcome": "not_done", "message": "one\ntwo"},
        )
        self.assertEqual(
            value["hits"],
            [{"file": "main.ts", "line": 1, "rule": "eval", "source": "eval('1')"}],
        )


class FakeReactor:
    """Runs what is to be called, and then no more."""

    def __init__(self, interrupted=False):
        self.interrupted = interrupted
        self.begin = lambda: None

    def callWhenRunning(self, begin):
        """See ``IReactorCore``."""
        self.begin = begin

    def run(self):
        """See ``IReactorCore``."""
        if not self.interrupted:
            self.begin()

    def callLater(self, seconds, what):
        """See ``IReactorTime``."""
        what()

    def stop(self):
        """See ``IReactorCore``."""


class CheckTests(SynchronousTestCase):
    """The command around it; ``tests/whole/test_authors.py`` runs all of it."""

    def run_check(self, *arguments, on=None):
        """Run it on a plugin that can't be built here."""
        root = fresh_directory(self)
        tree = root / "demo"
        write_tree(tree, files_of("demo"), None)
        options = CheckOptions()
        options.parseOptions(
            [*arguments, "--host=reference", f"--data-dir={root}", str(tree)]
        )
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = check(on or FakeReactor(), options)
        return status, out.getvalue()

    def test_text(self):
        """A plugin that did not pass makes the exit status 1."""
        status, out = self.run_check("--unsigned")
        self.assertEqual(status, 1)
        self.assertIn("policy     ok: no breach\n", out)
        self.assertIn("build      not done: there is no bin/esbuild", out)

    def test_json(self):
        """With --json only the object is printed."""
        status, out = self.run_check("--json")
        self.assertEqual((status, json.loads(out)["ok"]), (1, False))

    def test_interrupted(self):
        """A check that was interrupted has not passed."""
        with self.assertRaises(KeyboardInterrupt):
            self.run_check(on=FakeReactor(interrupted=True))

    def test_defect(self):
        """A defect is not taken for a verdict."""
        with (
            mock.patch.object(module.Trial, "run", side_effect=RuntimeError("defect")),
            self.assertRaises(RuntimeError),
        ):
            self.run_check()
