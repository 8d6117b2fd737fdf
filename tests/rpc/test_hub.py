from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bridge.rpc.hub import Event, Hub

from ..pages import Page


class Broken(Page):
    def push(self, event: str, text: bytes) -> None:
        raise OSError


class HubTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.hub, self.pages = Hub(), [Page(), Page()]
        for page in self.pages:
            self.hub.add(page)

    def test_joined(self) -> None:
        """Who asks hears of each subscriber that is added after, once pushed to."""
        joined: list[Page] = []

        def join(page: Page) -> None:
            joined.append(page)
            self.hub.push("osc", {})

        self.hub.on_join(join)
        last = Page()
        self.hub.add(last)
        self.assertEqual((joined, len(last.got)), ([last], 1))

    def test_broken_subscriber_harms_no_other(self) -> None:
        """One that breaks is removed and logged; the others get the event."""
        last = Page()
        self.hub.add(Broken())
        self.hub.add(last)
        self.hub.push("log", {})
        self.hub.push("log", {})
        self.assertEqual([len(p.got) for p in (*self.pages, last)], [2, 2, 2])
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)

    def test_attack_command_as_a_page(self) -> None:
        """A command is pushed events, but is asked nothing and inherits nothing."""
        joined: list[Any] = []
        self.hub.on_join(joined.append)
        command = Page(is_page=False)
        self.hub.add(command)
        self.assertEqual(self.hub.ask(Event.REMOTE, {}), self.pages)
        self.hub.push(Event.BUILD, {})
        self.assertEqual([event for event, _ in command.got], ["build"])
        self.assertEqual(joined, [])

    def test_who_was_asked(self) -> None:
        """``ask`` returns the subscribers reached; one that fails is not among them."""
        self.hub.add(Broken())
        self.assertEqual(self.hub.ask("remote", {}), self.pages)
        self.assertEqual([len(page.got) for page in self.pages], [1, 1])
        self.flushLoggedErrors(OSError)
        self.assertEqual(Hub().ask("remote", {}), [])
