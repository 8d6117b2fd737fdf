"""The shares of plugins in what the page has once, in Node.js."""

from __future__ import annotations

from .test_host import ScenarioTestCase


class ShareTests(ScenarioTestCase):
    """One plugin that takes all that it can get, and others that lose nothing."""

    def test_a_clock_that_is_set_back(self) -> None:
        """It gives nothing, and takes nothing back."""
        self.prove()

    def test_attack_calls_that_starve_others(self) -> None:
        """Plugins take turns, at a rate that leaves the page a share."""
        self.prove()

    def test_attack_calls_that_nothing_answers(self) -> None:
        """A plugin has eight calls under way; a closed one sends nothing more."""
        self.prove()

    def test_attack_calls_that_wait_for_a_connection(self) -> None:
        """With the next one they take turns after the page; else they are refused."""
        self.prove()

    def test_attack_log_that_hides_what_happened(self) -> None:
        """Lines beyond a plugin's share are counted in one line."""
        self.prove()

    def test_attack_settings_that_fill_the_store(self) -> None:
        """A plugin's settings have a megabyte."""
        self.prove()
