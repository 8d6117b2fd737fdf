"""Which files differ from the last commit that signed a plugin."""

from __future__ import annotations

import subprocess

from bridge.cli.authoring.worktree import (
    SHOWN_FILES,
    Difference,
    SignedCommit,
    since_signed,
)

from .test_worktree import WorkTreeTestCase, commit, git


class SinceSignedTests(WorkTreeTestCase):
    """Comparing a work tree with its signed commit."""

    def sign(self):
        """Commit everything, with another signature."""
        self.write("plugin.sig", str(len(list(self.root.rglob("*")))))
        commit(self.root)
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=self.root,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout[:12]

    def differences(self):
        """Compare; return the differences as pairs."""
        found = since_signed(self.root)
        assert found is not None
        return [(one.file, one.change) for one in found.differences]

    def test_every_kind(self):
        """Files added, changed and removed are found, committed or not."""
        self.write(".gitignore", "dist/\n")
        self.write("gone.ts")
        self.write("also.ts")
        signed = self.sign()
        self.assertEqual(since_signed(self.root), SignedCommit(signed))
        self.write("main.ts", "changed")
        self.write("new.ts")
        (self.root / "gone.ts").unlink()
        commit(self.root)
        self.write("src/a.ts", "changed")
        self.write("untracked.ts")
        self.write("dist/ignored.js")
        git(self.root, "rm", "--quiet", "--cached", "also.ts")
        self.assertEqual(
            self.differences(),
            [
                ("also.ts", "changed"),
                ("gone.ts", "removed"),
                ("main.ts", "changed"),
                ("new.ts", "added"),
                ("src/a.ts", "changed"),
                ("untracked.ts", "added"),
            ],
        )

    def test_last_one_counts(self):
        """A later signature replaces the earlier one."""
        self.sign()
        self.write("main.ts", "changed")
        self.sign()
        self.assertEqual(self.differences(), [])

    def test_nothing_to_compare_with(self):
        """Without git, a commit, a signature or the history there is no answer."""
        self.assertIsNone(since_signed(self.root))
        git(self.root, "init", "--quiet")
        self.assertIsNone(since_signed(self.root))
        commit(self.root)
        self.assertIsNone(since_signed(self.root))
        self.sign()
        (self.root / "plugin.sig").unlink()
        commit(self.root)
        self.assertIsNone(since_signed(self.root))
        self.sign()
        shallow = self.directory / "shallow"
        where = f"file://{self.root}"
        git(self.directory, "clone", "--quiet", "--depth=1", where, str(shallow))
        self.assertIsNone(since_signed(shallow))

    def test_lines(self):
        """The author reads one line for each file, up to a number."""
        self.assertEqual(
            SignedCommit("1a2b").lines(),
            ["no file differs from 1a2b, the last signed commit"],
        )
        one = Difference("main.ts", "changed")
        lines = SignedCommit("1a2b", [one] * (SHOWN_FILES + 2)).lines()
        self.assertEqual(
            lines[0], "main.ts: changed since 1a2b, the last signed commit"
        )
        self.assertEqual((len(lines), lines[-1]), (SHOWN_FILES + 1, "and 2 more"))

    def test_attack_name_with_control_codes(self):
        """The name of a file is shown with visible characters only."""
        self.sign()
        self.write("x\x1b[2J.ts")
        ((name, _),) = self.differences()
        self.assertNotIn("\x1b", name)
