"""Builds that need too much: the limits of the bundler, and how they are reported."""

from __future__ import annotations

import sys

from .workshop import BuildCase


class LimitTests(BuildCase):
    """The limits, with the real bundler."""

    async def test_attack_deep_nesting(self):
        """It ends in one line with the reason, and what was published stays."""
        await self.shop.build("aa")
        before = self.shop.published()
        for text in ("(" * 1_000_000, "()=>" * 262_144 + "0"):
            with self.subTest(text=text[:4]):
                self.shop.write("plugins/aa/main.ts", f"export default {text}")
                self.assertEqual(
                    await self.refusal(), "esbuild needed more than 1024 MiB of memory"
                )
                self.assertEqual(self.shop.published(), before)

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
