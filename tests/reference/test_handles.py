"""The handles that plugins get instead of elements, run in Node.js."""

from __future__ import annotations

from .test_host import ScenarioTestCase


class HandleTests(ScenarioTestCase):
    """What handles do."""

    def test_handles_draw_every_part(self) -> None:
        """Every part is drawn, and changed by its handle."""
        self.prove()

    def test_handles_are_removed(self) -> None:
        """What was removed is gone, and its handle does nothing."""
        self.prove()

    def test_handles_have_limits(self) -> None:
        """Numbers and lengths are bounded; an error names the rule."""
        self.prove()

    def test_handles_report_what_fails(self) -> None:
        """What a plugin throws goes to its log, whatever it is."""
        self.prove()

    def test_handles_of_fields(self) -> None:
        """Fields pass on what they accept, and show what is wrong otherwise."""
        self.prove()


class HandleAttackTests(ScenarioTestCase):
    """What a plugin can't do with them."""

    def test_attack_event_is_plain_data(self) -> None:
        """An event has a value, and nothing that leads to an element."""
        self.prove()

    def test_attack_listener_has_no_this(self) -> None:
        """Listeners are called without an object of the host."""
        self.prove()

    def test_attack_value_that_changes(self) -> None:
        """What a plugin passes is read once; it does not matter what it becomes."""
        self.prove()

    def test_attack_markup_is_text(self) -> None:
        """Markup is shown as it is written."""
        self.prove()

    def test_attack_image_by_address(self) -> None:
        """An image is of the plugin's own bytes; no address is fetched."""
        self.prove()
