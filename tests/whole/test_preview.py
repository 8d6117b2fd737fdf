"""Previews, pinned installs and operations of a real daemon, with a real git server."""

import socket
from typing import Any

from ..forge import RogueServer
from ..waiting import wait_until
from .daemon import run, running
from .test_install import InstallCase, manifest, tree

REF = "page-chose-this-name-1"


class PreviewCase(InstallCase):
    """Has a daemon's directory and a git server."""

    def slow_host(self):
        """A git server that never finishes its answer."""

        def script(first, body):
            server.pause(60)
            yield b""

        server = RogueServer(script, self.home / "rogue.pem")
        self.addCleanup(server.stop)
        return server

    def trusting(self, server, *options):
        """A daemon that trusts such a server."""
        return running(self.home, f"--ca-file={server.ca_file}", *options)

    def trees(self):
        """The names of the trees."""
        return sorted(path.name for path in (self.data / "plugins").iterdir())

    def version(self, version, **fields):
        """Publish a version of ``good``."""
        text = manifest("good", version=version, **fields)
        return self.publish("good", {**tree("good"), "plugin.json": text})

    def preview(self, page, **params):
        """Preview; the result and its pin."""
        shown = page.result("plugins", "preview", params)
        return shown, {"commit": shown["commit"], "digest": shown["digest"]}

    def begin(self, page, method, params):
        """Send a request without waiting for its answer."""
        frame = {"type": "request", "id": "begun", "service": "plugins"}
        page.send({**frame, "method": method, "params": params})

    def under_way(self, page, outcome=None):
        """Wait until the one operation has this outcome."""
        operations: list[Any] = []

        def has_outcome() -> bool:
            operations[:] = page.result("plugins", "operations")["operations"]
            return bool(operations) and operations[0].get("outcome") == outcome

        wait_until(has_outcome, pause=0.3)
        return operations[0]


class PreviewTests(PreviewCase):
    """Tests for what a preview shows, and for what follows it."""

    def test_what_was_previewed_is_installed(self):
        """The pinned install takes the tree that was shown, and no later one."""
        url = self.version("1.0.0", permissions=["network"], hosts=["x.example"])
        with self.daemon("--dev") as daemon, daemon.page() as page:
            shown, pin = self.preview(page, url=url)
            self.assertEqual(shown["manifest"]["hosts"], ["x.example"])
            self.assertEqual(shown["changes"]["permissions"]["gained"], ["network"])
            self.assertFalse(shown["key"]["trusted"])
            self.assertEqual(page.result("plugins", "list")["plugins"], [])
            (kept,) = self.trees()
            self.assertTrue(kept.startswith(".tmp-"))
            self.version("1.1.0")
            named = {"url": url, "pin": pin, "ref": REF}
            plugin = page.result("plugins", "install", named)["plugin"]
            self.assertEqual(
                (plugin["version"], plugin["commit"]), ("1.0.0", pin["commit"])
            )
            self.assertEqual(page.result("plugins", "install", named)["plugin"], plugin)
            self.assertEqual(self.trees(), ["good"])
            self.assertIn("Marker of good", self.bundle.read_text())

    def test_attack_probing_the_network(self):
        """Without a confirmed prompt, no private host sees a connection."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.setblocking(False)
            port = listening.getsockname()[1]
            with self.daemon() as daemon, daemon.page() as page:
                for host in ("127.0.0.1", "localhost", "2130706433", "[::1]"):
                    url = f"https://{host}:{port}/x.git"
                    message = page.refusal("plugins", "preview", {"url": url})
                    self.assertTrue(message.startswith("private_address: "), message)
                with self.assertRaises(BlockingIOError):
                    listening.accept()


class OperationTests(PreviewCase):
    """Tests for operations that another page looks at, or cancels."""

    def test_lost_socket(self):
        """A page that lost its socket finds its install, and its outcome."""
        server = self.slow_host()
        params = {"url": server.url, "ref": REF}
        with self.trusting(server, "--dev") as daemon:
            with daemon.page() as page:
                self.begin(page, "install", params)
                while page.receive().get("data", {}).get("step") != "clone":
                    pass
            with daemon.page() as page:
                operation = self.under_way(page)
                self.assertEqual(operation["ref"], REF)
                self.assertEqual(
                    (operation["op"], operation["step"]), ("install", "clone")
                )
                self.assertTrue(operation["cancellable"])
                named = {"operation": operation["operation"]}
                self.assertEqual(page.result("plugins", "cancel", named), {})
                self.assertEqual(self.trees(), [])
                self.under_way(page, "cancelled")
                # The same name gets the outcome, and begins nothing.
                message = page.refusal("plugins", "install", params)
                self.assertTrue(message.startswith("cancelled: "), message)

    def test_cancelled_at_the_terminal(self):
        """A command lists what is under way, and cancels it."""
        server = self.slow_host()
        where = ("cancel", "--host=reference", f"--data-dir={self.data}")
        with self.trusting(server, "--dev") as daemon, daemon.page() as page:
            listed = run(self.home, *where).stdout
            self.assertEqual(listed, "no operation is under way\n")
            self.begin(page, "install", {"url": server.url})
            while page.receive().get("data", {}).get("step") != "clone":
                pass
            listed = run(self.home, *where).stdout
            self.assertRegex(listed, r"\A[0-9a-f]{16}  install  clone  Cloning from ")
            name = listed.split()[0]
            done = run(self.home, *where, name)
            self.assertEqual((done.returncode, done.stdout), (0, "cancelled\n"))
            self.assertEqual(self.trees(), [])
            again = run(self.home, *where, name)
            self.assertEqual(again.returncode, 1)
            self.assertIn("operation: none under way has this name", again.stderr)
