from typing import Any
from unittest import mock

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.daemon.daemon import banner
from bridge.rpc import Registry
from bridge.settings.host import locate
from bridge.settings.options import config_of, daemon_command, parsed
from bridge.sinks.fanout import Fanout
from tests.sinks.fake import FakeSink


class Sample:
    """Tries things."""


class BannerTests(SynchronousTestCase):
    def setUp(self):
        registry = Registry()
        registry.register("sample", Sample())
        self.facts: dict[str, Any] = {
            "config": config_of(parsed(daemon_command(), [], "run")),
            "paths": locate("vrcnext", None, None),
            "registry": registry,
            "fanout": Fanout(Clock()),
            "approver": mock.Mock(description="desktop notification"),
            "log_file": "/data/log",
        }

    def test_lines(self):
        """It names every service, place and rule, and warns of nothing but sinks."""
        lines = list(banner(**self.facts))
        paths = self.facts["paths"]
        text = "\n".join(line for _, line in lines)
        for reported in (
            "service sample: Tries things.",
            "services        sample",
            str(paths.data.root),
            str(paths.theme_dir),
            f"{paths.data.token};",
            "desktop notification",
            "/data/log",
            "developer mode  off",
            "loopback only",
            "5 requests per second, burst 10; 4 threads",
        ):
            self.assertIn(reported, text)
        warned = [line for level, line in lines if level == "warn"]
        self.assertEqual(
            warned, ["sinks           none: no notification sink has started"]
        )
        shown = [line for level, line in lines if level != "debug"]
        self.assertEqual(len(shown), 14)
        self.assertEqual(
            shown[-3:],
            [
                "next: plugin-bridge run --print-token --host vrcnext  pair the page "
                "with the token",
                "next: plugin-bridge install --host vrcnext URL      install a plugin",
                "next: plugin-bridge doctor --host vrcnext           find problems",
            ],
        )

    def test_sinks(self):
        """Each target is listed with its health; a skipped one is not."""
        fanout = Fanout(Clock(), [FakeSink("a", has_started=True), FakeSink("b")])
        lines = list(banner(**{**self.facts, "fanout": fanout}))
        self.assertIn(("info", "sinks           a [up]"), lines)
        self.assertIn(("debug", "sink a: [up] a list"), lines)
        self.assertNotIn("b [", str(lines))
        self.assertNotIn("no notification sink", str(lines))

    def test_warnings(self):
        """Developer mode, no prompt, added origins and notices are warned of."""
        given = ["--dev", "--allow-origin=file://"]
        config = config_of(parsed(daemon_command(), given, "run"))
        refusing = mock.Mock(description="none: privileged operations will be refused")
        changed = {"config": config, "approver": refusing, "notices": ["found y"]}
        lines = banner(**{**self.facts, **changed})
        warned = [line for level, line in lines if level == "warn"]
        for reported in ("none: privileged", "ON", "file://", "found y"):
            self.assertIn(reported, "\n".join(warned))
