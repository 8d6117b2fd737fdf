"""The commands that manage a daemon without its page, as a user types them."""

import json

from ..plugins.operations.bench import manifest
from .daemon import run
from .test_install import InstallCase, tree

NO_DAEMON = 3


class ManageTests(InstallCase):
    def type(self, name, *arguments):
        """Run a command of the data directory until it ends."""
        return run(self.home, name, *self.where, *arguments)

    def done(self, name, *arguments):
        """Run a command that succeeds; gives its JSON."""
        done = self.type(name, "--json", *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def test_life_of_a_plugin(self):
        """Install, list, status, switch off and on, update, and uninstall."""
        files = tree("good")
        url = self.publish("good", files, signed_at=1_700_000_000)
        with self.daemon("--dev"):
            nothing = self.type("list")
            self.assertEqual(nothing.stdout, "no plugin is installed\n")
            plugin = self.done("install", url)["plugin"]
            self.assertEqual(plugin["id"], "good")
            self.done("disable", "good")
            listed = self.type("list")
            self.assertEqual(
                listed.stdout,
                "ID    NAME      VERSION  STATE\ngood  A plugin  1.0.0    off\n",
            )
            state = json.loads((self.data / "state.json").read_text())
            self.assertIs(state["host"]["enabled:good"], False)
            self.done("enable", "good")
            (entry,) = self.done("list")["plugins"]
            self.assertIs(entry["enabled"], True)
            shown = self.type("status")
            self.assertEqual(shown.returncode, 0)
            self.assertIn("plugins: 1\n", shown.stdout)
            built = rf"\nbundle: {self.bundle}, built \d{{4}}-.*Z\n"
            self.assertRegex(shown.stdout, built)
            self.assertIn("EVERY operation is approved", shown.stdout)
            self.assertEqual(self.done("update")["updates"], [])

            files["plugin.json"] = manifest("good", version="1.1.0")
            self.publish("good", files)
            listed = self.type("update")
            self.assertRegex(listed.stdout, r"\ngood  1.0.0 → 1.1.0  \S")
            updated = self.type("update", "--all")
            self.assertEqual(updated.stdout, "good is at 1.1.0\n")

            self.done("disable", "good")
            (key,) = self.done("keys")["keys"]
            self.assertEqual(key["installed"], ["good"])
            self.bundle.parent.chmod(0o777)
            failed = self.type("uninstall", "good")
            said = "uninstalled good, but the bundle still has it: "
            self.assertTrue(failed.stdout.startswith(said), failed.stdout)
            self.assertEqual(failed.returncode, 1)
            self.bundle.parent.chmod(0o700)
            self.assertIn("as the last build failed: ", self.type("status").stdout)
            self.done("forget-key", key["keyId"])
            self.assertEqual(self.type("keys").stdout, "no key is accepted\n")
        state = json.loads((self.data / "state.json").read_text())
        self.assertNotIn("enabled:good", state.get("host", {}))
        self.assertEqual(self.type("status").returncode, NO_DAEMON)
