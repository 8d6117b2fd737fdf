"""The socket of a real daemon, seen from the page's side."""

from twisted.trial.unittest import SynchronousTestCase

from ..directories import fresh_directory
from ..schemas.checking import DOCUMENT
from .daemon import running


def documented():
    """The names of the services in the protocol's document."""
    return set(DOCUMENT["services"])


class SocketTests(SynchronousTestCase):
    """Tests for hello, calls and refusals over TCP."""

    def setUp(self):
        """A daemon, shared by the steps of a test."""
        self.home = fresh_directory(self)

    def test_services_are_an_object_by_name(self):
        """``welcome`` has the version, and the services by name, as pages expect."""
        with running(self.home) as daemon, daemon.page() as page:
            self.assertEqual(page.welcome["type"], "welcome")
            self.assertEqual(set(page.welcome["services"]), documented() - {"remote"})

    def test_burst_is_paced_and_answered(self):
        """More calls than the burst are all answered, in order, when it is a few."""
        with running(self.home) as daemon, daemon.page() as page:
            for number in range(16):
                page.send(
                    {
                        "type": "request",
                        "id": str(number),
                        "service": "state",
                        "method": "delete",
                        "params": {"ns": "host", "key": "k"},
                    }
                )
            answered = [page.receive() for _ in range(16)]
        self.assertEqual([a["id"] for a in answered], [str(n) for n in range(16)])
        self.assertTrue(all(a["ok"] for a in answered))
