"""What plugins ask the user, what is kept of the answers, and names, in Node.js."""

from __future__ import annotations

from .test_host import ScenarioTestCase


class QuestionTests(ScenarioTestCase):
    """The questions of plugins."""

    def test_attack_questions_without_end(self) -> None:
        """One question of a plugin waits at a time, and two noes end them."""
        self.prove()

    def test_a_no_is_for_this_page(self) -> None:
        """The same is not asked again before the page is left."""
        self.prove()

    def test_attack_double_click_on_a_question(self) -> None:
        """A press counts for a question that was shown for half a second."""
        self.prove()

    def test_questions_of_a_plugin_that_stops(self) -> None:
        """They go, and count as no answer of the user's."""
        self.prove()

    def test_attack_names_that_mislead(self) -> None:
        """Names are cut and isolated; one that another has is shown with its id."""
        self.prove()

    def test_attack_ids_of_the_page_and_the_daemon(self) -> None:
        """No plugin of the bundle has an id that is theirs in the log."""
        self.prove()


class GrantTests(ScenarioTestCase):
    """What the user allowed, by id and key."""

    def test_attack_same_id_of_another_author(self) -> None:
        """A plugin that is signed with another key inherits nothing."""
        self.prove()

    def test_attack_older_bundle_deletes_grants(self) -> None:
        """A page that was loaded earlier removes and replaces no newer grants."""
        self.prove()

    def test_grants_without_a_key(self) -> None:
        """Those of earlier versions become the installed plugin's."""
        self.prove()

    def test_grants_wait_for_the_list(self) -> None:
        """Nothing is allowed before the daemon has listed what is installed."""
        self.prove()
