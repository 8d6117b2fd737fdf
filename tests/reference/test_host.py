"""The page-side client, run in Node.js with a clock and a network of its own."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, cast

from twisted.trial.unittest import SynchronousTestCase

from ..npm import ROOT, esbuild, node

RUN_SECONDS: Final = 60.0


@cache
def outcomes() -> dict[str, str]:
    """What went wrong in each scenario of ``scenarios.ts``; empty where nothing did."""
    with TemporaryDirectory() as scratch:
        code = Path(scratch) / "scenarios.mjs"
        subprocess.run(
            [
                str(esbuild()),
                "tests/reference/scenarios.ts",
                "--bundle",
                "--format=esm",
                "--target=es2022",
                "--tsconfig-raw={}",
                "--platform=node",
                "--alias:@bridge/plugin-api=./bridge/reference/packages/api/src/index.ts",
                f"--outfile={code}",
                "--log-level=warning",
            ],
            cwd=ROOT,
            check=True,
            timeout=RUN_SECONDS,
        )
        run = subprocess.run(
            [node(), str(code)],
            capture_output=True,
            text=True,
            check=True,
            timeout=RUN_SECONDS,
        )
    return cast("dict[str, str]", json.loads(run.stdout))


class ScenarioTestCase(SynchronousTestCase):
    """Each test is one scenario of the same name."""

    def prove(self) -> None:
        """Fail with what went wrong in the scenario this test is named after."""
        name = self.id().rpartition(".test_")[2]
        self.assertEqual(outcomes()[name], "")


class ConnectionTests(ScenarioTestCase):
    """How the page finds the daemon, pairs, asks, and connects again."""

    def test_four_states(self) -> None:
        """The bridge card's four states follow the probe, the hello and the welcome."""
        self.prove()

    def test_health_must_be_ok(self) -> None:
        """Only a health answer with ``ok: true`` counts as a daemon."""
        self.prove()

    def test_hello_comes_first(self) -> None:
        """The hello is the first frame, and the only one before the welcome."""
        self.prove()

    def test_no_token_no_socket(self) -> None:
        """Without a token no socket is opened."""
        self.prove()

    def test_reconnect_times(self) -> None:
        """Retries come after 1, 2, 5, 15, 30, 30 s; a welcome starts them over."""
        self.prove()

    def test_absent_daemon_is_looked_for(self) -> None:
        """A daemon that is not there is looked for at the same times."""
        self.prove()

    def test_refusal_is_final(self) -> None:
        """After close 1008 nothing is retried until a re-check or another token."""
        self.prove()

    def test_refusal_after_welcome_is_final(self) -> None:
        """Close 1008 ends the retries of a welcomed socket too."""
        self.prove()

    def test_loss_is_noticed_at_once(self) -> None:
        """A lost socket is followed by a probe without waiting."""
        self.prove()

    def test_recheck_keeps_a_working_socket(self) -> None:
        """A re-check does not disturb a working connection."""
        self.prove()

    def test_slow_probe_is_overtaken(self) -> None:
        """A late answer about an old endpoint changes nothing."""
        self.prove()

    def test_old_socket_is_silent(self) -> None:
        """Messages of a socket that was given up are ignored."""
        self.prove()

    def test_deadlines(self) -> None:
        """Calls that wait for a person get 130 s, every other call 4 s."""
        self.prove()

    def test_deadline_of_a_call(self) -> None:
        """A call may have a deadline of its own."""
        self.prove()

    def test_call_waits_for_a_socket(self) -> None:
        """A call made while there is no socket is sent once there is one."""
        self.prove()

    def test_call_without_a_socket_gives_up(self) -> None:
        """Such a call gives up after 4 s and is never sent later."""
        self.prove()

    def test_nothing_is_sent_twice(self) -> None:
        """A call whose socket closes is rejected, not repeated."""
        self.prove()

    def test_answers_in_any_order(self) -> None:
        """Answers find their calls in whatever order they come."""
        self.prove()

    def test_refusals_carry_the_code(self) -> None:
        """A refusal carries the daemon's code."""
        self.prove()

    def test_nonsense_is_ignored(self) -> None:
        """Frames that make no sense are ignored."""
        self.prove()

    def test_pushes_are_passed_on(self) -> None:
        """A push reaches every listener, with its data."""
        self.prove()


class LogTests(ScenarioTestCase):
    """How log lines reach the daemon."""

    def test_log_frames_are_gathered(self) -> None:
        """Lines are gathered for 250 ms, at most 200 in a frame."""
        self.prove()

    def test_log_keeps_the_newest_offline(self) -> None:
        """Without a connection the newest 500 lines wait."""
        self.prove()

    def test_log_never_mirrors_the_daemon(self) -> None:
        """The daemon's own lines are never sent back to it."""
        self.prove()


class EndpointTests(ScenarioTestCase):
    """Which endpoints the page talks to."""

    def test_endpoints(self) -> None:
        """An endpoint is this computer by http, and nothing else."""
        self.prove()

    def test_fragment_names_an_endpoint(self) -> None:
        """The address's fragment may name the endpoint."""
        self.prove()

    def test_link_cannot_take_the_token(self) -> None:
        """A link to another endpoint does not get the token shown there."""
        self.prove()


class SettingsTests(ScenarioTestCase):
    """A plugin's settings."""

    def test_settings_are_written_in_order(self) -> None:
        """Writes go one after another, and of quick ones the last counts."""
        self.prove()

    def test_setting_changed_while_written(self) -> None:
        """A value set while its key is being written is written too."""
        self.prove()

    def test_settings_of_another_type(self) -> None:
        """A stored value of another type than the fallback is not returned."""
        self.prove()

    def test_failed_write_is_reported(self) -> None:
        """A write the daemon refuses rejects, and does not stop the next."""
        self.prove()


class PermissionTests(ScenarioTestCase):
    """What a plugin may do with the daemon."""

    def test_only_notify(self) -> None:
        """Naming any service but ``notify`` is refused before anything is sent."""
        self.prove()

    def test_undeclared_permission(self) -> None:
        """Without ``native`` in the manifest nothing is sent."""
        self.prove()

    def test_grants_are_asked_for_once(self) -> None:
        """The user is asked once for each method; the daemon keeps the yes."""
        self.prove()

    def test_a_no_is_for_this_page(self) -> None:
        """A no lasts until the page is left, and is not kept."""
        self.prove()

    def test_notify_does_not_reject(self) -> None:
        """A notification that fails is reported in its result."""
        self.prove()


class PluginTests(ScenarioTestCase):
    """The plugins and what the page shows about them."""

    def test_list_of_plugins(self) -> None:
        """The list distinguishes running, changed, broken and removed plugins."""
        self.prove()

    def test_nonsense_from_the_daemon(self) -> None:
        """Lists and reports of the wrong shape are read as empty."""
        self.prove()

    def test_plain_words(self) -> None:
        """Refusals and steps are reported in plain words."""
        self.prove()


class CompletenessTests(SynchronousTestCase):
    """The tests above and the scenarios are the same."""

    def test_every_scenario_has_a_test(self) -> None:
        """No scenario is forgotten here."""
        tests = {
            name.removeprefix("test_")
            for case in ScenarioTestCase.__subclasses__()
            for name in vars(case)
            if name.startswith("test_")
        }
        self.assertEqual(tests, set(outcomes()))
