"""What is asked of the bundler; see ``test_build`` and ``test_texts`` too."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.bundling import host_flags
from bridge.settings.host import load_profile


class FlagsTests(SynchronousTestCase):
    """The flags."""

    def test_for_real_users(self):
        """They are the ones that hosts are written for, word by word."""
        self.assertEqual(
            host_flags(load_profile("vrcnext")),
            [
                "--bundle",
                "--format=iife",
                "--target=es2022",
                '--tsconfig-raw={"compilerOptions":{"target":"es2022",'
                '"useDefineForClassFields":true,"alwaysStrict":true}}',
                "--loader:.ts=ts",
                "--loader:.mts=ts",
                "--loader:.cts=ts",
                "--loader:.tsx=tsx",
                "--loader:.js=js",
                "--loader:.mjs=js",
                "--loader:.cjs=js",
                "--loader:.jsx=jsx",
                "--loader:.json=json",
                "--loader:.txt=text",
                "--loader:=default",
                "--loader:.css=empty",
                "--loader:.module.css=empty",
                "--platform=browser",
                "--metafile",
                "--log-level=silent",
                "--minify",
                "--sourcemap=linked",
                "--alias:@vrcnext/plugin-api=./host/packages/api/src/index.ts",
                "--alias:@vrcnext/static-plugins=./build/static-plugins.ts",
            ],
        )
