from itertools import count
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import REMOTE_IN_FLIGHT, REMOTE_VALUE_CHARACTERS
from bridge.rpc import HTTP_CALLER, Caller, Hub
from bridge.services.remote import SnippetEvaluator, bounded

from ..pages import Page
from .case import ServiceCase


class RemoteCase(ServiceCase):
    service = "remote"

    def setUp(self) -> None:
        self.clock, self.hub, self.page = Clock(), Hub(), Page()
        self.hub.add(self.page)
        numbers = count()
        random = lambda n: next(numbers).to_bytes(n)  # noqa: E731
        self.remote = SnippetEvaluator(self.hub.ask, random, self.clock)
        self.register(self.remote)

    def eval(self, code: str = "return 1", **more: Any) -> Deferred[Any]:
        return self.calling("eval", {"code": code, **more}, HTTP_CALLER)

    def answer(self, page: Caller | None = None, **answer: Any) -> Any:
        """SnippetAnswer, the newest evaluation unless ``id`` names another."""
        answer.setdefault("id", self.page.data[-1]["id"] if self.page.data else "")
        answered = self.calling("result", answer, page or self.page)
        return self.successResultOf(answered)["delivered"]

    def refusal(self, refused: Deferred[Any]) -> tuple[Code, str]:
        """Return the code and the message of a refusal."""
        error = self.failureResultOf(refused, BridgeError).value
        return error.code, error.message


class EvalTests(RemoteCase):
    def test_pushed(self) -> None:
        """Every page is pushed the code, under an id of 22 base64url characters."""
        other = Page()
        self.hub.add(other)
        self.eval("return host")
        self.assertEqual(self.page.data, other.data)
        self.assertEqual(self.page.data[0]["code"], "return host")
        self.assertRegex(self.page.data[0]["id"], "^[A-Za-z0-9_-]{22}$")

    def test_result(self) -> None:
        """What the snippet returned or threw is answered; nothing is null."""
        null, thrown = {"ok": True, "value": None}, {"ok": False, "error": "Error: no"}
        for answer in ({"ok": True, "value": [1, None]}, null, {"ok": True}, thrown):
            evaluating = self.eval()
            self.assertTrue(self.answer(**answer))
            expected = null if answer == {"ok": True} else answer
            self.assertEqual(self.successResultOf(evaluating), expected)

    def test_nobody_paired(self) -> None:
        """Without a page it is refused at once."""
        self.hub.remove(self.page)
        refused = (Code.UNAVAILABLE, "no page is paired")
        self.assertEqual(self.refusal(self.eval()), refused)

    def test_shutdown(self) -> None:
        """Those that wait are refused, so are later ones, and no timer is left."""
        waiting = [self.eval() for _ in range(2)]
        self.remote.close()
        refused = (Code.UNAVAILABLE, "the daemon is shutting down")
        for evaluating in [*waiting, self.eval()]:
            self.assertEqual(self.refusal(evaluating), refused)
        self.assertFalse(self.answer(ok=True, value=1))
        self.page.go()
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_timeout(self) -> None:
        """The caller chooses the time; over a minute is a minute."""
        for chosen, seconds in ((0, 0.0), (500, 0.5), (60_001, 60.0), (2**60, 60.0)):
            evaluating = self.eval(timeoutMs=chosen)
            self.clock.advance(seconds - 0.1 if seconds else 0)
            self.clock.advance(0.1)
            self.assertEqual(self.refusal(evaluating)[0], Code.UNAVAILABLE)

    def test_eight_at_once(self) -> None:
        """A ninth is refused; a slot is free again when one is answered, or late."""
        waiting = [self.eval(timeoutMs=1000) for _ in range(REMOTE_IN_FLIGHT)]
        code, message = self.refusal(self.eval())
        self.assertEqual(code, Code.UNAVAILABLE)
        self.assertEqual(message, "8 evaluations are under way already")
        self.assertEqual(len(self.page.data), REMOTE_IN_FLIGHT)
        self.assertTrue(self.answer(ok=True))
        ninth = self.eval()
        self.clock.advance(1)
        for late in waiting[:-1]:
            self.refusal(late)
        self.assertNoResult(ninth)
        self.eval()
        self.successResultOf(waiting[-1])

    def test_page_closes(self) -> None:
        """A page that closes is not waited for; when all have, it is refused."""
        other = Page()
        self.hub.add(other)
        evaluating = self.eval()
        self.page.go()
        self.assertNoResult(evaluating)
        other.go()
        refused = (Code.UNAVAILABLE, "every page that was asked has gone")
        self.assertEqual(self.refusal(evaluating), refused)

    def test_describe(self) -> None:
        """The description gives the event and the bounds."""
        described = self.registry.describe()["remote"]
        del described["summary"]
        self.assertEqual(
            described,
            {
                "methods": ["eval", "result"],
                "pushEvent": "remote",
                "maxCodeChars": 65_536,
                "defaultTimeoutMs": 10_000,
                "maxTimeoutMs": 60_000,
            },
        )


class AnswerTests(RemoteCase):
    def test_shape(self) -> None:
        """An answer that contradicts itself is refused, and decides nothing."""
        evaluating = self.eval()
        id_ = self.page.data[0]["id"]
        for answer in (
            {"id": id_, "ok": False},
            {"id": id_, "ok": True, "error": "Error: no"},
            {"id": "x" * 65, "ok": True},
        ):
            refused = self.calling("result", answer, self.page)
            self.assertEqual(self.refusal(refused)[0], Code.BAD_REQUEST)
        self.assertNoResult(evaluating)

    def test_attack_answering_what_another_page_was_asked(self) -> None:
        """An id is no use to who was not asked, or has gone; a guess never is."""
        gone, late = Page(), Page()
        self.hub.add(gone)
        evaluating = self.eval()
        gone.go()
        self.hub.add(late)
        for stranger in (gone, late, HTTP_CALLER):
            self.assertFalse(self.answer(stranger, ok=True, value="forged"))
        for guess in ("", "B" * 22, "é", "x" * 64):
            self.assertFalse(self.answer(id=guess, ok=True, value="guessed"))
        self.assertNoResult(evaluating)
        self.assertTrue(self.answer(ok=True, value="real"))
        self.assertEqual(self.successResultOf(evaluating)["value"], "real")

    def test_attack_answering_twice(self) -> None:
        """The first answer counts, from whichever page; another changes nothing."""
        other = Page()
        self.hub.add(other)
        evaluating = self.eval()
        self.assertTrue(self.answer(other, ok=True, value=1))
        for page in (other, self.page):
            self.assertFalse(self.answer(page, ok=True, value=2))
        self.assertEqual(self.successResultOf(evaluating)["value"], 1)

    def test_attack_endless_value(self) -> None:
        """A page that does not cut its values has them cut; its errors too."""
        evaluating = self.eval()
        self.answer(ok=True, value="é" * REMOTE_VALUE_CHARACTERS)
        head = '"' + "é" * (REMOTE_VALUE_CHARACTERS - 1)
        cut = {"truncated": True, "chars": REMOTE_VALUE_CHARACTERS + 2, "head": head}
        self.assertEqual(self.successResultOf(evaluating)["value"], cut)
        evaluating = self.eval()
        self.answer(ok=False, error="e" * 10**6)
        error = self.successResultOf(evaluating)["error"]
        self.assertEqual(len(error), REMOTE_VALUE_CHARACTERS)


class BoundedTests(SynchronousTestCase):
    def test_limit_counts_characters(self) -> None:
        """Exactly the limit passes, whatever it takes in bytes."""
        for character in "xé漢":
            value = character * (REMOTE_VALUE_CHARACTERS - 2)
            self.assertIs(bounded(value), value)
            self.assertTrue(bounded(value + character)["truncated"])

    def test_cut_by_the_page(self) -> None:
        """What a page has cut is passed on, though it takes more when it is quoted."""
        head = '"' * REMOTE_VALUE_CHARACTERS
        cut = {"truncated": True, "chars": 10**7, "head": head}
        self.assertIs(bounded(cut), cut)
        for more in ({"head": head + "x"}, {"chars": "x"}, {"more": 1}):
            self.assertNotEqual(bounded({**cut, **more})["chars"], 10**7)
