"""The files of a working tree, as a clone of it would have them, and since when."""

from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.authoring import worktree
from bridge.cli.authoring.programs import git as read_git
from bridge.cli.authoring.worktree import (
    SHOWN_FILES,
    Difference,
    difference_lines,
    published,
    published_tree,
    since_signed,
)
from bridge.cli.terminal import CommandError
from bridge.protocol import limits
from bridge.protocol.errors import BridgeError

from ...directories import fresh_directory, write_files
from ..repository import commit, git


class WorkTreeTestCase(SynchronousTestCase):
    def setUp(self):
        self.directory = fresh_directory(self)
        self.root = self.directory / "tree"
        self.write("main.ts", "export default 1;\n")
        self.write("src/a.ts", "export const a = 1;\n")

    def write(self, name, content=""):
        write_files(self.root, {name: content})

    def read(self):
        return published_tree(self.root).files


class DirectoryTests(WorkTreeTestCase):
    def test_links(self):
        """All but git's own is listed; links, to directories too, are not followed."""
        self.write("node_modules/x.js")
        self.write("src/.git/config")
        (self.root / "link").symlink_to("src")
        (self.root / "lost.ts").symlink_to("nowhere")
        # That of new is no file of the plugin.
        (self.root / ".host").symlink_to("src")
        self.assertEqual(
            published(self.root),
            ["link", "lost.ts", "main.ts", "node_modules/x.js", "src/a.ts"],
        )

    def test_attack_depth(self):
        """Folders in folders are left before they take all that Python has."""
        self.write("a/" * 40 + "x.ts")
        with self.assertRaisesRegex(CommandError, "more than 32 directories deep$"):
            published(self.root)


class RepositoryTests(WorkTreeTestCase):
    def test_link_and_submodule(self):
        """Both are refused as they would be in a clone, as is what would become one."""
        commit(self.root)
        git(self.root, "init", "--quiet", "own")
        with self.assertRaisesRegex(CommandError, "^own/ is a git repository of its"):
            self.read()
        self.write(".gitignore", "own/\n")
        (self.root / "link").symlink_to("main.ts")
        commit(self.root)
        self.assert_refused("policy: link:1 symlink")
        (self.root / "link").unlink()
        commit(self.root)
        git(self.root, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},in")
        (self.root / "in").mkdir()
        self.assert_refused("policy: in:1 submodule")

    def test_incomplete(self):
        """What a clone would have, and is not here, is not passed over."""
        commit(self.root)
        git(self.root, "update-index", "--skip-worktree", "src/a.ts")
        (self.root / "src/a.ts").unlink()
        with self.assertRaisesRegex(CommandError, "^src/a.ts is in a clone, but not"):
            self.read()
        git(self.root, "update-index", "--no-skip-worktree", "src/a.ts")
        git(self.root, "replace", "HEAD:main.ts", "HEAD:src/a.ts")
        self.assertEqual(self.read(), {"main.ts": b"export default 1;\n"})
        with (
            mock.patch("sys.getfilesystemencoding", return_value="iso8859-1"),
            self.assertRaisesRegex(CommandError, "a locale of UTF-8$"),
        ):
            self.read()

    def test_attack_huge(self):
        """What is refused for its size is not read by git either, to compare it."""
        commit(self.root)
        self.patch(limits, "TREE_BYTES", 10)
        with mock.patch.object(worktree, "git", wraps=read_git) as asked:
            self.assert_refused("clone_failed: files of more than 10 bytes (main.ts)")
        asked.assert_called_once()
        self.assertNotIn("--modified", asked.call_args.args)

    def assert_refused(self, message: str) -> None:
        """It is not read, and ``message`` says why."""
        error = self.assertRaises(BridgeError, self.read)
        self.assertEqual(error.message, message)


class SinceSignedTests(WorkTreeTestCase):
    def since_signed(self):
        return since_signed(self.root, self.read())

    def sign(self):
        """Commit everything, with another signature."""
        self.write("plugin.sig", str(len(list(self.root.rglob("*")))))
        commit(self.root)
        return git(self.root, "rev-parse", "HEAD")[:12]

    def differences(self):
        """Compare; return the differences as pairs."""
        return [(one.file, one.change) for one in self.since_signed()[1]]

    def test_every_kind(self):
        """Files added, changed and removed are found, committed or not."""
        self.write(".gitignore", "dist/\n")
        self.write("gone.ts")
        self.write("also.ts")
        self.write("same.ts")
        signed = self.sign()
        self.assertEqual(self.since_signed(), (signed, []))
        self.write("main.ts", "changed")
        self.write("new.ts")
        (self.root / "gone.ts").unlink()
        commit(self.root)
        self.write("src/a.ts", "changed")
        self.write("untracked.ts")
        self.write("dist/ignored.js")
        git(self.root, "rm", "--quiet", "--cached", "also.ts", "same.ts")
        self.write("also.ts", "changed")
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

    def test_nothing_to_compare_with(self):
        """Without git, a commit, a signature or the history there is no answer."""
        self.assertIsNone(self.since_signed())
        git(self.root, "init", "--quiet")
        self.assertIsNone(self.since_signed())
        commit(self.root)
        self.assertIsNone(self.since_signed())
        self.sign()
        (self.root / "plugin.sig").unlink()
        commit(self.root)
        self.assertIsNone(self.since_signed())
        self.sign()
        shallow = self.directory / "shallow"
        where = f"file://{self.root}"
        git(self.directory, "clone", "--quiet", "--depth=1", where, str(shallow))
        self.assertIsNone(since_signed(shallow, {}))

    def test_lines(self):
        """The author reads one line for each file, up to a number."""
        same = "no file differs from 1a2b, the last signed commit"
        self.assertEqual(difference_lines("1a2b", []), [same])
        one = Difference("main.ts", "changed")
        lines = difference_lines("1a2b", [one] * (SHOWN_FILES + 2))
        self.assertEqual((len(lines), lines[-1]), (SHOWN_FILES + 1, "and 2 more"))

    def test_attack_name_with_control_codes(self):
        """The name of a file is shown with visible characters only."""
        self.write("x\x1b[2J.ts")
        self.sign()
        (self.root / "x\x1b[2J.ts").unlink()
        ((name, _),) = self.differences()
        self.assertNotIn("\x1b", name)
