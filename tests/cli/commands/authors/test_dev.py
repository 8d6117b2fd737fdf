"""The link of a working tree; ``tests/e2e/test_dev.py`` has one with a daemon."""

import os
from pathlib import Path
from typing import Any
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.authoring.reading import Reading
from bridge.cli.commands.authors import dev as module
from bridge.cli.commands.authors.dev import Link, snapshot
from bridge.cli.session import connect
from bridge.cli.terminal import CommandError
from bridge.pagelog.pagefile import Follower
from bridge.plugins.policy.rules import ADVICE
from bridge.protocol.limits import TREE_FILES
from bridge.protocol.wire import structure
from bridge.services.linking import WorkTree
from bridge.settings.host import locate

from ....directories import fresh_directory, write_files
from ....plugins.clone.clones import run_git
from ..calls import CallCase

REPORT = {"ok": True, "durationMs": 12, "plugins": ["demo"], "errors": []}
PLUGIN = {
    "id": "demo",
    "name": "Demo",
    "version": "1.0.0",
    "shadows": False,
    "report": REPORT,
}
LOGGED = "2026-01-01T00:00:00.000Z {} [{}] {}\n"


class SnapshotTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.root = fresh_directory(self)

    def write(self, name: str, content: str) -> None:
        write_files(self.root, {name: content})

    def test_every_change_is_seen(self) -> None:
        """A file that is new, gone, longer, touched or renamed makes a difference."""
        before = snapshot(self.root)
        for change in (
            lambda: self.write("src/new.ts", ""),
            (self.root / "src/new.ts").unlink,
            lambda: self.write("main.ts", "longer"),
            lambda: os.utime(self.root / "main.ts", ns=(1, 1)),
            lambda: (self.root / "main.ts").rename(self.root / "b.ts"),
            lambda: (self.root / "c.ts").symlink_to("b.ts"),
        ):
            change()
            after = snapshot(self.root)
            self.assertNotEqual(after, before)
            before = after
        self.write("node_modules/x.js", "")
        self.write(".git/index", "")
        self.write("a/" * 40 + "too-deep.ts", "")
        self.assertEqual(snapshot(self.root), before)

    def test_gone_meanwhile(self) -> None:
        """A file that is gone before it is looked at is as if it never was."""
        self.write("main.ts", "")
        with mock.patch.object(module.os, "lstat", side_effect=FileNotFoundError):
            self.assertEqual(snapshot(self.root), {})
        self.assertEqual(snapshot(self.root / "nowhere"), {})


class LinkTests(CallCase):
    """One tree, and a daemon of the test."""

    command = "dev"

    def setUp(self) -> None:
        super().setUp()
        self.tree = self.root / "tree"
        self.tree.mkdir()
        self.write("main.ts", "export default 1;\n")
        self.log = self.root / "plugins.log"
        follower = Follower(self.log)
        self.addCleanup(follower.close)
        self.shown: list[str] = []
        self.reading = Reading()
        self.builds = 0
        self.answering({"linked": PLUGIN, "message": "", "hits": [], "entries": {}})
        place = locate("reference", self.data.root, None)
        session = connect(place, dev=True)
        self.addCleanup(session.close)
        self.link = Link(
            self.tree,
            session,
            follower,
            lambda: self.reading,
            self.built,
        )
        self.patch(module, "_TIME", "12:00:00")
        self.patch(module, "print_line", self.shown.append)

    def built(self) -> None:
        """Pages are loaded again before anybody reads that there is a build."""
        self.builds += 1
        self.assertFalse([line for line in self.shown if " built in " in line])

    def write(self, name: str, content: str) -> None:
        write_files(self.tree, {name: content})

    def looked(self, times: int = 3) -> list[str]:
        self.shown.clear()
        for _ in range(times):
            self.link.look()
        return list(self.shown)

    def again(self) -> list[str]:
        self.write("more.ts", f"// {len(self.server.asked)}{'x' * self.builds}")
        return self.looked()

    def refused(self, message: str, *hits: object) -> list[str]:
        """Have the daemon refuse the next tree; return what is shown."""
        self.answering({"message": message, "hits": list(hits)})
        return self.again()

    def sent(self) -> list[WorkTree]:
        trees = [tree for service, _, tree in self.server.asked if service == "dev"]
        return [structure(tree, WorkTree) for tree in trees]

    def test_tree_is_sent_when_it_is_still(self) -> None:
        """It is sent as it is, and once after each change, not while files change."""
        self.write("node_modules/x.js", "")
        self.looked(9)
        (tree,) = self.sent()
        self.assertEqual((tree.directory, tree.files), (str(self.tree), ["main.ts"]))
        for content in ("22", "333", "4444"):
            self.write("src/b.ts", content)
            self.looked(1)
        self.assertEqual(len(self.sent()), 1)
        self.looked(3)
        self.assertEqual(self.sent()[1].files, ["main.ts", "src/b.ts"])

    def test_what_no_clone_would_have(self) -> None:
        """Nothing is built for an editor's own files, or for what git ignores."""
        run_git(self.tree, "init", "--quiet")
        self.write(".gitignore", "/.test/\n")
        self.looked()
        self.write("src/.main.ts.swp", "typed")
        (self.tree / ".#main.ts").symlink_to("author@computer.1")
        self.write(".test/main.js", "compiled")
        self.looked()
        self.assertEqual(len(self.sent()), 1)
        self.again()
        self.assertEqual(self.sent()[1].files, [".gitignore", "main.ts", "more.ts"])

    def test_linked_is_shown(self) -> None:
        """What is linked is shown once, and each build with its warnings."""
        report = {**REPORT, "errors": ["other is left out:\x1b gone"]}
        linked = {**PLUGIN, "shadows": True, "report": report}
        self.answering({"linked": linked, "entries": {"enabled:demo": False}})
        entry = "export {\n  a as default\n};\n"
        self.reading = Reading(entry, page_names=["main.ts:1 document"])
        built = [
            "12:00:00 built in 12 ms",
            "  other is left out:\\x1b gone",
            "  a plugin runs in a worker, which does not have these:",
            "  main.ts:1 document",
        ]
        first, off, *more = self.looked()
        self.assertEqual(
            first, "12:00:00 linked demo 1.0.0; it replaces the installed plugin"
        )
        run = "plugin-bridge enable --host reference"
        self.assertIn(f"  it is off; to switch it on, run: {run}", off)
        self.assertEqual(more, built)
        self.assertEqual(self.again(), built)
        self.assertEqual(self.builds, 2)

    def test_refusal_is_shown(self) -> None:
        """A refusal is shown whole, with the lines it is about; no page reloads."""
        self.write("main.ts", "eval('\x1b');\n")
        hit = {"file": "main.ts", "line": 1, "rule": "eval"}
        self.assertEqual(
            self.refused("policy: x", hit),
            [
                "12:00:00 refused: policy: x",
                "  main.ts:1 eval",
                "      eval('\\x1b');",
                f"      fix: {ADVICE['eval']}",
            ],
        )
        why = 'Unexpected ";"'
        hit = {"file": "main.ts", "line": 1, "rule": "syntax error", "why": why}
        self.assertIn(
            '      fix: correct the syntax: Unexpected ";"',
            self.refused("policy: x", hit),
        )
        self.write("plugin.json", '{\n  "id": "demo"\n  "name": "N"\n}')
        message = "manifest_invalid: plugin.json:3:3 expected a comma"
        self.assertEqual(
            self.refused(message),
            [f"12:00:00 refused: {message}", '  plugin.json:3 "name": "N"'],
        )
        self.assertEqual(self.builds, 0)
        self.answering({"linked": PLUGIN, "entries": {}})
        self.again()
        shown = self.refused("build_failed: a\nb")
        last = "  the last good build stays in use"
        self.assertEqual(shown, ["12:00:00 refused: build_failed: a", "  b", last])
        self.refusing("internal", "see the daemon's log")
        self.assertIn("12:00:00 refused: internal: see the daemon's log", self.again())
        self.assertEqual(self.builds, 1)

    def test_what_cannot_be_sent(self) -> None:
        """A tree that can't be listed, or named, is reported, and watched on."""
        error = CommandError("git is needed")
        with mock.patch.object(module, "published", side_effect=error):
            self.assertEqual(self.looked(), ["12:00:00 not sent: git is needed"])
        bad = os.fsencode(self.tree) + b"/\xff.ts"
        Path(os.fsdecode(bad)).touch()
        (line,) = self.looked()
        self.assertIn("not sent: the name of a file is not UTF-8", line)
        self.assertEqual(self.sent(), [])
        os.unlink(bad)
        many = [f"{n:05}" for n in range(5000)]
        with mock.patch.object(module, "published", return_value=many):
            self.looked()
        # Enough for the daemon to say that they are too many.
        (tree,) = self.sent()
        self.assertEqual(tree.files, many[: TREE_FILES + 2])

    def logged(self, level: str, scope: str, message: str) -> None:
        with self.log.open("a") as file:
            file.write(LOGGED.format(level, scope, message))

    def test_log_of_the_plugin(self) -> None:
        """Only what it logs once it is linked is shown, as visible characters."""
        self.logged("INFO ", "demo", "before")
        self.looked()
        self.logged("INFO ", "demo", "one\x1b[2J")
        self.logged("WARN ", "other", "two")
        self.logged("ERROR", "demo", "three")
        with self.log.open("a") as file:
            file.write("somebody else's line\n")
        lines = ["12:00:00 info  one", "12:00:00 error three"]
        self.assertEqual(self.looked(), lines)
        self.again()
        self.logged("DEBUG", "demo", "four")
        self.assertEqual(self.looked(), ["12:00:00 debug four"])

    def test_unreadable_log(self) -> None:
        """What is no log file is reported once, and the plugin is linked."""
        self.log.mkdir()
        why = f"12:00:00 the plugin's log lines are not shown: {self.log}: "
        self.assertTrue(self.looked()[0].startswith(why))
        self.assertEqual((self.looked(), self.builds), ([], 1))
        self.log.rmdir()
        self.assertEqual(self.looked(), [])
        self.log.mkdir()
        self.assertTrue(self.looked()[0].startswith(why))

    def followed(self) -> str:
        """Follow the tree to the end; return why it ended."""
        try:
            self.link.follow()
        except CommandError as e:
            return str(e)
        return ""

    def test_daemon_ends(self) -> None:
        """When the daemon ends, so does this, with its reason; not when it pushes."""
        self.server.answer = None
        self.assertIn("ended before it answered", self.followed())
        for closing, why in (
            (b'{"type": "close", "reason": "shutdown"}', "the daemon is shutting down"),
            (b'{"type": "push"}\n{"type": "close", "reason": "a"}', "connection: a"),
            (b"x", "the daemon has stopped"),
        ):
            self.server.welcome = b'{"type": "welcome", "services": {"remote": {}}}\n'
            self.server.welcome += closing
            place = locate("reference", self.data.root, None)
            session = connect(place, dev=True)
            with self.assertRaisesRegex(CommandError, why):
                session.wait(9)
            session.close()

    def test_attack_other_daemon(self) -> None:
        """What is not of the protocol ends it."""
        results: tuple[Any, ...] = (1, {}, {"linked": {}})
        for result in results:
            self.setUp()
            self.answering(result)
            self.assertEqual(self.followed(), "the daemon has another version")

    def test_ended_by_the_user(self) -> None:
        """Ctrl-C ends it at once, and is no failure."""
        self.link._ended = True
        self.assertEqual((self.followed(), self.server.asked), ("", []))
