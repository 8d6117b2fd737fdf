"""The bundler's command line, and waiting for its end; see ``test_build`` too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, fail, succeed
from twisted.trial.unittest import SynchronousTestCase

from bridge.host import load_profile
from bridge.plugins.bundler import arguments, settled


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
                '"useDefineForClassFields":true}}',
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


class SettledTests(SynchronousTestCase):
    """Waiting for what can't be stopped at once."""

    def wait(self, work: Deferred[Any], stop=lambda: None) -> Deferred[Any]:
        """Wait for it."""
        return Deferred.fromCoroutine(settled(work, stop))

    def test_result(self):
        """A result or a failure is passed on."""
        self.assertEqual(self.successResultOf(self.wait(succeed(7))), 7)
        self.failureResultOf(self.wait(fail(ValueError())), ValueError)

    def test_cancelled(self):
        """Once cancelled, it asks for the end and waits for it."""
        work: Deferred[int] = Deferred()
        asked: list[int] = []
        waiting = self.wait(work, lambda: asked.append(1))
        waiting.cancel()
        self.assertNoResult(waiting)
        waiting.cancel()
        self.assertEqual(asked, [1, 1])
        work.callback(7)
        self.failureResultOf(waiting, CancelledError)

    def test_cancelled_and_failed(self):
        """A failure after that is of no interest."""
        work: Deferred[int] = Deferred()
        waiting = self.wait(work)
        waiting.cancel()
        work.errback(ValueError())
        self.failureResultOf(waiting, CancelledError)

    def test_ends_at_once_when_told(self):
        """What ends as soon as it is asked is waited for no longer."""
        work: Deferred[int] = Deferred()
        waiting = self.wait(work, lambda: work.callback(1))
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
