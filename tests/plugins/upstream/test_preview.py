"""Tests for ``bridge.plugins.upstream.preview``, with all the packages below it."""

from collections import defaultdict

from attrs import evolve
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.trial.unittest import SynchronousTestCase

from bridge.http.target import NotPublicError
from bridge.plugins.clone.history import Behind, LogEntry
from bridge.plugins.operations.jobs import Progress, Request
from bridge.plugins.tree.manifest import Difference
from bridge.plugins.upstream.preview import InstalledVersion, Preview
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import PREVIEW_KEPT_SECONDS, PREVIEWS_PER_MINUTE
from bridge.protocol.steps import Operation

from ...pages import Page
from ..operations.bench import (
    COMMIT,
    GOOD,
    KEY,
    NOW,
    Bench,
    files_of,
    no_desktop,
    url_of,
)

LATER = "d" * 40
NOTES = "## 1.1.0\n\n- New."
STEPS = ["clone", "validate", "policy", "signature", "compare"]


class PreviewTestCase(SynchronousTestCase):
    """A test with ``good`` in a repository, and a page."""

    def setUp(self) -> None:
        self.bench = Bench(self)
        self.bench.publish("good")
        self.page = Page()
        self.steps: dict[Page, list[str]] = defaultdict(list)

    def preview(self, url=GOOD, plugin_id=None, ref=None, page=None):
        """Begin to preview a repository; what is raised is a failure, too."""
        caller, preview = page or self.page, self.bench.previewer.preview

        def watch(progress: Progress) -> None:
            self.steps[caller].append(progress.step)

        subject = url, plugin_id
        request = Request(Operation.PREVIEW, subject, plugin_id, ref)
        return maybeDeferred(preview, request, caller, watch)

    def preview_installed(self, plugin_id: str = "good") -> Deferred[Preview]:
        """Begin to preview the update of a plugin."""
        return self.preview(None, plugin_id)

    def result(self, url: str = GOOD) -> Preview:
        return self.successResultOf(self.preview(url))

    def refused(self, prefix, previewing=None):
        """Fail to preview; the refusal, which begins so."""
        going = self.preview() if previewing is None else previewing
        error: BridgeError = self.failureResultOf(going, BridgeError).value
        self.assertEqual(error.message.partition(":")[0], prefix, error.message)
        return error

    def install(self, **fields) -> None:
        """Install ``good``, and publish a later version by the same author."""
        self.successResultOf(self.bench.install(GOOD))
        self.bench.publish("good", version="1.1.0", **fields)
        self.bench.cloner.commit = LATER
        self.bench.events.clear()


class PreviewTests(PreviewTestCase):
    def test_what_is_shown(self) -> None:
        """All that an install would be about is shown; nothing is installed."""
        preview = self.result()
        self.assertEqual(preview.url, GOOD)
        self.assertEqual(preview.commit, COMMIT)
        self.assertEqual(preview.digest, self.bench.pin_of("good").digest)
        self.assertEqual(preview.manifest.id, "good")
        self.assertEqual((preview.key.key_id, preview.key.trusted), (KEY, False))
        self.assertIsNone(preview.key.trusted_at)
        self.assertIsNone(preview.installed)
        self.assertIsNone(preview.changelog)
        self.assertEqual(preview.expires_at, int((NOW + PREVIEW_KEPT_SECONDS) * 1000))
        # Nobody is asked, nothing is built, and other pages see nothing.
        names, values = self.bench.left()
        self.assertEqual((len(names), values), (1, {}))
        self.assertTrue(names[0].startswith(".tmp-"))
        self.assertEqual(self.bench.events, ["clone"])
        self.assertEqual(self.steps[self.page], STEPS)

    def test_refused_like_an_install(self) -> None:
        """What an install would refuse is, a URL unfetched; nothing is kept."""
        self.refused("not_https", self.preview("http://forge.example/x"))
        self.assertEqual(self.bench.jobs.recent(), [])
        self.bench.publish("good", {"main.ts": "eval('a');\n"})
        self.refused("policy")
        self.assertEqual(self.bench.left(), ([], {}))


class InstalledTests(PreviewTestCase):
    def test_changes(self) -> None:
        """What the new version gains and loses is shown, and what is installed."""
        self.bench.publish("good", optionalPermissions=["network"], events=["left"])
        self.install(permissions=["network"], hosts=["x.example"])
        preview = self.successResultOf(self.preview_installed())
        by_url = self.result()
        self.assertEqual(by_url, evolve(preview, expires_at=by_url.expires_at))
        self.assertEqual(preview.commit, LATER)
        self.assertEqual(
            preview.installed, InstalledVersion("1.0.0", COMMIT, GOOD, KEY)
        )
        self.assertEqual(preview.changes.permissions, Difference(["network"], []))
        self.assertEqual(preview.changes.events, Difference([], ["left"]))
        self.assertEqual(
            (preview.key.trusted, preview.key.trusted_at), (True, NOW * 1000)
        )

    def test_changed_tree(self) -> None:
        """A tree that was changed on disk is no version to compare with."""
        self.install(hosts=["x.example"])
        (self.bench.data.plugin("good") / "main.ts").write_text("changed")
        preview = self.result()
        self.assertEqual(preview.installed.version, "")
        self.assertEqual(preview.changes.hosts.gained, ["x.example"])

    def test_changelog(self) -> None:
        """The notes and the commits since the installed one are shown."""
        self.install()
        notes = {"CHANGELOG.md": f"{NOTES}\n\n## 1.0.0\n\n- Old.\n"}
        self.bench.publish("good", notes, version="1.1.0")
        pushed, new = (LogEntry(c, "x", "") for c in ("e" * 40, LATER))
        self.bench.cloner.answers[GOOD] = Behind("e" * 40, 2, [pushed, new], met=True)
        changelog = self.result().changelog
        # What was pushed after this commit is not part of it.
        self.assertEqual((changelog.notes, changelog.commits), (NOTES, [new]))
        # A host that does not answer keeps no preview from its end.
        self.bench.cloner.answers[GOOD] = BridgeError(
            Code.BAD_REQUEST, "clone_failed: no"
        )
        changelog = self.result().changelog
        self.assertEqual((changelog.notes, changelog.commits), (NOTES, []))
        # When nothing is new there is none.
        self.bench.cloner.commit = COMMIT
        self.assertIsNone(self.result().changelog)

    def test_ids(self) -> None:
        """An id that is none, or not installed, is refused without a clone."""
        self.refused("invalid_id", self.preview_installed("../x"))
        self.refused("not_installed", self.preview_installed())
        self.assertEqual(self.bench.events, [])

    def test_repository_of_another_plugin(self) -> None:
        """A repository that holds another plugin now is refused."""
        self.install()
        self.bench.publish("good", files_of("evil"), signed_as="evil")
        self.refused("manifest_invalid", self.preview_installed())


class PrivateTests(PreviewTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.bench.previewer = evolve(self.bench.previewer, reach=self.reach)
        self.allowed: list[frozenset[tuple[str, int]]] = []
        self.addresses: tuple[str, ...] = ("192.168.1.5",)

    def reach(self, allowed: frozenset[tuple[str, int]]):
        self.allowed.append(allowed)
        refused = NotPublicError(
            Code.BAD_REQUEST,
            "clone_failed: the host is not on the public internet",
            addresses=self.addresses,
        )
        failure = None if allowed else refused
        return evolve(self.bench.cloner, failure=failure)

    def test_confirmed(self) -> None:
        """A prompt shows the host and its address; then just these are allowed."""
        self.result()
        self.assertEqual(self.allowed, [frozenset(), frozenset({("192.168.1.5", 443)})])
        (prompt,) = self.bench.approver.prompts
        self.assertEqual(prompt.operation, "reach_host")
        self.assertIn("Host: forge.example\n", prompt.body)
        self.assertIn("Address: 192.168.1.5\n", prompt.text)

    def test_private_name(self) -> None:
        """A name that is private by itself is allowed as a name."""
        self.addresses = ()
        self.result()
        self.assertEqual(self.allowed[-1], frozenset({("forge.example", 443)}))

    def test_attack_probing_the_network(self) -> None:
        """A host that was not confirmed is refused, and asked for again each time."""
        self.bench.approver.answers = [False, no_desktop()]
        for why in ("was not confirmed", "could not be asked for"):
            self.assertIn(why, self.refused("private_address").message)
        self.assertEqual(self.allowed, [frozenset()] * 2)
        self.assertEqual(len(self.bench.approver.prompts), 2)
        self.assertEqual(self.bench.left(), ([], {}))

    def test_installed(self) -> None:
        """Where an installed plugin came from is not asked for again."""
        self.install()
        asked = len(self.bench.approver.prompts)
        preview = self.successResultOf(self.preview_installed())
        self.assertEqual(preview.manifest.version, "1.1.0")
        self.assertEqual(len(self.bench.approver.prompts), asked)

    def test_cancelled_while_asked(self) -> None:
        """A page that goes away withdraws the prompt."""
        self.bench.approver.answers = [None]
        previewing = self.preview()
        self.page.go()
        self.refused("cancelled", previewing)
        self.assertIn("withdrawn", self.bench.events)
        self.assertEqual(self.allowed, [frozenset()])


class TurnTests(PreviewTestCase):
    REF = "page-chose-this-1"

    def setUp(self) -> None:
        super().setUp()
        self.bench.publish("other")
        self.bench.clones.slow = "clone"

    def test_attack_joined_a_thousand_times(self) -> None:
        """A page gets each step once, and nothing of a preview is kept for it."""
        previews = [self.preview() for _ in range(1000)]
        self.bench.clones.go_on()
        for preview in previews:
            self.successResultOf(preview)
        self.assertEqual(self.steps[self.page], STEPS)
        self.assertEqual(len(self.page.ends), 1)
        self.assertEqual(self.bench.previewer._pages, {})

    def test_busy(self) -> None:
        """Another one is refused until the first has ended, and costs nothing."""
        first = self.preview()
        for _ in range(PREVIEWS_PER_MINUTE * 2):
            self.refused("busy", self.preview(url_of("other")))
        self.bench.clones.go_on()
        self.successResultOf(first)
        self.result(url_of("other"))

    def test_attack_flood(self) -> None:
        """No more than a few a minute are begun, no matter who asks."""
        self.bench.clones.go_on()
        for _ in range(PREVIEWS_PER_MINUTE):
            self.successResultOf(self.preview(page=Page()))
        error = self.refused("at most 6 previews a minute", self.preview(page=Page()))
        self.assertEqual((error.code, error.retry_after), (Code.RATE_LIMITED, 10))
        self.bench.clock.advance(10)
        self.result()

    def test_page_that_has_gone_already(self) -> None:
        """For a page that left while it asked, nothing is cloned."""
        self.page.go()
        self.refused("cancelled")
        self.assertEqual(self.bench.clones.waiting, [])

    def test_two_pages(self) -> None:
        """They get it from one preview, which goes on while one of them waits."""
        second = Page()
        one, other = self.preview(), self.preview(page=second)
        self.page.go()
        self.bench.clones.go_on()
        self.assertIs(self.successResultOf(one), self.successResultOf(other))
        self.assertEqual(self.bench.events.count("clone"), 1)
        self.assertEqual(self.steps[second], STEPS[1:])

    def test_reloaded_page(self) -> None:
        """A page that comes back gets a preview of its own."""
        former = self.preview()
        self.page.go()
        again = self.preview(page=Page())
        self.bench.clones.go_on()
        self.refused("cancelled", former)
        self.assertEqual(self.successResultOf(again).manifest.id, "good")
        # Nothing is left of the first one.
        self.assertEqual(len(self.bench.left()[0]), 1)

    def test_ref(self) -> None:
        """The same name is the same preview, also when it has ended."""
        first = self.preview(ref=self.REF)
        second = self.preview(ref=self.REF, page=Page())
        self.bench.clones.go_on()
        preview = self.successResultOf(first)
        self.assertIs(self.successResultOf(second), preview)
        late = self.preview(ref=self.REF)
        self.assertIs(self.successResultOf(late), preview)
        self.assertEqual(self.bench.events.count("clone"), 1)
