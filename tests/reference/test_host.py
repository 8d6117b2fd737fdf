"""The page's log, endpoints, settings and permissions, run in Node.js."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, cast

from twisted.trial.unittest import SynchronousTestCase

from ..npm import ROOT, esbuild, modules, run_node

HERE: Final = Path(__file__).parent
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
            env={**os.environ, "NODE_PATH": str(modules())},
            check=True,
            timeout=RUN_SECONDS,
        )
        printed = run_node(code)
    return cast("dict[str, str]", json.loads(printed))


class ScenarioTestCase(SynchronousTestCase):
    """Each test is one scenario of the same name."""

    def prove(self) -> None:
        """Fail with what went wrong in the scenario this test is named after."""
        name = self.id().rpartition(".test_")[2]
        self.assertEqual(outcomes()[name], "")


class LogTests(ScenarioTestCase):
    """The page's log."""

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

    def test_link_pairs_the_page(self) -> None:
        """The address's fragment may have the token; it is kept once it is accepted."""
        self.prove()

    def test_attack_link_that_unpairs_the_page(self) -> None:
        """A token that is refused does not replace the one that was accepted."""
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

    def test_attack_method_that_changes(self) -> None:
        """The method that is called is the one that the user was asked about."""
        self.prove()

    def test_attack_method_by_another_name(self) -> None:
        """A method whose name has more in it than letters is not asked about."""
        self.prove()

    def test_undeclared_permission(self) -> None:
        """Without ``native`` in the manifest nothing is sent."""
        self.prove()

    def test_grants_are_asked_for_once(self) -> None:
        """The user is asked once for each method; the daemon keeps the yes."""
        self.prove()

    def test_a_no_is_not_kept(self) -> None:
        """A no sends nothing, and the daemon does not keep it."""
        self.prove()

    def test_attack_sender_of_its_own_choice(self) -> None:
        """A notification names the plugin that sends it, whatever the plugin says."""
        self.prove()

    def test_notify_does_not_reject(self) -> None:
        """A notification that fails is reported in its result."""
        self.prove()


class CompletenessTests(SynchronousTestCase):
    """The tests above and the scenarios are the same."""

    def test_every_scenario_has_a_test(self) -> None:
        """No scenario is forgotten, whichever of the modules are run."""
        for path in HERE.glob("test_*.py"):
            import_module(f"{__package__}.{path.stem}")
        tests = {
            name.removeprefix("test_")
            for case in ScenarioTestCase.__subclasses__()
            for name in vars(case)
            if name.startswith("test_")
        }
        self.assertEqual(tests, set(outcomes()))
