"""Plugins on the page: starting, switches, safe mode, settings and permissions."""

from __future__ import annotations

from .test_host import ScenarioTestCase


class StartTests(ScenarioTestCase):
    """Starting plugins."""

    def test_plugins_are_isolated(self) -> None:
        """One that fails, or throws while it is loaded, stops no other."""
        self.prove()

    def test_attack_module_that_never_loads(self) -> None:
        """A module that is a promise without an end fails alone."""
        self.prove()

    def test_plugin_waits_for_its_settings(self) -> None:
        """A plugin whose settings can't be read starts with the next connection."""
        self.prove()

    def test_slow_plugin_delays_no_other(self) -> None:
        """A plugin whose start takes long delays no other."""
        self.prove()

    def test_dependencies_start_first(self) -> None:
        """A plugin starts after those it depends on, or not at all."""
        self.prove()

    def test_views_are_notified(self) -> None:
        """Views are notified of changes until they end that."""
        self.prove()

    def test_attack_grants_of_a_removed_plugin(self) -> None:
        """A plugin of another author with the same id does not inherit them."""
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

    def test_switched_on_while_it_stops(self) -> None:
        """A plugin that is on again when it has stopped starts again."""
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


class GrantTests(ScenarioTestCase):
    """What the user allowed."""

    def test_permissions_of_a_plugin(self) -> None:
        """Permissions are listed in words, risky ones first, with what was allowed."""
        self.prove()

    def test_attack_grant_that_another_page_revoked(self) -> None:
        """What another page has revoked does not come back with the next grant."""
        self.prove()

    def test_revoked_permission_is_asked_for_again(self) -> None:
        """A revoked permission is asked for again."""
        self.prove()


class ContextTests(ScenarioTestCase):
    """What a plugin reaches through its context."""

    def test_undeclared_services(self) -> None:
        """Without the permission no question is asked, and nothing is sent."""
        self.prove()

    def test_http_asks_for_each_host(self) -> None:
        """The user is asked once for each host, and reads which is undeclared."""
        self.prove()

    def test_http_requests_and_responses(self) -> None:
        """A request is passed on with its limits, and the response is read."""
        self.prove()

    def test_attack_urls_that_hide_their_host(self) -> None:
        """The host in the question is the one that is contacted."""
        self.prove()

    def test_osc_of_several_listeners(self) -> None:
        """The port is held from the first listener to the last."""
        self.prove()

    def test_attack_message_for_another_plugin(self) -> None:
        """A plugin that gets a message cannot change what the next one gets."""
        self.prove()

    def test_osc_is_sent(self) -> None:
        """A message is sent with its kinds."""
        self.prove()

    def test_osc_ends_with_its_permission(self) -> None:
        """Revoking, or switching off, ends the plugin's listeners."""
        self.prove()

    def test_osc_port_that_is_taken(self) -> None:
        """A listener whose port cannot be held is not kept."""
        self.prove()

    def test_sql_statements(self) -> None:
        """Databases are listed and read after one question."""
        self.prove()

    def test_attack_grant_after_the_switch(self) -> None:
        """A yes that comes after the plugin was switched off allows nothing."""
        self.prove()

    def test_grant_that_is_not_saved(self) -> None:
        """A yes that cannot be saved is not used; the user is asked again."""
        self.prove()

    def test_grants_of_two_hosts_at_once(self) -> None:
        """Neither of two grants at once is lost."""
        self.prove()

    def test_permission_words(self) -> None:
        """The words fit in prompts and in sentences."""
        self.prove()


class SchemaTests(ScenarioTestCase):
    """Settings that a plugin declares."""

    def test_settings_of_a_schema(self) -> None:
        """A schema has defaults; the form saves, resets, and notifies the plugin."""
        self.prove()

    def test_settings_that_break_the_schema(self) -> None:
        """A value that is not allowed changes nothing and names the rule."""
        self.prove()

    def test_stored_settings_of_an_older_schema(self) -> None:
        """A stored value that is not allowed any more counts as the default."""
        self.prove()

    def test_settings_that_are_not_saved(self) -> None:
        """A form that cannot be saved leaves the old values."""
        self.prove()

    def test_settings_listener_that_fails(self) -> None:
        """A plugin's listener that throws is logged."""
        self.prove()

    def test_attack_choices_that_change(self) -> None:
        """The choices that are shown are those that were checked: texts."""
        self.prove()

    def test_attack_keys_that_all_objects_have(self) -> None:
        """A field that every form has is refused; the page would not show it."""
        self.prove()

    def test_schemas_that_break_a_rule(self) -> None:
        """Every rule of a schema is enforced, by field and rule."""
        self.prove()

    def test_values_of_fields(self) -> None:
        """Every kind of field checks its values."""
        self.prove()
