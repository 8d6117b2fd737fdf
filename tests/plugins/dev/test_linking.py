from twisted.internet.defer import Deferred, ensureDeferred
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.dev.linking import Linked
from bridge.plugins.installed.records import read_records
from bridge.plugins.policy.scan import SourcesRefusedError
from bridge.protocol.errors import BridgeError, Code

from ...pages import Page
from ..operations.bench import Bench, files_of, manifest, url_of, write_tree

LINK = ".tmp-dev-mine"


class LinkingTestCase(SynchronousTestCase):
    def setUp(self):
        self.bench = Bench(self)
        self.tree = self.bench.repositories / "work"
        self.names = ["main.ts", "plugin.json"]
        write_tree(self.tree, files_of("mine"), None)
        self.command = Page(is_page=False)

    def update(self, command=None):
        linking, chosen = self.bench.linking, command or self.command
        linking.admit(chosen)
        return ensureDeferred(linking.update(chosen, self.tree, self.names))

    def linked(self) -> Linked:
        return self.successResultOf(self.update())

    def refusal(self, command=None):
        """Link the tree, which is refused; gives the message."""
        failure = self.failureResultOf(self.update(command), BridgeError)
        return failure.value.message

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
        """A change is refused before the good copy is touched, and nothing is built."""
        self.linked()
        self.bench.events.clear()
        self.write("main.ts", "eval('1');\n")
        self.failureResultOf(self.update(), SourcesRefusedError)
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
        self.assertEqual(self.successResultOf(installed).id, "good")

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
        failure = self.failureResultOf(second, BridgeError)
        self.assertEqual(failure.value.message, refused)
        self.assertEqual(self.kept(), [LINK])

    def test_scan_ends_with_its_command(self):
        """Neither others nor a daemon that ends wait for a scan that hangs."""
        for end in (self.end, self.bench.linking.close):
            self.bench.threads.slow = "survey_tree"
            linking = self.update()
            end()
            error = self.failureResultOf(linking, BridgeError).value
            self.assertEqual(error.code, Code.UNAVAILABLE)
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
