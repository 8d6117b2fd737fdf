"""Tests for ``bridge.plugins.bundle.publishing``."""

import json
from hashlib import sha256

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.publishing import INFO_FILE, is_current

from ...directories import fresh_directory


class CurrentTests(SynchronousTestCase):
    """Tests for ``is_current``."""

    def setUp(self):
        """A published bundle of version 2."""
        self.bundle = fresh_directory(self) / "host.js"
        self.bundle.write_bytes(b"code")
        self.info = {
            "version": "2",
            "sha256": sha256(b"code").hexdigest(),
            "plugins": ["first"],
        }

    def is_current(self, info):
        """Whether it is, with what is in the information next to it."""
        self.bundle.with_name(INFO_FILE).write_text(info)
        return is_current(self.bundle, "2", ["first", "left-out"])

    def test_built_by_this_version(self):
        """A whole one that this version has built of what is installed."""
        self.assertTrue(self.is_current(json.dumps(self.info)))

    def test_others(self):
        """Not one of linked plugins, uninstalled ones, another version, or unknown."""
        for info in (
            json.dumps({**self.info, "dev": ["first"]}),
            json.dumps({**self.info, "version": "1"}),
            json.dumps({**self.info, "plugins": ["first", "uninstalled"]}),
            json.dumps({**self.info, "plugins": None}),
            json.dumps({"version": "2"}),
            "[]",
            "not JSON",
        ):
            self.assertFalse(self.is_current(info), info)

    def test_killed_between_two_renames(self):
        """Not one whose information is of the next, which was not published."""
        info = json.dumps({**self.info, "sha256": sha256(b"next").hexdigest()})
        self.assertFalse(self.is_current(info))

    def test_none(self):
        """Not where there is none."""
        self.assertTrue(self.is_current(json.dumps(self.info)))
        self.bundle.unlink()
        self.assertFalse(is_current(self.bundle, "2", ["first", "left-out"]))
        self.bundle.with_name(INFO_FILE).unlink()
        self.assertFalse(is_current(self.bundle, "2", ["first", "left-out"]))
