"""Plugins on the page: starting, switches, safe mode, settings and permissions."""

from __future__ import annotations

from .test_host import ScenarioTestCase


class StartTests(ScenarioTestCase):
    """Starting plugins."""

    def test_plugins_are_isolated(self) -> None:
        """A plugin that fails, or throws while it is loaded, keeps no other from starting."""
        self.prove()

    def test_evaluated_entries(self) -> None:
        """A table of evaluated plugins works too."""
        self.prove()

    def test_plugin_waits_for_its_settings(self) -> None:
        """A plugin whose settings can't be read starts with the next connection."""
        self.prove()

    def test_slow_plugin_delays_no_other(self) -> None:
        """A plugin whose start takes long delays no other."""
        self.prove()

    def test_views_are_notified(self) -> None:
        """Views are notified of changes until they end that."""
        self.prove()

    def test_uninstalled_plugin_is_forgotten(self) -> None:
        """The switch and the grants of an uninstalled plugin are removed."""
        self.prove()


class SwitchTests(ScenarioTestCase):
    """Switching plugins off and on."""

    def test_unknown_switches_start_nothing(self) -> None:
        """No plugin starts before the switches are known."""
        self.prove()

    def test_disabled_plugin_is_not_evaluated(self) -> None:
        """A plugin that is off is not evaluated until it is switched on."""
        self.prove()

    def test_switched_off_at_once(self) -> None:
        """A plugin with ``deactivate`` stops at once, and its context with it."""
        self.prove()

    def test_switched_off_after_a_reload(self) -> None:
        """A plugin without it runs until the page is reloaded."""
        self.prove()

    def test_deactivate_that_fails(self) -> None:
        """A plugin that fails to stop, or never ends, cannot start again."""
        self.prove()

    def test_switch_that_is_not_saved(self) -> None:
        """A switch that cannot be saved does not move."""
        self.prove()

    def test_switched_off_while_it_starts(self) -> None:
        """A plugin that is switched off while it starts is stopped then."""
        self.prove()


class SafeModeTests(ScenarioTestCase):
    """The page without plugins."""

    def test_safe_mode_by_the_address(self) -> None:
        """In safe mode no plugin starts until it is left."""
        self.prove()

    def test_safe_mode_after_two_broken_pages(self) -> None:
        """A plugin that froze the page twice is named, and held."""
        self.prove()

    def test_safe_mode_with_several_suspects(self) -> None:
        """When several may have broken it, none is named."""
        self.prove()

    def test_marks_of_a_page_that_works(self) -> None:
        """A mark lasts ten seconds, or until the page is left in good order."""
        self.prove()

    def test_marks_that_make_no_sense(self) -> None:
        """Marks of another form are ignored, and a full store stops nothing."""
        self.prove()


class GrantTests(ScenarioTestCase):
    """What the user allowed."""

    def test_permissions_of_a_plugin(self) -> None:
        """Permissions are listed in words, risky ones first, with what was allowed."""
        self.prove()

    def test_revoked_permission_is_asked_for_again(self) -> None:
        """A revoked permission is asked for again."""
        self.prove()
