"""Tests for ``bridge.services.plugins``."""

from typing import Any

from twisted.internet.defer import ensureDeferred
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval import Operation
from bridge.plugins.operations.progress import Audience, Progress, Step
from bridge.plugins.upstream.updates import Updates
from bridge.protocol.errors import BridgeError
from bridge.protocol.wire import unstructure
from bridge.rpc.dispatch import Dispatcher
from bridge.rpc.registry import Registry
from bridge.services.plugins import PluginService, Pushes

from ..plugins.clone.remotes import LATEST, FakeUpstream
from ..plugins.operations.bench import COMMIT, KEY, NOW, Bench, at_once, url_of


class PluginServiceTests(SynchronousTestCase):
    """Tests for the service behind the dispatcher."""

    def setUp(self):
        """Register the service."""
        self.bench = Bench(self)
        self.bench.publish("good")
        bench = self.bench
        self.service = PluginService(
            bench.installer,
            bench.updater,
            bench.uninstaller,
            bench.key_ring,
            bench.rebuild,
            bench.store,
            bench.trees,
            bench.trust,
            bench.approver,
            bench.data.root / "theme" / "host.js",
            bench.threads,
            Updates(bench.store, FakeUpstream(), bench.clock, at_once),
            bench.operations,
            bench.previewer,
        )
        registry = Registry()
        registry.register("plugins", self.service)
        self.registry = registry
        self.dispatcher = Dispatcher(registry)

    def call(self, name, params):
        """Call a method."""
        return ensureDeferred(self.dispatcher.call("plugins", name, params))

    def result(self, name, params):
        """Call a method that answers."""
        return self.successResultOf(self.call(name, params))

    def test_install(self):
        """The answer holds the list entry."""
        answer = self.result("install", {"url": url_of("good")})
        self.assertEqual(list(answer), ["plugin"])
        self.assertEqual(answer["plugin"]["id"], "good")

    def test_install_params(self):
        """What is no URL, and what is more than a URL, is refused."""
        for params, message in (
            ({}, "url: required"),
            ({"url": 5}, "url: wrong type"),
            ({"url": url_of("good"), "force": True}, "unknown field"),
            ({"url": "http://forge.example/"}, "not_https: "),
            ({"url": "https://forge.example/" + "a" * 600}, "not_https: "),
        ):
            error = self.failureResultOf(self.call("install", params), BridgeError)
            self.assertTrue(error.value.message.startswith(message), error.value)
        self.assertEqual(self.bench.events, [])

    def test_list(self):
        """Installed plugins are listed, and the broken ones are named."""
        self.assertEqual(self.result("list", {}), {"plugins": [], "broken": []})
        entry = self.result("install", {"url": url_of("good")})["plugin"]
        self.assertEqual(self.result("list", {}), {"plugins": [entry], "broken": []})
        (self.bench.data.plugin("good") / "main.ts").write_text("changed")
        answer = self.result("list", {})
        (broken,) = answer["broken"]
        self.assertEqual(broken["id"], "good")
        self.assertTrue(broken["reason"].startswith("unsigned: "))
        self.assertEqual(answer["plugins"], [{**entry, "problem": broken["reason"]}])

    def test_check_updates(self):
        """A plugin that is behind is listed with what is new."""
        self.assertEqual(self.result("check_updates", {}), {"updates": []})
        self.result("install", {"url": url_of("good")})
        (update,) = self.result("check_updates", {})["updates"]
        entry = {
            "commit": LATEST,
            "summary": "Make it better",
            "time": "2023-11-14T22:13:20Z",
        }
        self.assertEqual(
            update,
            {
                "id": "good",
                "current": COMMIT,
                "latest": LATEST,
                "commitsBehind": 1,
                "changelog": [entry],
            },
        )

    def test_build(self):
        """The answer is the report, also when the build failed."""
        self.bench.builder.outcomes = [None, "no bundler"]
        self.assertEqual(
            self.result("build", {}),
            {"ok": True, "durationMs": 1, "plugins": [], "errors": []},
        )
        self.assertEqual(
            self.result("build", {}),
            {"ok": False, "durationMs": 1, "plugins": [], "errors": ["no bundler"]},
        )

    def test_keys(self):
        """Accepted keys are listed with what is installed of them."""
        self.result("install", {"url": url_of("good")})
        (key,) = self.result("keys", {})["keys"]
        self.assertEqual((key["keyId"], key["installed"]), (KEY, ["good"]))
        self.assertEqual(key["seenFor"], ["good"])

    def test_update(self):
        """The answer holds the list entry; the id is checked first."""
        self.result("install", {"url": url_of("good")})
        answer = self.result("update", {"id": "good"})
        self.assertEqual(list(answer), ["plugin"])
        self.assertEqual(answer["plugin"]["id"], "good")
        self.refused("update", {"id": "../x"}, "invalid_id: ")

    def test_uninstall(self):
        """The answer is empty; the id is checked first."""
        self.result("install", {"url": url_of("good")})
        self.assertEqual(self.result("uninstall", {"id": "good"}), {})
        self.refused("uninstall", {"id": "good"}, "not_installed: ")
        self.refused("uninstall", {"id": "../x"}, "invalid_id: ")

    def test_forget_key(self):
        """The answer is empty; a key that is not accepted is refused."""
        self.result("install", {"url": url_of("good")})
        self.assertEqual(self.result("forget_key", {"keyId": KEY}), {})
        self.refused("forget_key", {"keyId": KEY}, "not_trusted: ")

    def refused(self, name, params, message):
        """Call a method that refuses."""
        error = self.failureResultOf(self.call(name, params), BridgeError).value
        self.assertTrue(error.message.startswith(message), error.message)

    def test_ignored_params(self):
        """Methods without parameters take any object, and nothing else."""
        for name in ("list", "check_updates", "build", "keys"):
            self.result(name, {"anything": [1, {"at": "all"}]})
            bad: list[Any] = [[], "text", None, 5]
            for params in bad:
                self.failureResultOf(self.call(name, params), BridgeError)

    def test_describe(self):
        """``describe`` has the location of plugins and the confirmation of installs."""
        self.result("install", {"url": url_of("good")})
        described = self.registry.describe()["plugins"]
        self.assertEqual(
            described,
            {
                "summary": "Clones, verifies and compiles plugins.",
                "methods": [
                    "install",
                    "preview",
                    "operations",
                    "cancel",
                    "list",
                    "check_updates",
                    "update",
                    "uninstall",
                    "build",
                    "keys",
                    "forget_key",
                ],
                "pluginsDir": str(self.bench.data.plugins),
                "bundle": str(self.bench.data.root / "theme" / "host.js"),
                "confirmation": "a double",
                "signatures": "ed25519, required",
                "installed": ["good"],
            },
        )


class PushesTests(SynchronousTestCase):
    """Tests for ``Pushes``."""

    def test_events(self):
        """Each thing that happens is pushed under its event, as plain JSON."""
        pushed = []
        bench = Bench(self)
        bench.publish("good")
        entry = self.successResultOf(bench.installer.install(url_of("good")))
        pushes: Audience = Pushes(
            lambda event, data: pushed.append((event, data)), bench.trust
        )
        report = {"ok": True, "durationMs": 1, "plugins": ["good"], "errors": []}
        progress = Progress(
            Operation.INSTALL, None, Step.CLONE, "Cloning", "12", None, True
        )
        pushes.progress(progress)
        pushes.plugins([entry])
        pushes.built(bench.builder.report(["good"]))
        self.assertEqual(
            pushed,
            [
                ("progress", unstructure(progress)),
                (
                    "plugins",
                    {"plugins": [{**unstructure(entry), "trustedAt": NOW * 1000}]},
                ),
                ("build", report),
            ],
        )
