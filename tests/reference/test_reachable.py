"""What plugins reach on a frozen page, in Chromium, and honest code that runs there."""

from __future__ import annotations

import json
from typing import Any, Final

from attrs import evolve

from .frozen.page import PageCase
from .frozen.permits import permits

BEYOND: Final = (
    # Of the language, but not in the list.
    *("AsyncDisposableStack", "Atomics", "DisposableStack", "FinalizationRegistry"),
    *("Intl", "SharedArrayBuffer", "SuppressedError", "Temporal", "WeakRef"),
    *("Date.prototype.toTemporalInstant", "RegExp.prototype.compile"),
    *("Function.prototype.arguments", "Function.prototype.caller"),
    *("Iterator.prototype.@@dispose", "Iterator.prototype.includes"),
    *("Iterator.prototype.join",),
    *(
        f"{kind}.prototype.{name}"
        for kind in ("Map", "WeakMap")
        for name in ("getOrInsert", "getOrInsertComputed")
    ),
    # Of the web platform, and only computes.
    *("DOMException", "TextDecoder", "TextEncoder", "URL", "URLSearchParams"),
    *("atob", "btoa", "queueMicrotask", "structuredClone"),
)
"""What a plugin may reach besides the list: it computes, and has no state to share."""


class ReachableTests(PageCase):
    """What two plugins reach: by names, contexts, literals and the API."""

    async def walk(self) -> dict[str, Any]:
        """Walk through it; each value is a list of paths."""
        listed = json.dumps({**permits(), "beyond": BEYOND})
        self.shop.write("host/packages/host/src/permits.json", listed)
        for plugin_id in ("aa", "bb"):
            self.plugin(plugin_id, "reach.ts")
        found: dict[str, Any] = await self.result("walk.js", "aa", "bb")
        self.assertGreater(found.pop("count"), 800)
        return found

    async def test_attack_everything_that_is_shared(self) -> None:
        """
        It is frozen and known, and nothing of it leads to the page or evaluates text.

        What is known is in the maintained list, or in the one above.
        """
        found = await self.walk()
        self.assertEqual(found, {name: [] for name in found})

    async def test_page_that_is_not_frozen(self) -> None:
        """There, the same walk finds what makes functions, and much to change."""
        self.shop.profile = evolve(self.shop.profile, freeze=False)
        found = await self.walk()
        self.assertIn("names.Array", found["unfrozen"])
        self.assertEqual(len(found["forbidden"]), 4)
        # What the host hands out does not depend on it.
        ours = ("context.", "api.", "names.console", "names.setTimeout")
        self.assertFalse([path for path in found["unfrozen"] if path.startswith(ours)])
        self.assertEqual(found["strange"], [])


class HonestTests(PageCase):
    """Code that assigns what prototypes have, and uses the language as it is used."""

    async def test_same_results(self) -> None:
        """It computes the same on a frozen page as on another one."""
        self.plugin("aa", "honest.ts")
        frozen = await self.result("honest.js", "aa")
        self.assertGreater(len(frozen), 15)
        for name, value in frozen.items():
            self.assertNotIn("threw", str(value), name)
        self.shop.profile = evolve(self.shop.profile, bind="off", freeze=False)
        self.assertEqual(await self.result("honest.js", "aa"), frozen)
