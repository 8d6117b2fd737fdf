"""The realms of plugins, from both sides of their port, and the policy they need."""

from __future__ import annotations

import base64
import hashlib
import re

from twisted.trial.unittest import SynchronousTestCase

from .bundling import REFERENCE
from .test_host import ScenarioTestCase


class PortTests(ScenarioTestCase):
    """What the code of a plugin can send, past our runtime."""

    def test_attack_messages_of_another_shape(self) -> None:
        """One message that the runtime never sends ends the plugin, and no other."""
        self.prove()

    def test_attack_flood_of_messages(self) -> None:
        """More messages or characters than its share end the plugin."""
        self.prove()

    def test_attack_calls_beyond_their_number(self) -> None:
        """So do more calls than eight without an answer, or a number used twice."""
        self.prove()

    def test_attack_breach_after_a_while(self) -> None:
        """A plugin that has run is shown as stopped, and can be switched off."""
        self.prove()

    def test_attack_messages_after_the_end(self) -> None:
        """What a plugin sends after it was switched off is not heard."""
        self.prove()


class RuntimeTests(ScenarioTestCase):
    """What the realm's runtime does for a plugin."""

    def test_honest_floods_stay_within_the_share(self) -> None:
        """A plugin that logs, draws and calls in a loop is slowed down, not ended."""
        self.prove()

    def test_a_call_that_is_too_large(self) -> None:
        """It is refused in the realm, as is what is no JSON."""
        self.prove()

    def test_calls_that_wait_for_others(self) -> None:
        """Eight are on their way, 256 more wait, and the rest are refused."""
        self.prove()

    def test_settings_changed_by_both(self) -> None:
        """A value that is being written survives what the user saves meanwhile."""
        self.prove()

    def test_cards_drawn_from_changes(self) -> None:
        """Cards and what users do with them are the same on both sides."""
        self.prove()

    def test_events_on_their_way(self) -> None:
        """In front of a realm that does not listen, little piles up."""
        self.prove()

    def test_places_of_errors(self) -> None:
        """An error names the source and the line, in each browser's words."""
        self.prove()


class EndTests(ScenarioTestCase):
    """How realms end."""

    def test_frame_that_dies(self) -> None:
        """When all realms end at once, each plugin is started again."""
        self.prove()

    def test_attack_memory_that_ends_all(self) -> None:
        """What ends them twice alone is named, can be started, and the others go on."""
        self.prove()

    def test_memory_that_ends_only_with_another(self) -> None:
        """A plugin that never ended them alone is not named."""
        self.prove()

    def test_only_plugin_whose_process_ends(self) -> None:
        """A page's only plugin is named when that happens soon again."""
        self.prove()

    def test_memory_and_dependencies(self) -> None:
        """A plugin is tried without those that it depends on."""
        self.prove()

    def test_realm_that_does_not_answer(self) -> None:
        """It is shown as silent, and can be switched off."""
        self.prove()

    def test_uninstalled_elsewhere(self) -> None:
        """A plugin that another page or a command has uninstalled ends."""
        self.prove()

    def test_attack_settings_that_come_back(self) -> None:
        """What a plugin wrote while it was uninstalled is removed as well."""
        self.prove()

    def test_page_that_is_left(self) -> None:
        """A page that is left ends all."""
        self.prove()

    def test_watch_of_a_hidden_page(self) -> None:
        """While a page is hidden, no realm is asked, and none is silent."""
        self.prove()


class PolicyTests(SynchronousTestCase):
    """The policies of the page and of the frame."""

    def test_hash_of_the_bootstrap(self) -> None:
        """Both name the script of the frame, and the page's allows no more for it."""
        source = REFERENCE / "packages" / "host" / "src" / "realm" / "bootstrap.ts"
        text = source.read_text("utf-8")
        script = re.search(r"BOOTSTRAP = `([^`\\$]*)`;", text)
        assert script is not None
        digest = hashlib.sha256(script[1].encode()).digest()
        name = f"sha256-{base64.b64encode(digest).decode()}"
        self.assertIn(f'BOOTSTRAP_HASH = "{name}"', text)
        page = (REFERENCE / "page" / "index.html").read_text("utf-8")
        policy = re.search(r'content="(default-src[^"]*)"', page)
        assert policy is not None
        rules = [rule.strip() for rule in policy[1].split(";")]
        self.assertIn(f"script-src 'self' '{name}'", rules)
        self.assertIn("worker-src blob:", rules)
        self.assertEqual(rules[0], "default-src 'none'")
