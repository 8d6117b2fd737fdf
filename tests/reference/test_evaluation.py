"""Evaluating snippets in the page; in a browser, see ``tests/whole/test_remote.py``."""

from __future__ import annotations

from .test_host import ScenarioTestCase


class EvaluationTests(ScenarioTestCase):
    """What a snippet gives, and how it is answered."""

    def test_snippet_is_an_async_body(self) -> None:
        """It may await, and uses what is in scope by name."""
        self.prove()

    def test_snippet_that_throws(self) -> None:
        """What is thrown is reported by name and message, cut, and well-formed."""
        self.prove()

    def test_snippet_sleeps(self) -> None:
        """``sleep`` waits."""
        self.prove()

    def test_value_that_will_not_serialise(self) -> None:
        """Such a value is its string form; nothing is null."""
        self.prove()

    def test_value_that_is_no_text(self) -> None:
        """Halves of surrogate pairs, which the daemon refuses, are replaced."""
        self.prove()

    def test_value_that_is_too_long(self) -> None:
        """A long value is given by the length and the head of its JSON."""
        self.prove()

    def test_snippet_is_answered(self) -> None:
        """A pushed snippet is answered under its id."""
        self.prove()

    def test_snippet_without_a_usable_id(self) -> None:
        """It is ignored with a warning."""
        self.prove()

    def test_answer_the_daemon_refuses(self) -> None:
        """It is reported in its place; when even that fails, it is logged."""
        self.prove()


class TurnTests(ScenarioTestCase):
    """Many things, few at once."""

    def test_work_in_turn(self) -> None:
        """Never more than so many run, in order, and one that fails stops none."""
        self.prove()
