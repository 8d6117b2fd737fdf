"""Tests for bridge.wiring.names, and for what a start imports and when."""

import json
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bridge.wiring.names import service_names

from ..directories import fresh_directory

MOST_MODULES = 140
"""Modules that are imported in addition to those of twistd, before it listens."""

# What each start counts: the modules before listening, those that warming adds, those
# that making adds to these, and those that the first use of each endpoint adds.
_COUNTED = """
import importlib, json, sys
import twisted.scripts.twistd
from twisted.internet import reactor
before = set(sys.modules)
from bridge import tap
from bridge.wiring.names import WARMED
options = tap.Options()
options.parseOptions(sys.argv[1:])
daemon = tap.assemble(reactor, options)
listening = set(sys.modules) - before
for name in WARMED:
    importlib.import_module(name)
warmed = set(sys.modules)
parts = daemon._late.get()
made = set(sys.modules) - warmed
names = parts.endpoints.dispatcher.registry.names()
parts.endpoints.dispatcher.registry.describe()
# Those of plugins are loaded by the first call.
assert "bridge.plugins.bundle.build" not in sys.modules or "--dev" in sys.argv
described = set(sys.modules) - warmed - made
print(json.dumps([sorted(listening), sorted(made), sorted(described), names]))
"""

_LATER = (
    "OpenSSL.crypto",
    "autobahn",
    "bridge.approval",
    "bridge.databases",
    "bridge.freedesktop",
    "bridge.osc",
    "bridge.outbound",
    "bridge.plugins",
    "bridge.services",
    "bridge.sinks",
    "bridge.web.websocket.socket",
    "dulwich",
    "klein",
    "nacl",
    "PIL",
    "pythonosc",
    "sqlite3",
    "treq",
    "txdbus",
    "werkzeug",
)


def start(test, *options):
    """Start a daemon as far as it listens, then load the rest; what was imported."""
    home = fresh_directory(test)
    run = subprocess.run(
        [
            *(sys.executable, "-c", _COUNTED, "--host=reference"),
            *("--listen=127.0.0.1:0", f"--data-dir={home / 'data'}", *options),
        ],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
        text=True,
    )
    return json.loads(run.stdout)


class StartTests(SynchronousTestCase):
    """Tests for a start."""

    def test_imports(self):
        """Only what listens is imported first; warming imports the rest."""
        listening, made, described, names = start(self)
        early = [m for m in listening if m.startswith(_LATER)]
        self.assertEqual(early, [])
        self.assertLess(len(listening), MOST_MODULES)
        # Which sinks there are is found by Twisted's plugin system.
        self.assertEqual([m for m in made if not m.startswith("bridge.sinks.")], [])
        self.assertEqual(described, [])
        self.assertEqual(names, service_names(dev=False))

    def test_imports_with_dev(self):
        """With ``--dev`` there is one service more."""
        *_, names = start(self, "--dev")
        self.assertEqual(names, service_names(dev=True))
