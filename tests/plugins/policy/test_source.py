"""The judgement of one file's syntax, and when its parser is loaded."""

from __future__ import annotations

import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.budget import Budget
from bridge.plugins.policy.parsing import grammar, pieces
from bridge.plugins.policy.source import source_hits
from bridge.protocol.limits import SOURCE_NODES

LOADED = "import sys, bridge.tap\n{}print('tree_sitter' in sys.modules)"
SCANNED = "from bridge.plugins.policy.scan import scan_source as s; s('a.ts', b'f()')\n"


class SourceTests(SynchronousTestCase):
    """One file."""

    def test_order(self) -> None:
        """Hits come by line; what names tooling comes before all others."""
        text = "eval(s)\nimport './x.test'\nimport '../eslint.config.js'\n"
        self.assertEqual(
            source_hits("src/a.ts", text, (), Budget()),
            [
                (3, "references a tooling config"),
                (1, "eval"),
                (2, "imports a test file"),
            ],
        )

    def test_judged_nodes_count_twice(self) -> None:
        """What costs a walk most is what the budget counts once more."""
        judged, only_parsed = Budget(), Budget()
        source_hits("a.ts", "a.b;\n", (), judged)
        for _ in pieces(b"a.b;\n", grammar(".ts"), only_parsed):
            pass
        self.assertLess(judged.nodes, only_parsed.nodes)
        self.assertEqual(source_hits("a.ts", "a.b;\n", (), Budget(judged.nodes)), [])
        spent = Budget(SOURCE_NODES - judged.nodes - 1)
        self.assertEqual(
            source_hits("a.ts", "a.b;\n", (), spent), [(1, "too complex to check")]
        )

    def test_not_finished(self) -> None:
        """What stops the reading is one more hit."""
        self.assertEqual(
            source_hits("a.ts", "f()\nconst = 1", (), Budget()), [(2, "syntax error")]
        )
        endless = "eval(s)\nf()\n" + "if (a) {}\n" + "else if (b) {}\n" * 40_000
        self.assertIn(
            (1, "too complex to check"), source_hits("a.ts", endless, (), Budget())
        )

    def test_attack_many_hits(self) -> None:
        """A file full of hits is not kept in memory as such."""
        found = source_hits("a.ts", "eval(s);\n" * 3000, (), Budget())
        self.assertEqual(found[:2], [(1, "eval"), (2, "eval")])
        self.assertEqual(len(found), 1000)

    def test_attack_many_names(self) -> None:
        """A file that uses the global object's names endlessly is refused."""
        text = "const self = 1;\n" + "self.x;\n" * 60_000
        (hit,) = source_hits("a.ts", text, (), Budget())
        self.assertEqual(hit[1], "too complex to check")


class LoadingTests(SynchronousTestCase):
    """What a daemon that scans nothing does without."""

    def loaded(self, code: str) -> str:
        """Whether a new process has loaded the parser when it has run some code."""
        command = [sys.executable, "-c", LOADED.format(code)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def test_start(self) -> None:
        """A daemon starts without the parser; the first scan loads it."""
        self.assertEqual(self.loaded(""), "False")
        self.assertEqual(self.loaded(SCANNED), "True")
