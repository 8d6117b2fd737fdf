"""How programs are run on a tree that a stranger may have made."""

import os

from bridge.cli.authoring import programs as module
from bridge.cli.authoring.programs import git as read_git
from bridge.cli.authoring.worktree import check_clean, head, published, since_signed
from bridge.cli.terminal import CommandError

from ...directories import write_files
from ..repository import commit, git
from .test_worktree import WorkTreeTestCase


class GitTests(WorkTreeTestCase):
    def setUp(self):
        super().setUp()
        commit(self.root)
        self.ran = self.directory / "ran"

    def tearDown(self):
        """Nobody has run what none of these trees may have run."""
        self.assertFalse(self.ran.exists())

    def program(self, path):
        """Write one that must not run."""
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {self.ran}\n")
        path.chmod(0o755)

    def test_what_its_author_has_configured(self):
        """What they have git ignore in every work tree is not published either."""
        ignored = self.directory / "ignored"
        ignored.write_text(".DS_Store\n")
        configuration = self.directory / "gitconfig"
        given = {
            "GIT_CONFIG_GLOBAL": configuration,
            "GIT_CONFIG_COUNT": "2",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "/given",
            "GIT_CONFIG_KEY_1": "core.fsmonitor",
            "GIT_CONFIG_VALUE_1": f"touch {self.ran}",
        }
        self.patch(os, "environ", os.environ | given)
        self.write(".DS_Store")
        (attributes := self.directory / "attributes").write_text("*.ts text\n")
        # Which is as git has it, but for its line's end; git has to look.
        self.write("main.ts", "export default 1;\r\n")
        git(self.root, "-c", "core.autocrlf=true", "add", "main.ts")
        os.utime(self.root / "main.ts", (1, 1))
        for how in ("autocrlf=true", f"attributesFile={attributes}"):
            configuration.write_text(
                f"[core]\n{how}\nexcludesFile={ignored}\n[safe]\ndirectory=/of-others\n"
            )
            self.assertEqual(published(self.root), ["main.ts", "src/a.ts"])
            check_clean(self.root, ())
        # Nor is a tree of another user refused that they trust.
        trusted = read_git(self.root, "config", "--get-all", "safe.directory")
        self.assertEqual(trusted, b"/of-others\n/given\n")
        for count in ("x", " ", "-1", "3"):
            self.patch(os, "environ", os.environ | {"GIT_CONFIG_COUNT": count})
            self.assertRaises(CommandError, self.read)

    def test_attack_filter(self):
        """No program is run that the tree's own configuration names, nor a hook."""
        self.write("plugin.sig")
        commit(self.root)
        self.program(self.root / ".git/hooks/post-index-change")
        # With another time of its files git would renew its index.
        os.utime(self.root / "src/a.ts", (1, 1))
        for name in ("x", "a=b"):
            git(self.root, "config", f"filter.{name}.required", "true")
            for kind in ("clean", "process"):
                program = f"touch {self.ran}; cat"
                git(self.root, "config", f"filter.{name}.{kind}", program)
        git(self.root, "config", "core.fsmonitor", f"touch {self.ran}")
        # Neither hides the names of others: a value that is no path, another file.
        git(self.root, "config", "filter.a.clean", "~nobody-of-this-name/x")
        # Nor does what a hook has in its environment, which leads elsewhere.
        elsewhere = {"GIT_CONFIG": os.devnull, "GIT_DIR": "/nowhere"}
        self.patch(os, "environ", os.environ | elsewhere)
        (self.root / ".git/info/attributes").write_text(
            "*.ts filter=x\nm* filter=a=b\n"
        )
        self.write("main.ts", "export default 2;\n")
        files = self.read()
        self.assertEqual(files["main.ts"], b"export default 2;\n")
        index = (self.root / ".git/index").read_bytes()
        since_signed(self.root, files)
        self.assertEqual((self.root / ".git/index").read_bytes(), index)
        self.assertRaises(CommandError, check_clean, self.root, ())

    def test_attack_other_tree(self):
        """Nor one that a repository names to which the configuration leads."""
        other = self.directory / "other"
        write_files(other, {"a.ts": ""})
        commit(other)
        for root in (self.root, other):
            (root / ".git/info/attributes").write_text("* filter=x\n")
        git(other, "config", "filter.x.clean", f"touch {self.ran}; cat")
        os.utime(other / "a.ts", (1, 1))
        git(self.root, "config", "core.worktree", "../..")
        entry = f"160000,{git(other, 'rev-parse', 'HEAD')},other"
        git(self.root, "update-index", "--add", "--cacheinfo", entry)
        head(self.root)
        self.assertIn("main.ts", self.read())

    def test_attack_program_of_the_tree(self):
        """Nor is what the tree has by git's name."""
        self.program(self.root / "bin/git")
        path = os.pathsep.join([str(self.root / "bin"), os.environ["PATH"]])
        self.patch(os, "environ", os.environ | {"PATH": path})
        self.assertIn("main.ts", self.read())

    def test_attack_pipe(self):
        """A file that can never be read holds nobody up."""
        os.mkfifo(self.root / ".gitignore")
        self.patch(module, "GIT_SECONDS", 0.5)
        with self.assertRaisesRegex(CommandError, "^git [a-z-]+ took over 0.5 s$"):
            self.read()

    def test_attack_fetch(self):
        """Lost objects are not fetched by a program that the configuration names."""
        for name, text in (
            ("core.repositoryFormatVersion", "1"),
            ("extensions.partialClone", "evil"),
            ("remote.evil.promisor", "true"),
            ("remote.evil.url", f"ext::touch {self.ran}"),
            ("protocol.ext.allow", "always"),
        ):
            git(self.root, "config", name, text)
        blob = git(self.root, "rev-parse", "HEAD:main.ts")
        (self.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
        with self.assertRaisesRegex(CommandError, "^git (cannot read|cat-file failed)"):
            self.read()
