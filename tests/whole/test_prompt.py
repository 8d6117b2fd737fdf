"""A real daemon that asks on a real desktop, with somebody who clicks."""

from typing import ClassVar

from ..freedesktop.session import Session, notification_server
from ..waiting import wait_until
from .daemon import running
from .test_install import InstallCase, manifest, tree

CONFIRM, DENY = 0, 1
CANCELLING = "cancel"


class PromptCase(InstallCase):
    """Has a desktop with somebody who clicks."""

    found: ClassVar[dict[tuple[str, int], list[tuple[int, int]]]] = {}

    def setUp(self):
        """A desktop, a git server with a plugin, and a data directory."""
        super().setUp()
        self.session = Session()
        self.addCleanup(self.session.end)

    def offer(self, name, **fields):
        """Publish a good plugin, signed; gives its URL."""
        text = manifest(name, **fields)
        return self.publish(name, {**tree(name), "plugin.json": text})

    def daemon(self, *options):
        """A daemon on the session's bus."""
        return running(
            self.home,
            f"--ca-file={self.forge.ca_file}",
            *options,
            more=self.session.bus.environment,
        )

    def until_asked(self, page, operation):
        """Read pushes until the daemon asks."""
        while True:
            got = page.receive()
            if got.get("id") == CANCELLING:
                continue
            self.assertEqual(got["type"], "push", got)
            if got["event"] == "progress" and (
                got["data"]["step"],
                got["data"]["op"],
            ) == ("awaiting_confirmation", operation):
                return

    def serve(self, name):
        """Start a notification server, and wait until it has its name."""
        self.server = name
        self.empty = self.session.picture()
        self.session.serve(notification_server(name))
        wait_until(self.session.has_server)

    def press(self, button, picture):
        """Wait for the prompt, keep a picture of it, and press a button."""
        seen = self.session.settled(self.empty)
        box = seen.changed(self.empty)
        assert box is not None
        self.session.save(picture)
        # They are at the same place of each prompt, and looking takes seconds.
        kind = (self.server, box.right - box.left)
        if kind not in self.found:
            lit = [one.middle for one in self.session.buttons(box.half("lower"))]
            self.found[kind] = [(box.right - x, box.bottom - y) for x, y in lit]
        self.assertEqual(len(self.found[kind]), 2, self.found)
        x, y = self.found[kind][button]
        self.session.click(box.right - x, box.bottom - y)

    def answered(self, page, request_id):
        """Read until the response to a request."""
        while True:
            got = page.receive()
            if got["type"] == "response" and got["id"] == request_id:
                return got

    def ask(self, page, request_id, method, params):
        """Send a request that will take a person."""
        request = {"type": "request", "id": request_id, "service": "plugins"}
        page.send({**request, "method": method, "params": params})

    def until_empty(self):
        """Wait until nothing is left on the screen."""
        wait_until(lambda: self.session.picture() == self.empty)


class PromptTests(PromptCase):
    """Tests for the way from a page's request to a click and back."""

    def test_a_person_confirms_and_denies(self):
        """It needs two yeses to install, one no to stay; what is over is not shown."""
        url = self.offer("good")
        # notification-daemon 3.20 leaves on the screen what it was asked to close.
        self.serve("xfce4-notifyd")
        with self.daemon() as daemon, daemon.page() as page:
            reported = "".join(daemon.lines)
            self.assertIn("with the buttons Confirm and Deny, by Xfce Notify", reported)
            self.ask(page, "a", "install", {"url": url})
            self.until_asked(page, "install")
            self.press(CONFIRM, "prompt-install.png")
            self.until_asked(page, "trust_key")
            self.press(CONFIRM, "prompt-trust-key.png")
            got = self.answered(page, "a")
            self.assertTrue(got["ok"], got)
            self.assertEqual(got["result"]["plugin"]["id"], "good")
            self.ask(page, "b", "uninstall", {"id": "good"})
            self.until_asked(page, "uninstall")
            self.press(DENY, "prompt-uninstall.png")
            got = self.answered(page, "b")
            self.assertEqual(got["error"]["message"], "denied: the user declined")
            (plugin,) = page.result("plugins", "list")["plugins"]
            self.assertEqual(plugin["id"], "good")
            self.until_empty()
            self.ask(page, "c", "uninstall", {"id": "good"})
            self.until_asked(page, "uninstall")
            self.session.settled(self.empty)
            self.cancel(page)
            message = self.answered(page, "c")["error"]["message"]
            self.assertTrue(message.startswith("cancelled: "), message)
            self.until_empty()
            self.ask(page, "d", "uninstall", {"id": "good"})
            self.until_asked(page, "uninstall")
            self.session.settled(self.empty)
            self.assertIn(daemon.stop(), (0, -15))
        self.until_empty()

    def cancel(self, page):
        """Cancel what is under way."""
        operations = page.result("plugins", "operations")["operations"]
        self.ask(page, CANCELLING, "cancel", {"operation": operations[0]["operation"]})

    def test_dev_announces(self):
        """With ``--dev`` nothing is asked, and what was done is shown."""
        url = self.offer("good")
        self.serve("notification-daemon")
        with self.daemon("--dev") as daemon, daemon.page() as page:
            page.result("plugins", "install", {"url": url})
            self.session.settled(self.empty)
            self.session.save("announced.png")

    def test_desktop_that_begins_after_the_daemon(self):
        """Refused while there is no desktop; asked as soon as there is one."""
        url = self.offer("good")
        with self.daemon() as daemon, daemon.page() as page:
            reported = "".join(daemon.lines)
            self.assertIn("none: privileged operations will be refused", reported)
            message = page.refusal("plugins", "install", {"url": url})
            self.assertTrue(message.startswith("approval_unavailable: "), message)
            self.serve("notification-daemon")
            self.ask(page, "a", "install", {"url": url})
            self.until_asked(page, "install")
            self.press(DENY, "prompt-late.png")
            message = self.answered(page, "a")["error"]["message"]
            self.assertEqual(message, "denied: the user declined")
