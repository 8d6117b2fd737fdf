"""OSC through a real daemon, with liblo at the other end."""

from twisted.trial.unittest import SynchronousTestCase

from ..directories import fresh_directory
from ..osc.liblo import oscdump, oscsend, readable
from ..ports import free_udp_port
from .daemon import running


class OscTests(SynchronousTestCase):
    """Tests for sending and receiving."""

    def setUp(self):
        """An empty home, and a port."""
        self.home = fresh_directory(self)
        self.port = free_udp_port()

    def test_received_by_every_page(self):
        """What liblo sends reaches every page, while any of them wants it."""
        with running(self.home) as daemon, daemon.page() as one:
            with daemon.page() as other:
                other.result("osc", "listen", {"port": self.port})
                oscsend(self.port, "/avatar/parameters/Voice", "f", "0.5")
                for page in (one, other):
                    push = page.receive()
                    while push["event"] != "osc":
                        push = page.receive()
                    self.assertEqual(
                        push["data"],
                        {
                            "address": "/avatar/parameters/Voice",
                            "args": [{"kind": "float", "value": 0.5}],
                        },
                    )
                described = one.result("osc", "status")
                self.assertEqual(described["received"], 1)
            self.assertTrue(one.result("osc", "status")["listening"])

    def test_attack_sent_to_the_daemon_or_the_overlay(self):
        """Others are sent to at the pace of a controller, and these are not."""
        params = {"address": "/a", "args": [True, 1, 0.5, "x"], "port": self.port}
        with (
            running(self.home) as daemon,
            daemon.page() as page,
            oscdump(self.port) as dump,
        ):
            assert dump.stdout is not None
            for _ in range(100):
                page.result("osc", "send", params)
            while not readable(dump.stdout):  # it did not listen yet
                page.result("osc", "send", params)
            line = dump.stdout.readline()
            for port in (daemon.port, 42069):
                params = {"address": "/a", "port": port}
                self.assertIn("port: not", page.refusal("osc", "send", params))
        self.assertEqual(line.split(" ", 1)[1], '/a Tifs #T 1 0.500000 "x"\n')
