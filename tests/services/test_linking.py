from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import limits
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import TREE_FILES
from bridge.protocol.wire import converter, structure
from bridge.rpc.registry import Registry
from bridge.services.linking import DevLinks, WorkTree

from ..pages import Page
from ..plugins.dev.test_linking import LinkingTestCase
from ..plugins.operations.bench import manifest


class WorkTreeTests(SynchronousTestCase):
    def test_bad(self) -> None:
        """Anything else is refused, and none of it repeated."""
        for value in (
            {"directory": "/a"},
            {"directory": "Zq9", "files": []},
            {"directory": "/Zq9\0", "files": []},
            {"directory": "/a", "files": ["Zq9\0"]},
            {"directory": "/a", "files": [""]},
            {"directory": "/a", "files": ["Zq9", "Zq9"]},
            {"directory": "/a", "files": [str(n) for n in range(TREE_FILES + 1)]},
        ):
            with self.assertRaises(BridgeError) as caught:
                structure(converter, value, WorkTree)
            self.assertNotIn("Zq9", caught.exception.message)


class LinkTests(LinkingTestCase):
    def link(self, *names: str, command: Page | None = None) -> Deferred[Any]:
        """Ask for the tree, as a command does; fires with plain JSON."""
        files = list(names or ("main.ts", "plugin.json"))
        registry = Registry().extended("dev", DevLinks(self.bench.linking))
        params = {"directory": str(self.tree), "files": files}
        caller = command or self.command
        calling = registry.call("dev", "link", params, caller)
        return Deferred.fromCoroutine(calling)

    def test_refused_for_its_sources(self) -> None:
        """Every hit of the source policy is reported."""
        (self.tree / "main.ts").write_text("eval('1');\n\neval('2');\n")
        answer = self.successResultOf(self.link())
        self.assertNotIn("linked", answer)
        self.assertEqual(answer["message"], "policy: main.ts:1 eval")
        self.assertEqual(
            answer["hits"],
            [
                {"file": "main.ts", "line": 1, "rule": "eval", "why": ""},
                {"file": "main.ts", "line": 3, "rule": "eval", "why": ""},
            ],
        )

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
