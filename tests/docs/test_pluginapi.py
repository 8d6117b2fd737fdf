"""Tests for docs/pluginapi.py."""

import sys
from pathlib import Path
from runpy import run_path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

DOCS = Path(__file__).parents[2] / "docs"

SOURCE = """\
import type { Json } from "./context.js";

/** Not exported, so not described. */
interface Hidden { a: string }

/**
 * A thing.
 *
 * It has two
 * paragraphs.
 */
export interface Thing extends Hidden {
  readonly plain: string;

  /** Nested; with `{ braces }`. */
  readonly nested?: { readonly [key: string]: Json; };

  /**
   * Do it.
   *
   * @param how In which way; the
   *   second line.
   * @returns What came of it.
   */
  run(
    how: (thing: Thing) => void,
    more?: readonly string[],
  ): Promise<() => void>;
}

/** A failure. */
export class Failure extends Error {
  /** Why. */
  readonly why: string;

  constructor(why: string) {
    super(why);
    this.why = why;
  }
}

/** One of two. */
export type Kind =
  | "a"
  | { readonly b: Json };

/** Make one. */
export function make(thing: Thing): Thing {
  return thing;
}

/** How many. */
export const MANY = 7;
"""


class PluginApiTests(SynchronousTestCase):
    """What is read from TypeScript."""

    def setUp(self):
        """Load the script."""
        self.patch(sys, "path", [str(DOCS), *sys.path])
        self.made = run_path(str(DOCS / "pluginapi.py"))

    def read(self, source: str = SOURCE) -> dict[str, Any]:
        """Read the declarations of a module, by name."""
        return {one.name: one for one in self.made["declarations"](source)}

    def test_names(self):
        """Every exported name is read, and nothing else."""
        self.assertEqual(
            list(self.read()), ["Thing", "Failure", "Kind", "make", "MANY"]
        )

    def test_interface(self):
        """Its members have one-line signatures, and their tags become paragraphs."""
        thing = self.read()["Thing"]
        self.assertEqual(thing.doc, "A thing.\n\nIt has two paragraphs.")
        self.assertEqual(
            [(member.signature, member.doc) for member in thing.members],
            [
                ("plain: string", ""),
                (
                    "nested?: { readonly [key: string]: Json; }",
                    "Nested; with `{ braces }`.",
                ),
                (
                    "run(how: (thing: Thing) => void, more?: readonly string[]): "
                    "Promise<() => void>",
                    "Do it.\n\n`how`: In which way; the second line.\n\n"
                    "Returns: what came of it.",
                ),
            ],
        )
        self.assertNotIn("/*", thing.code)
        self.assertIn("\n  readonly plain: string;\n  readonly nested?", thing.code)

    def test_others(self):
        """Bodies of functions and values of constants are left out."""
        made = self.read()
        self.assertEqual(
            made["Failure"].code,
            "class Failure extends Error {\n  readonly why: string;\n}",
        )
        kind = 'type Kind =\n  | "a"\n  | { readonly b: Json };'
        self.assertEqual(made["Kind"].code, kind)
        self.assertEqual(made["make"].code, "function make(thing: Thing): Thing")
        self.assertEqual(made["MANY"].code, "const MANY")

    def test_unreadable(self):
        """A name without a comment, or without an end, is an error."""
        for source in (
            "export type Bare = string;",
            "/** A. */\nexport interface Open {",
            "/** A. */\nexport type Open = string",
        ):
            with self.subTest(source=source):
                self.assertRaises(self.made["UnreadableError"], self.read, source)

    def test_everything_exported_is_on_the_page(self):
        """The page has a section for each name of the API's index."""
        index = (self.made["SOURCES"] / "index.ts").read_text("utf-8")
        page = "\n".join(self.made["reference"]())
        for name in ("definePlugin", "Context", "SettingsSchema", "SqlResult"):
            self.assertIn(name, index)
            self.assertIn(f"\n### {name}\n", page)
