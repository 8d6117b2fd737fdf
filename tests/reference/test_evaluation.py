"""Evaluating snippets in the page; in a browser, see ``tests/whole/test_remote.py``."""

from __future__ import annotations

from .test_host import ScenarioTestCase


class EvaluationTests(ScenarioTestCase):
    """What a snippet returns; the client's tests cover how it is answered."""

    def test_snippet_is_an_async_body(self) -> None:
        """It may await, and uses what is in scope by name."""
        self.prove()

    def test_snippet_that_throws(self) -> None:
        """What it throws comes out as it is; it may not even be JavaScript."""
        self.prove()

    def test_snippet_sleeps(self) -> None:
        """``sleep`` waits."""
        self.prove()


class TurnTests(ScenarioTestCase):
    """Many things, few at once."""

    def test_work_in_turn(self) -> None:
        """Never more than so many run, in order, and one that fails stops none."""
        self.prove()
