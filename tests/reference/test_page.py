"""The plugin manager of the reference page, without its views, run in Node.js."""

from __future__ import annotations

from .test_host import ScenarioTestCase


class PageTests(ScenarioTestCase):
    """What the page knows about plugins, and does with them."""

    def test_suggested_addresses(self) -> None:
        """Short forms, SSH addresses and addresses of branches get a suggestion."""
        self.prove()

    def test_shown_addresses(self) -> None:
        """A repository is shown by host and path; only web addresses become links."""
        self.prove()

    def test_routes(self) -> None:
        """A route and its fragment are the same; anything else is none."""
        self.prove()

    def test_a_plugin_has_one_row(self) -> None:
        """Whatever is known of a plugin, it is listed once, with one state."""
        self.prove()

    def test_rows_before_the_daemon_answered(self) -> None:
        """Until the daemon lists the plugins, those of the bundle are shown."""
        self.prove()

    def test_plugins_that_do_not_answer(self) -> None:
        """One that is silent, or held because all stopped, is shown as such."""
        self.prove()

    def test_changed_files_of_one_version(self) -> None:
        """A plugin that was installed again may have the same version."""
        self.prove()

    def test_search_and_tags(self) -> None:
        """The search finds words in any field; a tag leaves those that have it."""
        self.prove()

    def test_nonsense_from_the_daemon(self) -> None:
        """Results of the wrong shape are read as empty."""
        self.prove()

    def test_what_an_update_gains(self) -> None:
        """An update gains whatever it declares beyond the installed version."""
        self.prove()

    def test_failures_in_words(self) -> None:
        """Failures and steps are reported in plain words, with the rest as details."""
        self.prove()

    def test_connection_in_words(self) -> None:
        """Each state of the connection has its words, and each is announced once."""
        self.prove()

    def test_everything_is_read_after_each_connection(self) -> None:
        """A connection is followed by one reading; a stall is not."""
        self.prove()

    def test_updates_are_looked_for_daily(self) -> None:
        """Updates are looked for once a day, unless that is switched off."""
        self.prove()

    def test_updates_do_not_stay(self) -> None:
        """An update that is installed or skipped is no longer counted."""
        self.prove()

    def test_an_install_in_steps(self) -> None:
        """An install is pinned to the preview, remembered, followed and announced."""
        self.prove()

    def test_a_list_that_comes_late(self) -> None:
        """An operation that has ended is not under way again by an older list."""
        self.prove()

    def test_a_refused_install(self) -> None:
        """A refusal is announced at once, and can be dismissed."""
        self.prove()

    def test_a_cancelled_operation(self) -> None:
        """Cancelling names the daemon's operation, once that is known."""
        self.prove()

    def test_too_late_to_cancel(self) -> None:
        """An operation that can no longer be cancelled goes on."""
        self.prove()

    def test_an_install_found_again_after_a_reload(self) -> None:
        """After a reload, the page shows its own operation and how it ends."""
        self.prove()

    def test_operations_of_other_pages(self) -> None:
        """Those of other pages are shown while they run; previews are not."""
        self.prove()

    def test_a_removal(self) -> None:
        """A removal is followed by its name, until it is done; builds are none."""
        self.prove()

    def test_update_all_goes_on(self) -> None:
        """A failure does not keep the other updates from being made."""
        self.prove()

    def test_a_switch_that_is_not_saved(self) -> None:
        """A switch that could not be saved is reported, and where it stands."""
        self.prove()

    def test_what_a_reload_does(self) -> None:
        """What a reload is of use for is said of what waits for it."""
        self.prove()

    def test_names_of_plugins(self) -> None:
        """Plugins are listed in natural order, and equal names with their ids."""
        self.prove()

    def test_lines_from_before_a_reload(self) -> None:
        """The log has the newest lines of the page before."""
        self.prove()

    def test_a_failed_build(self) -> None:
        """A failed build is shown until one succeeds."""
        self.prove()

    def test_unsaved_changes_hold_the_page(self) -> None:
        """Unsaved settings are left only after a question."""
        self.prove()

    def test_questions_one_after_another(self) -> None:
        """Questions wait for each other."""
        self.prove()

    def test_log_filter(self) -> None:
        """The log is filtered by level, scope and words."""
        self.prove()

    def test_diagnostics_hold_no_secrets(self) -> None:
        """The report has no token, path of an address or home directory."""
        self.prove()
