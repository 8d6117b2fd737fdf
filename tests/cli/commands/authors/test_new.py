"""``plugin-bridge new``; ``tests/e2e/test_authors.py`` checks and builds a result."""

import json
import os
from unittest import mock

from bridge.cli.commands.authors import new as scaffold
from bridge.cli.commands.authors.new import suggested_id

from ...commandcase import CommandTestCase
from ...repository import git

FILES = [
    ".github/workflows/check.yml",
    ".github/workflows/sign.yml",
    ".gitignore",
    "LICENSE",
    "README.md",
    "main.ts",
    "package.json",
    "plugin.json",
    "tests/main.test.ts",
    "tests/tsconfig.json",
    "tsconfig.json",
]


class NewTests(CommandTestCase):
    def setUp(self):
        super().setUp()
        self.plugin = self.root / "Bio_Card"

    def new(self, *arguments, typed=None):
        """Run ``new``; with something typed, on a terminal."""
        where = [f"--data-dir={self.root / 'data'}", *arguments, str(self.plugin)]
        with mock.patch("time.localtime", return_value=mock.Mock(tm_year=2026)):
            return self.run_main("new", *where, typed=typed)

    def read(self, name):
        return (self.plugin / name).read_text("utf-8")

    def refused(self, *arguments, **answers):
        """Run ``new``, which must fail in one line and write nothing."""
        before = sorted(self.root.rglob("*"))
        err = self.failed(self.new(*arguments, **answers))
        self.assertEqual(sorted(self.root.rglob("*")), before)
        return err

    def test_created(self):
        """Every file is there, and git sees all but the link."""
        with mock.patch.dict(os.environ, {"GIT_DEFAULT_HASH": "sha256"}):
            out = self.done(self.new())
        kind = git(self.plugin, "rev-parse", "--show-object-format")
        self.assertEqual(kind, "sha1")
        self.assertIn(f"created bio-card in {self.plugin}\n", out)
        self.assertRegex(
            out,
            r"own:\n\n  plugin-bridge open --dev .*\n  plugin-bridge dev ",
        )
        listed = git(self.plugin, "ls-files", "--others", "--exclude-standard")
        self.assertEqual(sorted(listed.split()), FILES)
        self.assertEqual(
            (self.plugin / ".host").readlink(), self.root / "data" / "host"
        )
        manifest = json.loads(self.read("plugin.json"))
        self.assertEqual((manifest["id"], manifest["name"]), ("bio-card", "Bio card"))
        self.assertIn("$schema", manifest)
        self.assertIn('id: "bio-card"', self.read("main.ts"))
        self.assertEqual(self.read("README.md").partition("\n")[0], "# Bio card")
        self.assertIn("(c) 2026 The authors of Bio card\n", self.read("LICENSE"))

    def test_options(self):
        """Options decide; what would end a string in the sources does not."""
        name = 'A "quoted" \\ name'
        self.new("--id=other", f"--name={name}", "--author=Me", typed="\n")
        manifest = json.loads(self.read("plugin.json"))
        self.assertEqual((manifest["id"], manifest["name"]), ("other", name))
        self.assertIn(f"ui.card({json.dumps(name)})", self.read("main.ts"))
        self.assertIn(f"# {name}\n", self.read("README.md"))

    def test_asked_on_a_terminal(self):
        """Each question has a default, which an empty answer accepts."""
        _, out, _ = self.new(typed="mine\n\n What it does. \n\n")
        for question in (
            "Id [bio-card]: ",
            "Name [Mine]: ",
            "What it does, in one sentence [A plugin without a description.]: ",
            "Author, for the licence [The authors of Mine]: ",
        ):
            self.assertIn(question, out)
        manifest = json.loads(self.read("plugin.json"))
        self.assertEqual(manifest["description"], "What it does.")

    def test_id_is_asked_for_again(self):
        """What breaks the rule of an id is refused before the other questions."""
        _, out, _ = self.new(typed="My plugin\nmine\n\n\n\n")
        _, refused, accepted = out.split("Id [bio-card]: ")
        self.assertIn("invalid_id: an id is 2 to 40 of a-z", refused)
        self.assertIn("Name [Mine]: ", accepted)
        self.assertEqual(json.loads(self.read("plugin.json"))["id"], "mine")

    def test_end_of_input(self):
        """A terminal that is closed ends it, and nothing is written."""
        self.assertEqual(self.new(typed="mine\n")[::2], (130, "\n"))
        self.assertEqual(list(self.root.iterdir()), [])

    def test_never_replaces(self):
        """A directory with anything in it is refused; a fresh repository is not."""
        self.plugin.mkdir()
        (self.plugin / "kept").write_text("mine")
        self.assertIn("is not empty; new never replaces", self.refused())
        (self.plugin / "kept").unlink()
        git(self.plugin, "init", "--quiet")
        self.assertEqual(self.new()[0], 0)

    def test_refused_values(self):
        """What the manifest does not allow is refused before anything is written."""
        for word, rule in (
            ("--id=X", "invalid_id: an id is 2 to 40"),
            ("--name=a\nb", "name: "),
            ("--description=a\tb", "description: "),
            ("--author=a\nb", "--author: no control characters"),
        ):
            self.assertIn(rule, self.refused(word), word)
        self.plugin = self.root / "1"
        self.assertIn("choose another with --id", self.refused())

    def test_other_host(self):
        """There is no template for the API of another host."""
        self.assertIn("--host reference", self.refused("--host=vrcnext"))

    def test_cannot_be_written(self):
        """A failure of the disk is one line."""
        full = OSError(28, "No space left on device")
        with mock.patch.object(scaffold.Path, "mkdir", side_effect=full):
            self.assertIn("No space left on device", self.refused())
        denied = PermissionError(13, "Permission denied")
        with mock.patch.object(scaffold.Path, "iterdir", side_effect=denied):
            self.assertIn("cannot be read: Permission denied", self.new()[2])

    def test_no_git(self):
        """Without git nothing is written, so that it can be tried again."""
        with mock.patch.dict("os.environ", PATH=str(self.root)):
            self.assertIn("git is needed", self.failed(self.new()))
        self.done(self.new())

    def test_no_link(self):
        """Where no link can be made, the plugin is complete, and the rest is named."""
        denied = OSError(1, "Operation not permitted")
        with mock.patch.object(scaffold.Path, "symlink_to", side_effect=denied):
            out = self.done(self.new())
        host = self.root / "data" / "host"
        self.assertIn(f".host is missing; link it to {host}\n", out)
        self.assertTrue((self.plugin / "tsconfig.json").exists())

    def test_suggested_id(self):
        """It is made of what an id may have."""
        for folder, wanted in (
            ("My Plugin", "my-plugin"),
            ("__x__y__", "x-y"),
            ("Mein Plügin", "mein-plugin"),
            ("日本", ""),
            ("a" * 50, "a" * 40),
            ("a" * 39 + "-b", "a" * 39),
        ):
            self.assertEqual(suggested_id(folder), wanted)

    def test_default_host(self):
        """Its host is the one with the template, also in its help."""
        for command, host in (("new", "reference"), ("sign", "vrcnext")):
            _, text, _ = self.run_main(command, "--help")
            self.assertIn(f"BRIDGE_HOST; default: {host}]", " ".join(text.split()))
