"""Builds that need too much: the limits of the bundler, and how they are reported."""

from __future__ import annotations

import sys
from typing import Any

from twisted.internet import reactor

from bridge.plugins.bundle.bundlerprocess import run_bundler
from bridge.plugins.bundle.inputs.metafile import BuildError
from bridge.plugins.esbuild.executable import Executable
from bridge.protocol.limits import MIB

from ...npm import esbuild
from .workshop import BuildCase

TOO_MUCH = "esbuild needed more than 512 MiB of memory"


class MemoryTests(BuildCase):
    """The limit on memory, with the real bundler."""

    async def test_attack_deep_nesting(self):
        """It ends in one line with the reason, and what was published stays."""
        for text in ("(" * 1_000_000, "()=>" * 262_144 + "0"):
            with self.subTest(text=text[:4]):
                self.shop.write("plugins/aa/main.ts", f"export default {text}")
                await self.attack(TOO_MUCH)

    async def test_attack_slow_texts(self):
        """What the bundler reads slowly is a build, or an error, within the limits."""
        for text in ("a/b/c;", "{class A{b(){}}}", "a?.b??", "`${", "<T>(x)=>"):
            with self.subTest(text=text):
                many = text * (64 * 1024 // len(text))
                self.shop.write("plugins/aa/x.js", f"var a,b,c;{many}")
                self.shop.plugin("aa", main__ts="import './x.js'; export default 1;")
                report = await self.shop.build("aa")
                self.assertLess(len("".join(report.errors)), 4100)
                self.assertNotIn("goroutine", "".join(report.errors))

    async def test_a_lower_limit(self):
        """The error names the limit there was."""
        self.shop.write("x.ts", "(" * 100_000)
        on: Any = reactor
        run = run_bundler(
            on,
            Executable(str(esbuild())),
            ["esbuild", "x.ts", "--bundle"],
            self.shop.data.root,
            memory=128 * MIB,
        )
        with self.assertRaises(BuildError) as caught:
            await run
        self.assertEqual(
            str(caught.exception), "esbuild needed more than 128 MiB of memory"
        )

    async def test_limit(self):
        """A bundler has it soon after it is started, and can't raise it."""
        self.shop.replace_bundler(
            "#!/bin/sh\nsleep 0.5\nulimit -d\nulimit -H -d\nexit 1\n"
        )
        self.assertEqual(await self.refusal(), "esbuild failed:\n524288\n524288")


class CrashTests(BuildCase):
    """Bundlers that crash: scripts that write what Go does."""

    async def crash(self, text: str, status: int = 2, trace: int = 9000) -> str:
        """Build with a bundler that writes this and a trace, and exits."""
        self.shop.replace_bundler(
            f"#!{sys.executable} -IS\nprint({text!r} + 'goroutine 1\\n' * {trace})\n"
            f"raise SystemExit({status})\n"
        )
        return await self.refusal()

    async def test_crashes(self):
        """A trace of thousands of lines is read to its end, and not shown."""
        for text, error in (
            ("fatal error: stack overflow\n\n", "esbuild crashed: stack overflow"),
            ("runtime: 1 kB\nfatal error: stack overflow\n", "crashed: stack overflow"),
            (
                "panic: runtime error: \x1b[1mx\n",
                "esbuild crashed: runtime error: [1mx",
            ),
            ("panic: " + "é" + "x" * 500 + "\n", "esbuild crashed: " + "x" * 100),
            ("warned\nfatal error: runtime: cannot allocate memory\n", TOO_MUCH),
            ("fatal error: out of memory allocating heap arena map\n", TOO_MUCH),
            ("fatal error: newosproc\n", TOO_MUCH),
        ):
            with self.subTest(text=text):
                refusal = await self.crash(text)
                self.assertTrue(refusal.endswith(error), refusal)
                self.assertNotIn("\n", refusal)

    async def test_attack_text_that_looks_like_a_crash(self):
        """The text of a source is no crash of a bundler that has not crashed."""
        error = await self.crash("fatal error: out of memory\n", 1)
        self.assertTrue(error.startswith("esbuild failed:\nfatal error: out of"), error)
        self.assertEqual(len(error), len("esbuild failed:\n") + 4000)
        text = "✘ [ERROR] x\n 1 │ fatal error: out of memory\n"
        error = await self.crash(text, trace=0)
        self.assertIn("is not quoted here", error)
