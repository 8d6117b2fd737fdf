from twisted.internet.defer import Deferred

from bridge.plugins.tree import manifest
from bridge.protocol.errors import BridgeError, clone_failed

from ..pages import Page
from ..plugins.operations.bench import KEY, NOW, Bench, url_of
from .case import ServiceCase


class PluginServiceTests(ServiceCase):
    service = "plugins"

    def setUp(self):
        self.bench = Bench(self)
        self.bench.publish("good")
        self.upstream = self.bench.upstream
        self.plugins = self.bench.service
        self.register(self.plugins)

    def test_check_updates_that_are_not_known(self):
        """A plugin whose repository can't be looked at is named, with the reason."""
        self.upstream.answers[url_of("good")] = clone_failed("nobody is there")
        self.call("install", url=url_of("good"))
        unknown = [{"id": "good", "reason": "clone_failed: nobody is there"}]
        answer = {"updates": [], "unknown": unknown, "pending": []}
        for params in ({}, {"fresh": False}, {"fresh": True}):
            self.assertEqual(self.call("check_updates", **params), answer)
        self.assertEqual(len(self.upstream.asked), 2)

    def test_build_that_has_a_name(self):
        """Another request with it gets its outcome, as the list; none cancels it."""
        ref = {"ref": "a-name-of-16-chars"}
        building: Deferred[None] = Deferred()
        self.bench.builder.outcomes = [building]
        answer = self.calling("build", ref)
        named = {"operation": self.call("operations")["operations"][0]["operation"]}
        self.assert_refused("cancel", named, "not_cancellable: ")
        building.callback(None)
        report = self.successResultOf(answer)
        self.bench.builder.outcomes = ["no bundler"]
        self.assertEqual(self.call("build", **ref), report)
        (entry,) = self.call("operations")["operations"]
        self.assertEqual((entry["op"], entry["ref"]), ("build", ref["ref"]))
        self.assertEqual((entry["step"], entry["cancellable"]), ("build", False))
        self.assertEqual((entry["outcome"], entry["result"]), ("done", report))
        answer = self.calling("uninstall", {"id": "good", **ref})
        refused = self.failureResultOf(answer, BridgeError).value
        self.assertEqual(refused.message, "ref: another operation has this name")

    def begin_uninstall(self):
        """Move a plugin's tree away; its record is still there."""
        self.bench.threads.slow = "do"
        self.calling("uninstall", {"id": "good"}).addErrback(lambda _: None)
        self.bench.journal.read().do(self.bench.data.plugins)

    def test_build_beside_a_change(self):
        """All who ask wait for its end, which the list says, and share a build."""
        self.call("install", url=url_of("good"))
        self.begin_uninstall()
        asked = [self.calling("build", {}) for _ in range(3)]
        said = [job["message"] for job in self.call("operations")["operations"]]
        self.assertEqual(said[1:-1], ["Waiting for what is under way"] * 3)
        self.bench.events.clear()
        self.bench.threads.go_on()
        for report in map(self.successResultOf, asked):
            self.assertEqual((report["ok"], report["errors"]), (True, []))
        said = [job["message"] for job in self.call("operations")["operations"]]
        self.assertEqual(said[1:], ["Building the bundle"] * 4)
        self.assertEqual(self.bench.events.count("run"), 2)  # with the uninstall's own

    def test_about(self):
        """What an installed plugin shows of itself is what its author has signed."""
        self.assert_refused("about", {"id": "good"}, "not_installed: ")
        self.assert_refused("about", {"id": "../x"}, "invalid_id: ")
        self.call("install", url=url_of("good"))
        self.assertEqual(self.call("about", id="good"), {"readme": "", "icon": ""})
        self.bench.threads.before = {"about": self.begin_uninstall}
        asked = self.calling("about", {"id": "good"})
        self.bench.threads.go_on()
        error = self.failureResultOf(asked, BridgeError).value
        self.assertEqual(error.message, "not_installed: good is not installed")
        self.call("install", url=url_of("good"))
        # A newer release may demand what the tree has not.
        self.patch(manifest, "ENTRY_FILE", "other.ts")
        self.assert_refused("about", {"id": "good"}, "manifest_invalid: ")
        (self.bench.data.plugin("good") / "README.md").write_text("changed", "utf-8")
        self.assert_refused("about", {"id": "good"}, "unsigned: ")

    def test_list_beside_a_change(self):
        """A list that a change overtakes is made again, also when that is undone."""
        threads, full = self.bench.threads, OSError(28, "No space left on device")
        for failing, left in ((set(), []), ({"replace"}, ["good"])):
            self.call("install", url=url_of("good"))
            threads.before = {"listing": self.begin_uninstall}
            listing = self.calling("list", {})
            self.bench.writes.failing = dict.fromkeys(failing, full)
            threads.slow = "listing"
            threads.step()
            threads.go_on()
            listed = self.successResultOf(listing)
            plugins = [one["id"] for one in listed["plugins"]]
            self.assertEqual((plugins, listed["broken"]), (left, []))

    def test_list_while_an_update_is_undone(self):
        """A list waits until the old tree is back."""
        self.call("install", url=url_of("good"))
        self.bench.publish_later()
        self.bench.builder.outcomes = ["broken"]
        self.bench.threads.slow = "undo"
        self.calling("update", {"id": "good"}).addErrback(lambda _: None)
        listing = self.calling("list", {})
        self.bench.threads.go_on()
        self.assertEqual(self.successResultOf(listing)["broken"], [])

    def test_attack_lists_without_end(self):
        """Two runs are for all who ask at once, and neither lists what is gone."""
        self.call("install", url=url_of("good"))
        threads = self.bench.threads
        threads.slow = "listing"
        first, *others = [self.calling("list", {}) for _ in range(9)]
        self.call("uninstall", id="good")
        threads.step()  # this one has read what was installed
        for answered in ([first], others):
            self.assertNoResult(answered[0])
            threads.step()
            lists = list(map(self.successResultOf, answered))
            self.assertEqual(lists, [{"plugins": [], "broken": []}] * len(answered))

    def test_preview_params(self):
        """One of the two is required, and just one."""
        both = {"url": url_of("good"), "id": "good"}
        for params in ({}, {"ref": "x" * 16}, both):
            self.assert_refused("preview", params, "one of url and id is required")

    def test_progress_of_a_preview(self):
        """Only the page that asked sees how its preview goes."""
        page = Page()
        self.successResultOf(self.calling("preview", {"url": url_of("good")}, page))
        self.assertEqual({event for event, _ in page.got}, {"progress"})
        self.assertEqual({data["op"] for data in page.data}, {"preview"})
        self.assertEqual(self.bench.pushed["progress"], [])

    def test_operations(self):
        """What is under way is listed, and how the others ended."""
        plugin = self.call("install", url=url_of("good"), ref="x" * 16)
        self.assert_refused("uninstall", {"id": "none"}, "not_installed: ")
        self.call("uninstall", id="good")
        self.bench.approver.answers = [None]
        self.calling("install", {"url": url_of("good")}).addErrback(lambda _: None)
        going, done, failed, removed = self.call("operations")["operations"]
        at = NOW * 1000
        self.assertEqual(
            going,
            {
                "operation": "operation-4",
                "op": "install",
                "id": None,
                "ref": None,
                "step": "awaiting_confirmation",
                "message": "Install a plugin?",
                "startedAt": at,
                "cancellable": True,
            },
        )
        self.assertEqual(
            done,
            {
                **going,
                "operation": "operation-1",
                "ref": "x" * 16,
                "step": "build",
                "message": "Building the bundle",
                "cancellable": False,
                "endedAt": at,
                "outcome": "done",
                "result": plugin,
            },
        )
        self.assertEqual(failed["outcome"], "refused")
        self.assertEqual(failed["error"]["code"], "bad_request")
        self.assertTrue(failed["error"]["message"].startswith("not_installed: "))
        self.assertNotIn("result", failed)
        self.assertEqual((removed["outcome"], removed["result"]), ("done", {}))

    def test_cancel(self):
        """The answer is empty, and the operation is refused and listed as cancelled."""
        good = {"url": url_of("good")}
        self.call("install", **good)
        others = {"uninstall": {"id": "good"}, "forget_key": {"keyId": KEY}}
        for name, params in {"install": good, **others}.items():
            self.bench.approver.answers = [None]
            asked = self.calling(name, params)
            named = {"operation": self.call("operations")["operations"][0]["operation"]}
            self.assertEqual(self.call("cancel", **named), {})
            error = self.failureResultOf(asked, BridgeError).value
            self.assertTrue(error.message.startswith("cancelled: "))
            ended = self.call("operations")["operations"][-1]
            self.assertEqual(ended["outcome"], "cancelled")
            self.assertEqual(ended["error"]["message"], error.message)
            why = "not_cancellable: operation: none under way has this name"
            self.assert_refused("cancel", named, why)

    def test_too_many(self):
        """A page with four operations under way begins no other one."""
        page = Page()
        self.bench.approver.answers = [None]
        for name in "abcd":
            self.calling("install", {"url": url_of(name)}, page)
        others = {"forget_key": {"keyId": KEY}, "uninstall": {"id": "good"}}
        for asked in others.items():
            refusal = self.failureResultOf(self.calling(*asked, page), BridgeError)
            self.assertEqual(refusal.value.code, "unavailable")

    def test_keys(self):
        """Accepted keys are listed with what is installed of them, until forgotten."""
        self.call("install", url=url_of("good"))
        (key,) = self.call("keys")["keys"]
        self.assertEqual((key["keyId"], key["installed"]), (KEY, ["good"]))
        self.assertEqual(key["seenFor"], ["good"])
        (entry,) = self.call("list")["plugins"]
        self.assertEqual(entry["trustedAt"], NOW * 1000)
        self.assertEqual(self.call("forget_key", keyId=KEY), {})
        (entry,) = self.call("list")["plugins"]
        self.assertNotIn("trustedAt", entry)
        self.assert_refused("forget_key", {"keyId": KEY}, "not_trusted: ")

    def assert_refused(self, name, params, message):
        error = self.refused(name, **params)
        self.assertTrue(error.message.startswith(message), error.message)

    def test_describe(self):
        """``describe`` has the location of plugins and the confirmation of installs."""
        self.call("install", url=url_of("good"))
        described = self.registry.describe()["plugins"]
        self.assertEqual(described.pop("methods")[:2], ["install", "preview"])
        self.assertEqual(
            described,
            {
                "summary": "Clones, verifies and compiles plugins.",
                "host": "reference",
                "application": self.plugins._paths.profile.application,
                "pluginsDir": str(self.bench.data.plugins),
                "bundle": str(self.plugins._paths.bundle),
                "confirmation": "a double",
                "signatures": "ed25519, required",
                "installed": ["good"],
            },
        )

    def test_why_nothing_can_be_built(self):
        """The field has the reason, and is absent when nothing is missing."""
        problems = ["cannot build: no bundler", "", "", ""]
        self.plugins._build_problem = lambda: problems.pop(0)
        described = self.plugins.describe()
        self.assertEqual(described["cannotBuild"], "cannot build: no bundler")
        self.assertNotIn("cannotBuild", self.plugins.describe())
        self.bench.builder.outcomes = ["no room"]
        self.call("build")
        self.assertIn("no room", self.plugins.describe()["cannotBuild"])
        # Who asks later has it built again.
        self.bench.clock.advance(10)
        self.assertNotIn("cannotBuild", self.plugins.describe())
        # No page is kept out by what breaks there.
        self.assertNotIn("installed", self.registry.describe()["plugins"])
        self.assertEqual(len(self.flushLoggedErrors(IndexError)), 1)
