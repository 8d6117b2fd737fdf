from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.installed.records import read_records
from bridge.plugins.policy.rules import Hit
from bridge.protocol import limits
from bridge.protocol.errors import BridgeError, Code, shutting_down
from bridge.protocol.limits import TREE_FILES
from bridge.protocol.wire import structure
from bridge.rpc import Registry
from bridge.services.linking import Linked, LinkResult, WorkTree

from ..pages import Page
from ..plugins.operations.bench import Bench, files_of, manifest, url_of, write_tree

LINK = ".tmp-dev-mine"


class WorkTreeTests(SynchronousTestCase):
    def test_bad(self) -> None:
        """Anything else is refused, and none of it repeated."""
        files = [str(n) for n in range(TREE_FILES + 3)]
        # One may be the signature; one too many is refused with a name, as by a clone.
        structure({"directory": "/a", "files": files[1:]}, WorkTree)
        for value in (
            {"directory": "/a"},
            {"directory": "Zq9", "files": []},
            {"directory": "/Zq9\0", "files": []},
            {"directory": "/a", "files": ["Zq9\0"]},
            {"directory": "/a", "files": [""]},
            {"directory": "/a", "files": ["Zq9", "Zq9"]},
            {"directory": "/a", "files": files},
        ):
            with self.assertRaises(BridgeError) as caught:
                structure(value, WorkTree)
            self.assertNotIn("Zq9", caught.exception.message)


class LinkingTestCase(SynchronousTestCase):
    def setUp(self):
        self.bench = Bench(self)
        self.tree = self.bench.repositories / "work"
        self.names = ["main.ts", "plugin.json"]
        write_tree(self.tree, files_of("mine"), None)
        self.command = Page(is_page=False)

    def update(self, command=None):
        """Ask for the tree, as it is read from a command."""
        work = WorkTree(str(self.tree), self.names)
        linking: Any = self.bench.linking.link(work, command or self.command)
        return Deferred.fromCoroutine(linking)

    def linked(self) -> Linked:
        return self.successResultOf(self.update()).linked

    def refusal(self, command=None):
        """Link the tree, which is refused; gives the message."""
        result = self.successResultOf(self.update(command))
        self.assertIsNone(result.linked)
        return result.message

    def end(self):
        self.command.go()
        self.command = Page(is_page=False)

    def write(self, name, content):
        (self.tree / name).write_text(content)

    def kept(self):
        return self.bench.left()[0]

    def in_copy(self):
        return (self.bench.data.plugins / LINK / "main.ts").read_text()


class LinkTests(LinkingTestCase):
    def test_linked(self):
        """An unsigned tree is copied, built, and listed as what it is; not recorded."""
        self.end()  # There is nothing yet.
        before = self.bench.left()[1]
        linked = self.linked()
        self.assertEqual(self.bench.left()[1], before)
        self.assertEqual((linked.id, linked.version), ("mine", "1.0.0"))
        self.assertFalse(linked.shadows)
        self.assertTrue(linked.report.ok)
        self.assertEqual(self.kept(), [LINK])
        self.assertEqual(
            self.bench.events,
            ["push plugins mine", f"run {LINK}", "push build ok mine"],
        )
        (entry,) = self.bench.trees.listing({}).plugins
        self.assertEqual(entry.dev, True)
        for name in ("url", "commit", "key_id"):
            self.assertEqual(getattr(entry, name), "")
        self.assertEqual(entry.installed_at, entry.updated_at)

    def test_changed(self):
        """A change replaces the copy; the time of the first link stays."""
        self.linked()
        self.bench.clock.advance(60)
        self.write("main.ts", "export default 2;\n")
        self.linked()
        self.assertEqual(self.in_copy(), "export default 2;\n")
        self.assertEqual(self.kept(), [LINK])
        (entry,) = self.bench.trees.listing({}).plugins
        self.assertLess(entry.installed_at, entry.updated_at)

    def test_nothing_takes_its_place(self):
        """Little is asked about what would not be built while the tree is linked."""
        for operation, name, prompts in (
            ("install", url_of("mine"), ["ask install"]),
            ("update", "mine", []),
        ):
            self.bench.publish("mine")
            self.linked()
            self.bench.events.clear()
            asked = self.bench.ask(operation, name)
            error = self.failureResultOf(asked, BridgeError).value
            self.assertIn("build_failed: plugin-bridge dev has linked", error.message)
            events = [event for event in self.bench.events if event.startswith("ask")]
            self.assertEqual(events, prompts)
            self.end()
            self.successResultOf(self.bench.ask(operation, name))

    def test_install_waits(self):
        """An install commits after a link that is being built, not within it."""
        self.bench.publish("good")
        slow: Deferred[None] = Deferred()
        self.bench.builder.outcomes = [slow]
        linking = self.update()
        installing = self.bench.install(url_of("good"))
        self.assertNoResult(installing)
        self.assertNotIn("good", self.kept())
        slow.callback(None)
        self.successResultOf(linking)
        self.successResultOf(installing)


class RefusedTests(LinkingTestCase):
    def test_policy(self):
        """Each breach is named; the good copy is not touched, and nothing is built."""
        self.linked()
        self.bench.events.clear()
        self.write("main.ts", "eval('1');\n\neval('2');\n")
        result = self.successResultOf(self.update())
        hits = [Hit("main.ts", line, "eval") for line in (1, 3)]
        refused = LinkResult(message="policy: main.ts:1 eval", hits=hits)
        self.assertEqual(result, refused)
        self.assertEqual(self.in_copy(), "export default 1;\n")
        self.assertEqual(self.kept(), [LINK])
        self.assertEqual(self.bench.events, [])

    def test_manifest(self):
        """A manifest that breaks a rule is refused as an install of it."""
        self.write("plugin.json", manifest("mine", extra=1))
        self.assertIn("manifest_invalid: plugin.json", self.refusal())
        self.assertEqual(self.kept(), [])

    def test_build_fails_at_first(self):
        """A tree that does not build is not linked, so others can be installed."""
        self.bench.builder.outcomes = [f"no such plugins/{LINK}/a.ts"]
        self.assertEqual(self.refusal(), "build_failed: no such a.ts")
        self.assertEqual(self.kept(), [])
        self.assertEqual(self.bench.trees.linked, {})
        self.bench.publish("good")
        installed = self.bench.install(url_of("good"))
        self.assertEqual(self.successResultOf(installed).plugin.id, "good")

    def test_build_fails_later(self):
        """A change that does not build is rolled back, in the files and the list."""
        self.linked()
        before = dict(self.bench.trees.linked)
        self.write("main.ts", "export default 2;\n")
        self.bench.builder.outcomes = ["broken"]
        self.bench.events.clear()
        self.assertEqual(self.refusal(), "build_failed: broken")
        pushed = [event for event in self.bench.events if "push build" in event]
        self.assertEqual(pushed, ["push build failed mine", "push build ok mine"])
        self.assertEqual(self.in_copy(), "export default 1;\n")
        self.assertEqual(self.bench.trees.linked, before)
        self.assertEqual(self.kept(), [LINK])

    def test_failures_leave_it_as_it_was(self):
        """Whatever fails on the way, the good copy is there and nothing else."""
        self.linked()
        for name in ("read_files", "link", "entries"):
            self.write("main.ts", f"export default '{name}';\n")
            self.bench.threads.failing = {name: OSError(5, "I/O error")}
            self.failureResultOf(self.update())
            self.bench.threads.failing = {}
            # What could not be rolled back at once is, by the next one.
            self.write("main.ts", "export default 1;\n")
            self.linked()
            self.assertEqual(self.in_copy(), "export default 1;\n", name)
            self.assertEqual(self.kept(), [LINK], name)
            self.assertFalse(self.bench.jobs.commit_lock.locked)

    def test_another_id(self):
        """The id may not change while it is linked."""
        self.linked()
        self.write("plugin.json", manifest("other"))
        self.assertEqual(
            self.refusal(),
            "manifest_invalid: id: it was mine before; end this and start it again",
        )

    def test_linked_twice(self):
        """A second link of the same id is refused, even one that came meanwhile."""
        self.linked()
        other = Page(is_page=False)
        why = "another plugin-bridge dev links mine; end it, and save a file"
        refused = f"already_installed: {why}"
        self.assertEqual(self.refusal(other), refused)
        self.end()
        self.bench.builder.outcomes = [Deferred()]
        slow = self.bench.builder.outcomes[0]
        first, second = self.update(), self.update(other)
        slow.callback(None)
        self.successResultOf(first)
        self.assertEqual(self.successResultOf(second).message, refused)
        self.assertEqual(self.kept(), [LINK])

    def test_scan_ends_with_its_command(self):
        """Neither others nor a daemon that ends wait for a scan that hangs."""
        for end in (self.end, self.bench.linking.close):
            self.bench.threads.slow = "survey_tree"
            linking = self.update()
            end()
            message = self.successResultOf(linking).message
            self.assertEqual(message, shutting_down().message)
        self.successResultOf(self.bench.linking.close())


class ShadowTests(LinkingTestCase):
    """A link alongside an installed plugin of its id, and another one."""

    def test_shadowed(self):
        """It is listed, read and built in place of the installed tree, which stays."""
        for name in ("also", "mine"):
            self.bench.publish(name)
            self.successResultOf(self.bench.install(url_of(name)))
        installed = self.bench.left()
        self.write("README.md", "linked")
        self.names.append("README.md")
        self.assertTrue(self.linked().shadows)
        self.assertIn(f"run also {LINK}", self.bench.events)
        self.assertEqual(self.bench.left(), ([LINK, "also", "mine"], installed[1]))
        records, trees = read_records(self.bench.store), self.bench.trees
        listing = trees.listing(records)
        found = [(entry.id, entry.dev) for entry in listing.plugins]
        self.assertEqual(found, [("also", None), ("mine", True)])
        self.assertEqual(
            (listing.plugins, listing.broken), (trees.entries(records), [])
        )
        self.assertEqual(trees.about("mine", records).readme, "linked")
        self.assertEqual(trees.about("also", records).readme, "")
        self.end()
        self.assertIn("run also mine", self.bench.events)
        self.assertEqual(self.bench.left(), installed)


class CallTests(LinkingTestCase):
    def link(self, *names: str, command: Page | None = None) -> Deferred[Any]:
        """Ask for the tree, as a command does; fires with plain JSON."""
        files = list(names or ("main.ts", "plugin.json"))
        registry = Registry()
        registry.register("dev", self.bench.linking)
        params = {"directory": str(self.tree), "files": files}
        caller = command or self.command
        calling = registry.call("dev", "link", params, caller)
        return Deferred.fromCoroutine(calling)

    def test_defect(self) -> None:
        """A failure of the daemon is logged in full, and reported without detail."""
        self.bench.threads.failing["read_files"] = OSError(5, "I/O error")
        error = self.failureResultOf(self.link(), BridgeError).value
        self.assertEqual(error.code, Code.INTERNAL)
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)

    def test_full_disk(self) -> None:
        """Why a tree could not be copied is reported, as for an install."""
        self.bench.threads.failing["link"] = OSError(28, "No space left on device")
        answer = self.successResultOf(self.link())
        message = "clone_failed: No space left on device"
        self.assertEqual((answer["message"], "linked" in answer), (message, False))

    def test_gone_while_building(self) -> None:
        """One that goes while its tree is built is unlinked after that."""
        slow: Deferred[None] = Deferred()
        self.bench.builder.outcomes = [slow]
        answer, waiting = self.link(), self.link()
        self.command.go()
        self.assertNoResult(answer)
        slow.callback(None)
        self.successResultOf(answer)
        self.assertNotIn("linked", self.successResultOf(waiting))
        self.assertEqual(self.bench.left()[0], [])

    def test_gone_and_broken(self) -> None:
        """A link that can't be taken out ends, and that is logged."""
        self.successResultOf(self.link())
        self.bench.threads.failing["link"] = OSError(5, "I/O error")
        self.command.go()
        self.successResultOf(self.bench.linking.close())
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)
        self.assertEqual(self.bench.trees.linked, {})
        self.assertFalse(self.bench.jobs.commit_lock.locked)

    def test_attack_too_many(self) -> None:
        """More trees than there is room for are refused, until one goes."""
        self.patch(limits, "DEV_LINKS", 1)
        self.successResultOf(self.link())
        other = Page(is_page=False)
        error = self.failureResultOf(self.link(command=other), BridgeError).value
        self.assertEqual(error.code, Code.UNAVAILABLE)
        self.command.go()
        self.successResultOf(self.link(command=other))

    def test_many_at_the_end(self) -> None:
        """All that are linked are left out by one build."""
        self.successResultOf(self.link())
        (self.tree / "plugin.json").write_text(manifest("other"))
        self.successResultOf(self.link(command=Page(is_page=False)))
        self.bench.events.clear()
        self.successResultOf(self.bench.linking.close())
        runs = [event for event in self.bench.events if event.startswith("run")]
        self.assertEqual((runs, self.bench.left()[0]), (["run"], []))

    def test_close(self) -> None:
        """At the end nothing is linked any more, and nothing new is."""
        slow: Deferred[None] = Deferred()
        self.bench.builder.outcomes = [slow]
        answer = self.link()
        closing = self.bench.linking.close()
        self.assertNoResult(closing)
        slow.callback(None)
        self.successResultOf(answer)
        self.successResultOf(closing)
        self.assertEqual(self.bench.trees.linked, {})
        error = self.failureResultOf(self.link(), BridgeError).value
        self.assertEqual(error.code, Code.UNAVAILABLE)
        self.command.go()
