"""Tests for ``bridge.cli.commands.cancel``; the whole way is in ``tests/whole``."""

from typing import Any

from attrs import define, field
from twisted.internet.defer import ensureDeferred
from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.commands.cancel import cancelled, listing

GOING = {
    "operation": "0123456789abcdef",
    "op": "update",
    "id": "good",
    "ref": None,
    "step": "clone",
    "message": "Cloning from forge.example",
    "startedAt": 1,
    "cancellable": True,
}


@define(eq=False)
class PageDouble:
    """A socket that answers every call alike."""

    answer: Any
    calls: list[Any] = field(factory=list)

    async def call(self, service: str, method: str, params: Any) -> Any:
        """See ``PageSocket``."""
        self.calls.append((service, method, params))
        return self.answer


class CancelledTests(SynchronousTestCase):
    """Tests for ``cancelled``."""

    def test_cancel(self) -> None:
        """The named operation is cancelled."""
        page: Any = PageDouble({})
        done = self.successResultOf(ensureDeferred(cancelled(page, "abc")))
        self.assertEqual(done, "cancelled\n")
        self.assertEqual(page.calls, [("plugins", "cancel", {"operation": "abc"})])

    def test_list(self) -> None:
        """Without a name, what is under way is listed."""
        page: Any = PageDouble({"operations": [GOING]})
        done = self.successResultOf(ensureDeferred(cancelled(page, "")))
        self.assertEqual(
            done,
            "0123456789abcdef  update  good  clone  Cloning from forge.example\n",
        )
        self.assertEqual(page.calls, [("plugins", "operations", {})])


class ListingTests(SynchronousTestCase):
    """Tests for ``listing``."""

    def test_without_an_id(self) -> None:
        """An install has no id yet, and one that commits can't be cancelled."""
        install = {**GOING, "op": "install", "id": None, "cancellable": False}
        self.assertTrue(
            listing([install]).endswith(
                "install  clone  Cloning from forge.example  (too late to cancel)\n"
            )
        )

    def test_nothing(self) -> None:
        """What has ended is not listed."""
        ended = {**GOING, "outcome": "done"}
        self.assertEqual(listing([ended]), "no operation is under way\n")

    def test_attack_escapes_in_a_message(self) -> None:
        """What a daemon reports does not reach the terminal as control sequences."""
        self.assertNotIn("\x1b", listing([{**GOING, "message": "\x1b[2Jx"}]))
