"""The policies that the realms of plugins need."""

import base64
import hashlib
import re

from twisted.trial.unittest import SynchronousTestCase

from .bundling import REFERENCE


class PolicyTests(SynchronousTestCase):
    """The policies of the page and of the frame."""

    def test_hash_of_the_bootstrap(self) -> None:
        """Both name the script of the frame, and the page's allows no more for it."""
        source = REFERENCE / "packages" / "host" / "src" / "realm" / "bootstrap.ts"
        text = source.read_text("utf-8")
        script = re.search(r"BOOTSTRAP = `([^`\\$]*)`;", text)
        digest = hashlib.sha256(script[1].encode()).digest()
        name = f"sha256-{base64.b64encode(digest).decode()}"
        self.assertIn(f'BOOTSTRAP_HASH = "{name}"', text)
        page = (REFERENCE / "page" / "index.html").read_text("utf-8")
        policy = re.search(r'content="(default-src[^"]*)"', page)
        rules = [rule.strip() for rule in policy[1].split(";")]
        self.assertIn(f"script-src 'self' '{name}'", rules)
        self.assertIn("worker-src blob:", rules)
        self.assertEqual(rules[0], "default-src 'none'")
