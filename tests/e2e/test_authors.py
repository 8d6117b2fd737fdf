"""What the template of a new plugin has; test_commands types what its README names."""

from twisted.trial.unittest import SynchronousTestCase

from ..npm import ROOT, npm, tsc
from .daemon import HomeCase, ended, run, set_up

WORKFLOWS = ROOT / "bridge" / "reference" / "template" / "github" / "workflows"


class AuthorTests(HomeCase):
    def setUp(self):
        """A data directory that is set up, and a new plugin."""
        super().setUp()
        set_up(self.home)
        self.plugin = self.home / "my-plugin"
        more = {"BRIDGE_DATA_DIR": str(self.data)}
        done = run(self.home, "new", str(self.plugin), more=more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_its_own_tests(self):
        """They find what is not as they say; it passes the strict compiler."""
        compiled = tsc(self.plugin / "tsconfig.json")
        self.assertEqual((compiled.returncode, compiled.stdout), (0, ""))
        tests = (self.plugin / "tests" / "main.test.ts").read_text("utf-8")
        written = tests.count("\ntest(")
        source = self.plugin / "main.ts"
        source.write_text(source.read_text().replace("It works.", "Something else."))
        more = {"npm_config_update_notifier": "false"}
        done = ended(self.plugin, [npm(), "test"], more)
        report = done.stdout + done.stderr
        self.assertEqual(done.returncode, 1, report)
        self.assertRegex(report, rf"(?m)^\S+ pass {written - 1}$")


class WorkflowTests(SynchronousTestCase):
    def test_signing_workflow(self):
        """It starts by hand only; one step of a protected job has the key."""
        text = (WORKFLOWS / "sign.yml").read_text()
        head = text.partition("jobs:")[0]
        self.assertIn("on:\n  workflow_dispatch:\n\n", head)
        self.assertIn("    environment: signing\n", text)
        self.assertEqual(text.count("secrets."), 1)
        self.assertIn("BRIDGE_SIGNING_KEY: ${{ secrets.SIGNING_KEY }}", text)
        step = text.partition("name: Sign\n")[2].partition("- name:")[0]
        self.assertIn("secrets.SIGNING_KEY", step)

    def test_workflows_run_nobodys_moving_code(self):
        """Actions are named by their commit, and only the signing one may write."""
        for path in sorted(WORKFLOWS.iterdir()):
            text = path.read_text()
            for line in text.splitlines():
                if "uses:" in line:
                    self.assertRegex(line, r"uses: actions/checkout@[0-9a-f]{40} # v")
                if "run:" in line:
                    self.assertNotIn("${{", line)
            granted = "contents: write" if path.name == "sign.yml" else "contents: read"
            self.assertIn(f"permissions:\n  {granted}\n\n", text)
