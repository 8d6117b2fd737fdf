"""What every implementation of an interface must do, as mix-ins for test cases."""

from typing import Any

from twisted.internet.defer import maybeDeferred

from bridge.approval.prompts import Prompt
from bridge.protocol.errors import Code, Prefix
from bridge.protocol.steps import Operation
from bridge.sinks.fanout import FIELDS, Health, UnavailableError
from tests.sinks.samples import KINDS

PROMPT = Prompt(
    Operation.UNINSTALL,
    "Uninstall the plugin sample?",
    "Host: forge.example\nA page asks to uninstall this plugin.",
    "If you did not start this yourself, do not confirm it.",
    "Path: /a.git",
)


class ApproverContract:
    """
    Facts about every ``Approver``.

    The test case makes one in ``approver()``, of which no question is open; it
    either answers at once or leaves the question open.
    """

    def test_it_describes_itself(self):
        """Its description is one line of text."""
        self.assertEqual(len(self.approver().description.splitlines()), 1)

    def test_it_answers_or_can_be_withdrawn(self):
        """An answer is ``None``, or a ``BridgeError`` that the page can word."""
        answers: list[Any] = []
        approving = self.approver().approve(PROMPT)
        approving.addBoth(answers.append)
        if not answers:  # a person would have to answer
            approving.cancel()
            self.assertEqual(len(answers), 1)
        elif answers != [None]:
            error = answers[0].value
            self.assertEqual(error.code, Code.BAD_REQUEST)
            prefix = error.message.split(":")[0]
            self.assertIn(prefix, (Prefix.DENIED, Prefix.APPROVAL_UNAVAILABLE))


class SinkContract:
    """
    Facts about every ``Sink``.

    The test case makes one that has not started in ``sink()``; ``there()`` starts it,
    and waits until what it delivers to is reached.
    """

    async def test_it_describes_itself(self):
        """Its names are of the right kinds."""
        sink = self.sink()
        self.assertRegex(sink.name, r"\A[a-z][a-z0-9-]{0,31}\Z")
        self.assertEqual(len(sink.description.splitlines()), 1)
        self.assertLessEqual({"title", "content"}, set(sink.honours))
        self.assertLessEqual(set(sink.honours), set(FIELDS))

    async def test_it_delivers_between_start_and_close(self):
        """It takes every notification while it has started, and none otherwise."""
        sink = self.sink()
        self.assertFalse(sink.has_started)
        await self.there(sink)
        self.assertTrue(sink.has_started)
        self.assertIn(sink.health(), list(Health))
        for kind in KINDS:
            await maybeDeferred(sink.deliver, kind)
        await maybeDeferred(sink.close)
        self.assertFalse(sink.has_started)
        self.assertIn(sink.health(), list(Health))
        with self.assertRaises(UnavailableError):
            await maybeDeferred(sink.deliver, KINDS[0])
        await maybeDeferred(sink.close)

    async def test_it_may_be_closed_before_it_starts(self):
        sink = self.sink()
        await maybeDeferred(sink.close)
