"""Builds that need too much: the limits of the bundler, and how they are reported."""

from __future__ import annotations

import sys

from .workshop import BuildCase

TOO_MUCH = "esbuild needed more than 1024 MiB of memory"


class LimitTests(BuildCase):
    """The limits, with the real bundler."""

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

    async def test_limits(self):
        """A bundler has them soon after it is started, and can't raise them."""
        self.shop.replace_bundler(
            f"#!{sys.executable} -IS\nimport resource, sys, time\ntime.sleep(0.3)\n"
            "kinds = resource.RLIMIT_DATA, resource.RLIMIT_CPU\n"
            "print('panic:', *map(resource.getrlimit, kinds), file=sys.stderr)\n"
        )
        self.assertEqual(
            await self.refusal(),
            "esbuild crashed: (1073741824, 1073741824) (30, 30)",
        )


class CrashTests(BuildCase):
    """Bundlers that crash: scripts that write what Go does."""

    async def crash(self, text: str, trace: int = 9000) -> str:
        """Build with a bundler that writes this and a trace, and exits."""
        self.shop.replace_bundler(
            f"#!{sys.executable} -IS\nimport sys\n"
            f"print({text!r} + 'goroutine 1\\n' * {trace}, file=sys.stderr)\n"
            f"raise SystemExit(2)\n"
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
            ("SIGSEGV: segmentation violation\n", TOO_MUCH),
        ):
            with self.subTest(text=text):
                refusal = await self.crash(text)
                self.assertTrue(refusal.endswith(error), refusal)
                self.assertNotIn("\n", refusal)
