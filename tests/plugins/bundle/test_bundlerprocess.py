"""The bundler's command line; see ``test_build`` too."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.bundlerprocess import arguments
from bridge.settings.host import load_profile


class ArgumentTests(SynchronousTestCase):
    """The command line."""

    def test_for_real_users(self):
        """It is the one that hosts are written for, word by word."""
        self.assertEqual(
            arguments(load_profile("vrcnext"), Path("/t/x/.build-1")),
            [
                "host/packages/host/src/index.ts",
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
                "--minify",
                "--sourcemap=linked",
                "--alias:@vrcnext/plugin-api=./host/packages/api/src/index.ts",
                "--alias:@vrcnext/static-plugins=./build/static-plugins.ts",
                "--outfile=/t/x/.build-1/vrcnext-plugin-host.js",
                "--metafile=/t/x/.build-1/meta.json",
                "--log-level=warning",
                "--color=false",
            ],
        )
