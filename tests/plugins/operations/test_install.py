"""Installs that succeed, several at once, and of what was previewed."""

from typing import Any

from twisted.logger import capturedLogs, formatEvent

from bridge.approval.prompts import denied
from bridge.plugins.installed.records import KEYS, MARKS, RECORDS, Record, recorded
from bridge.protocol.wire import unstructure

from ...pages import Page
from .bench import (
    COMMIT,
    GOOD,
    KEY,
    NOW,
    OTHER_KEY,
    OTHER_SEED,
    OperationTestCase,
    files_of,
    steps,
    url_of,
)

ASKING: Any = {"permissions": ["network"], "hosts": ["x.example"]}


class InstallTestCase(OperationTestCase):
    """A test with ``good`` and ``other`` in repositories."""

    def setUp(self) -> None:
        super().setUp()
        self.bench.publish("good")
        self.bench.publish("other")
        self.start()

    def bodies(self) -> list[str]:
        """The texts of the prompts since this was last asked for."""
        bodies = [prompt.text for prompt in self.bench.approver.prompts]
        self.bench.approver.prompts.clear()
        return bodies


class InstallTests(InstallTestCase):
    def test_what_happens(self) -> None:
        """All happens in this order; tree, record, key and mark are kept, no more."""
        entry = self.done("install", GOOD, ref="page-chose-this-1").plugin
        self.assertEqual(
            self.events,
            [
                *steps("install", "signature"),
                "trust_key awaiting_confirmation",
                "ask trust_key",
                "move",
                "push plugins good",
                "build",
                "run good",
                "push build ok good",
                "answer",
            ],
        )
        progress = self.bench.pushed["progress"]
        committing = [p["step"] for p in progress if not p["cancellable"]]
        self.assertEqual(committing, ["move", "build"])
        called = {(p["operation"], p["ref"]) for p in progress}
        self.assertEqual(called, {("operation-1", "page-chose-this-1")})
        listed = {"plugins": [unstructure(entry)]}
        self.assertEqual(self.bench.pushed["plugins"], [listed])
        self.assertEqual(entry.installed_at, "2023-11-14T22:13:20Z")
        names, values = self.bench.left()
        self.assertEqual((names, set(values)), (["good"], {RECORDS, KEYS, MARKS}))
        record = recorded(self.bench.store, "good")
        now = NOW * 1000
        self.assertEqual(record, Record(GOOD, COMMIT, KEY, NOW, now, now))
        self.assertEqual(entry, self.bench.entry("good"))
        self.assertEqual(values[MARKS], {"good": {KEY: NOW}})
        self.assertEqual(values[KEYS][KEY]["plugins"], ["good"])
        with capturedLogs() as logs:
            self.done("install", url_of("other"))
        self.assertIn("install of other 1.0.0 is done", map(formatEvent, logs))
        keys = self.bench.store.entries(KEYS)
        self.assertEqual(keys[KEY]["plugins"], ["good", "other"])

    def test_prompts(self) -> None:
        """
        The first shows the host, the second the key, the plugin and what it may do.

        With a known key a question shows that which is about nothing else; a plugin
        that declares nothing needs none.
        """
        self.bench.publish("good", **ASKING)
        self.done("install", GOOD)
        install, trust = self.bodies()
        self.assertIn("Host: forge.example\n", install)
        self.assertNotIn("Go online", install)
        for text in (
            f"Key: {KEY}\n",
            "good, version 1.0.0\n",
            'named "A plugin"',
            "Go online",
        ):
            self.assertIn(text, trust)
        self.done("install", url_of("other"))
        self.assertEqual(len(self.bodies()), 1)
        self.bench.publish("third", **ASKING)
        self.done("install", url_of("third"))
        _, declared = self.bodies()
        self.assertIn("Go online", declared)
        self.assertIn("Sites: x.example", declared)

    def test_prompts_after_a_preview(self) -> None:
        """The first names what a preview has shown, and no other one repeats it."""
        for name, asked in (("good", 2), ("other", 1)):
            self.bench.publish(name, **ASKING)
            self.bench.keep(name)
            self.done("install", url_of(name), self.bench.pin_of(name))
            first, *others = self.bodies()
            self.assertEqual(len(others) + 1, asked)
            self.assertIn(f"Plugin: {name}, version 1.0.0\n", first)
            self.assertIn("Go online", first)
            self.assertNotIn("Go online", "".join(others))

    def test_prompts_name_who_asks(self) -> None:
        """A page, or a command in a terminal: in each prompt of the operation."""
        for page, who in (
            (Page(), "\nA page of "),
            (Page(is_page=False), "\nA command "),
        ):
            self.error(self.ask("install", GOOD, caller=page, answers=[True, False]))
            self.assertEqual([who in body for body in self.bodies()], [True, True])

    def test_received_bytes_are_shown(self) -> None:
        """While a clone goes on, pages see how much was received."""

        def chunks() -> Any:
            for number in (1000, 2500):
                self.bench.clock.advance(0.5)
                yield number

        self.bench.cloner.chunks = chunks()
        self.done("install", GOOD)
        progress = self.bench.pushed["progress"]
        messages = [p["message"] for p in progress if p["step"] == "clone"]
        self.assertEqual(
            messages,
            [
                "Cloning from forge.example",
                "Received 1,000 bytes",
                "Received 2,500 bytes",
            ],
        )


class SeveralTests(InstallTestCase):
    def test_same_url_twice(self) -> None:
        """The second click is refused at once; after the first it is not."""
        first = self.ask("install", GOOD, answers=[None])
        self.assertEqual(
            self.error(self.ask("install", GOOD)),
            "busy: an install from this URL is already under way; wait for it to end",
        )
        self.bench.approver.open[0].callback(None)
        self.successResultOf(first)
        message = self.error(self.ask("install", GOOD))
        self.assertTrue(message.startswith("already_installed: "))

    def test_same_plugin_from_two_places(self) -> None:
        """The second waits for the first's commit, and is then refused."""
        self.bench.publish("twin", files_of("good"), signed_as="good", seed=OTHER_SEED)
        first = self.ask("install", GOOD, answers=[True, None])
        second = self.ask("install", url_of("twin"))
        self.assertNoResult(second)
        self.assertEqual(self.events.count("ask trust_key"), 1)
        self.bench.approver.open[0].callback(None)
        self.successResultOf(first)
        self.assertTrue(self.error(second).startswith("already_installed: "))
        self.assertFalse(self.bench.trust.is_trusted(OTHER_KEY))

    def test_attack_prompts_of_a_page_that_has_gone(self) -> None:
        """One is shown, and stays; those that are not on the screen go with it."""
        page, other = Page(), Page()
        self.bench.approver.answers = [None, None]
        shown = self.ask("install", GOOD, caller=page)
        waiting = [
            self.ask("install", f"https://forge.example/{number}", caller=page)
            for number in range(3)
        ]
        last = self.ask("install", url_of("other"), caller=other)
        page.go()
        for gone in waiting:
            self.assertIn("who asked for this has gone", self.error(gone))
        self.assertNoResult(shown)
        (prompt,) = self.bench.approver.open
        prompt.callback(None)
        self.assertIn("who asked for this has gone", self.error(shown))
        self.bench.approver.open[1].callback(None)
        self.successResultOf(last)

    def test_attack_other_operations_of_a_page_that_has_gone(self) -> None:
        """Their prompts go with it, too; the one that is shown is still answered."""
        self.done("install", GOOD)
        self.bench.publish_later(permissions=["network"], hosts=["x.example"])
        page = Page()
        shown = self.ask("forget_key", KEY, answers=[None], caller=page)
        asked = {"update": "good", "uninstall": "good", "forget_key": KEY}
        waiting = [self.ask(op, asked[op], caller=page) for op in asked]
        page.go()
        for gone in waiting:
            self.assertIn("who asked for this has gone", self.error(gone))
        self.bench.approver.open[0].errback(denied("declined"))
        self.assertTrue(self.error(shown).startswith("denied: "))
