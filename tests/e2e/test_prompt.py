"""A real daemon that asks on a real desktop, with somebody who answers."""

import contextlib
import os
import signal

from .daemon import command, on_a_terminal, started
from .managerfixture import Desktop
from .test_install import InstallCase, tree

INTERRUPTED = 130


class PromptTests(InstallCase):
    def setUp(self):
        """A desktop without a notification server, and a plugin to install."""
        super().setUp()
        self.desktop = Desktop()
        self.addCleanup(self.desktop.end)
        self.url = self.publish("good", tree("good"))

    def test_asked_and_answered(self):
        """Prompts are confirmed and denied; what is over is not shown any more."""
        desktop = self.desktop.bus.environment
        with self.daemon(more=desktop) as daemon, daemon.page() as page:
            reported = "".join(daemon.lines)
            self.assertIn("none: privileged operations will be refused", reported)
            message = page.refusal("plugins", "install", {"url": self.url})
            self.assertTrue(message.startswith("approval_unavailable: "), message)
            self.desktop.start()
            self.confirmed_on_a_terminal()
            uninstall = ("plugins", "uninstall", {"id": "good"})
            asked = page.begin(*uninstall)
            self.desktop.deny()
            message = page.answered(asked)["error"]["message"]
            self.assertEqual(message, "denied: the prompt was dismissed")

            asked = page.begin(*uninstall)
            self.desktop.until_shown()
            with daemon.page() as other:
                (going,) = other.result("plugins", "operations")["operations"][:1]
                named = {"operation": going["operation"]}
                other.result("plugins", "cancel", named)
            message = page.answered(asked)["error"]["message"]
            self.assertTrue(message.startswith("cancelled: "), message)
            self.desktop.until_empty()

            with started(self.home, "uninstall", *self.where, "good") as typed:
                self.desktop.until_shown()
                self.assertEqual(typed.stop(signal.SIGINT), INTERRUPTED)
            self.assertIn("the operation was cancelled", "".join(typed.lines))
            self.desktop.until_empty()

            page.begin(*uninstall)
            self.desktop.until_shown()
            self.assertIn(daemon.stop(), (0, -signal.SIGTERM))
        self.desktop.until_empty()
        self.assertIn(b"Marker of good", self.bundle.read_bytes())

    def confirmed_on_a_terminal(self):
        """The terminal shows the plugin, a bar and the result of an install."""
        line = command("install", *self.where, self.url)
        process, master = on_a_terminal(self, self.home, line)
        shown = b""
        # The forge is on this computer, which a preview asks about first.
        for number in range(3):
            while shown.count(b"Answer the prompt") <= number:
                shown += os.read(master, 4096)
            self.desktop.confirm()
        with contextlib.suppress(OSError):  # the other end was closed
            while more := os.read(master, 4096):
                shown += more
        os.close(master)
        self.assertEqual(process.wait(30), 0, shown)
        self.assertRegex(shown, rb"\[(\x1b\[32m)?#+\.*")
        for words in (b"good 1.0.0: ", b"not accepted yet", b"installed good 1.0.0"):
            self.assertIn(words, shown)
