"""The context that unit tests of plugins use, run in Node.js."""

from __future__ import annotations

from .test_host import ScenarioTestCase


class KitTests(ScenarioTestCase):
    """Tests for ``fakeContext``."""

    def test_kit_settings(self) -> None:
        """Settings obey the plugin's schema."""
        self.prove()

    def test_kit_saved_by_the_user(self) -> None:
        """What the user saves is validated, and listeners are notified."""
        self.prove()

    def test_kit_permissions(self) -> None:
        """Without its permission, every call rejects."""
        self.prove()

    def test_kit_cards(self) -> None:
        """Cards show what was added; a button that fails writes a log line."""
        self.prove()

    def test_kit_fields(self) -> None:
        """Tests write into fields as users do, under the same rules."""
        self.prove()

    def test_kit_shown_data(self) -> None:
        """Tables, progress bars and images are recorded, under the page's rules."""
        self.prove()

    def test_kit_http(self) -> None:
        """Requests are recorded, and answered as the test prepares it."""
        self.prove()

    def test_kit_osc(self) -> None:
        """Messages are recorded with the types they have on the wire."""
        self.prove()

    def test_kit_sql_and_native(self) -> None:
        """Statements and notifications are answered as the test prepares it."""
        self.prove()

    def test_kit_switched_off(self) -> None:
        """A plugin that is off has no cards and no listeners, and is refused."""
        self.prove()
