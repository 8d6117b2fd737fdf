"""
The packed TypeScript client and a real daemon.

In a browser the manager's tests have it: frozen, lost, replaced tokens, cancelling.
"""

import json
import shutil
from pathlib import Path

import bridge

from ..e2e.test_install import InstallCase, tree
from ..npm import node
from .packing import packed, run

SCRIPT = Path(__file__).with_name("calls.mjs")


class ClientTests(InstallCase):
    """Tests for pairing, calls, and operations that outlive a connection."""

    def test_calls(self) -> None:
        """It pairs, calls, and gets the outcome of an install by the next socket."""
        home = packed().home
        shutil.copy(SCRIPT, home)
        url = self.publish("good", tree("good"))
        # Node.js 22 needs no option.
        line = (node(), "--experimental-websocket", "--no-warnings", SCRIPT.name)
        with self.daemon("--dev") as daemon:
            endpoint = f"http://127.0.0.1:{daemon.port}"
            done = run(*line, endpoint, daemon.token, url, cwd=home)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(
            json.loads(done.stdout),
            {
                "unpaired": ["PairingError", "missing", None],
                "wrong": ["PairingError", "refused", None],
                "version": bridge.__version__,
                "set": {},
                "got": {"value": {"b": ["ü", 1.5, None]}},
                "bad": ["RefusedError", "bad_request", ""],
                "missing": ["RefusedError", "bad_request", "not_installed"],
                "unknown": ["RefusedError", "unknown_method", ""],
                "installed": "good",
                "connected": 2,
            },
        )
