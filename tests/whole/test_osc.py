"""OSC through a real daemon, with liblo at the other end."""

from ..osc.liblo import oscdump, readable
from ..ports import free_udp_port
from .daemon import HomeCase, running


class OscTests(HomeCase):
    """Tests for sending; ``test_realpage`` receives."""

    def test_attack_sent_to_the_daemon_or_the_overlay(self):
        """Others are sent to at the pace of a controller, and these are not."""
        to = free_udp_port()
        params = {"address": "/a", "args": [True, 1, 0.5, "x"], "port": to}
        with (
            running(self.home) as daemon,
            daemon.page() as page,
            oscdump(to) as dump,
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
