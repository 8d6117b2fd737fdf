"""
Tests for ``bridge.cli.commands.manage.cancel``; the whole way is in ``tests/whole``.
"""

import io
import json
import sys
from typing import Any

from attrs import define, field
from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.asking.progress import ProgressLine
from bridge.cli.asking.session import Session
from bridge.cli.commands.manage.cancel import cancel, line_of

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
class ConnectionDouble:
    """A connection that answers every call alike."""

    answer: Any
    calls: list[Any] = field(factory=list)

    def call(self, service: str, method: str, params: Any) -> Any:
        """See ``Connection``."""
        self.calls.append((service, method, params))
        return self.answer


class CancelTests(SynchronousTestCase):
    """Tests for ``cancel``."""

    def run_with(self, page: Any, operation: str, *, as_json: bool = False) -> str:
        """Run the command's work, and return what it printed."""
        printed = io.StringIO()
        self.patch(sys, "stdout", printed)
        progress = ProgressLine(io.StringIO(), False, False)
        session = Session(page, progress, as_json)
        self.assertEqual(cancel(session, operation), 0)
        return printed.getvalue()

    def test_cancel(self) -> None:
        """The named operation is cancelled."""
        page = ConnectionDouble({})
        self.assertEqual(self.run_with(page, "abc"), "cancelled\n")
        self.assertEqual(page.calls, [("plugins", "cancel", {"operation": "abc"})])

    def test_list(self) -> None:
        """Without a name, what is under way is listed; what has ended is not."""
        page = ConnectionDouble({"operations": [GOING, {**GOING, "outcome": "done"}]})
        self.assertEqual(
            self.run_with(page, ""),
            "0123456789abcdef  update  good  clone  Cloning from forge.example\n",
        )
        self.assertEqual(page.calls, [("plugins", "operations", {})])

    def test_list_as_json(self) -> None:
        """So it is as JSON, with every field."""
        page = ConnectionDouble({"operations": [GOING]})
        printed = self.run_with(page, "", as_json=True)
        self.assertEqual(json.loads(printed), {"operations": [GOING]})

    def test_nothing(self) -> None:
        """What is idle is reported as such."""
        page = ConnectionDouble({"operations": []})
        self.assertEqual(self.run_with(page, ""), "no operation is under way\n")


class LineOfTests(SynchronousTestCase):
    """Tests for ``line_of``."""

    def test_without_an_id(self) -> None:
        """An install has no id yet, and one that commits can't be cancelled."""
        install = {**GOING, "op": "install", "id": None, "cancellable": False}
        self.assertTrue(
            line_of(install).endswith(
                "install  clone  Cloning from forge.example  (too late to cancel)"
            )
        )

    def test_attack_escapes_in_a_message(self) -> None:
        """What a daemon reports does not reach the terminal as control sequences."""
        self.assertNotIn("\x1b", line_of({**GOING, "message": "\x1b[2Jx"}))
