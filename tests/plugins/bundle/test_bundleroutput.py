"""Tests for bridge.plugins.bundle.bundleroutput."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.bundleroutput import HIDDEN, showable

SECRET = "7d0f0bncl3FULVh3l1wEHWEJVe8q5aMvmcOyVJTjndc"


def bundler_message(place, text='Syntax error "d"', quoted="let a = ;"):
    """What the bundler prints about a file."""
    return f"✘ [ERROR] {text}\n\n    {place}:1:1:\n      1 │ {quoted}\n        ╵  ^\n\n"


OURS = bundler_message("plugins/good/main.ts")


class ShowableTests(SynchronousTestCase):
    """Tests for what may be shown of the bundler's messages."""

    def test_our_own(self):
        """Messages about the host, the table and plugins are shown, with quotations."""
        for place in (
            "plugins/good/src/a.ts",
            "host/packages/host/src/index.ts",
            "build/static-plugins.ts",
            "(disabled):plugins/good/x.ts",
        ):
            text = bundler_message(place)
            self.assertEqual(showable(text, cut=False), text.strip("\n"))

    def test_attack_quoting_a_secret(self):
        """Nothing is quoted of any other file, nor are messages about it."""
        for place in (
            "token",
            "state.json",
            "../../etc/passwd",
            "/etc/passwd",
            "plugins/good/../../token",
            "plugins\\good\\..\\..\\token",
            "build/token",
            "hosting/token",
        ):
            text = OURS + bundler_message(place, f'found "{SECRET}"', SECRET) + OURS
            shown = showable(text, cut=False)
            self.assertNotIn(SECRET, shown, place)
            self.assertIn(HIDDEN, shown)
            self.assertIn("plugins/good/main.ts", shown)

    def test_attack_quoting_in_a_note(self):
        """A message of a plugin's file that also quotes another is not shown."""
        note = f"  It was made here:\n\n    token:1:1:\n      1 │ {SECRET}\n"
        self.assertEqual(showable(OURS.rstrip() + "\n\n" + note, cut=False), HIDDEN)

    def test_attack_cut_before_the_place(self):
        """A message whose end is missing is left out: its place may be there."""
        text = OURS + f'✘ [ERROR] found "{SECRET}"'
        self.assertEqual(showable(text, cut=True), OURS.strip("\n"))
        self.assertEqual(showable(f'✘ [ERROR] found "{SECRET}"', cut=True), "")

    def test_no_place(self):
        """A message about no file is shown, unless it quotes."""
        text = '✘ [ERROR] Could not resolve "host/packages/host/src/index.ts"'
        self.assertEqual(showable(text, cut=False), text)
        self.assertEqual(showable(f"✘ [ERROR] x\n 1 │ {SECRET}", cut=False), HIDDEN)

    def test_advice(self):
        """A message about the bundler's options is left out, and only that."""
        for advice, kept in (
            ('You can mark the path "x" as external, which will remove this.', ""),
            ('You need to set the output format to "esm".', ""),
            (
                'The package "fs" is built into node. Are you trying to bundle for '
                'node? You can use "--platform=node" to do that.',
                '\n\n  The package "fs" is built into node.',
            ),
            ("It was first declared here.", "\n\n  It was first declared here."),
            (
                'TypeScript\'s "alwaysStrict" setting was enabled here:\n\n'
                "    <tsconfig.json>:1:69:\n"
                '      1 │ ...,"alwaysStrict":true}}\n'
                "        ╵     ~~~~~~~~~~~~~~~~~~~",
                "",
            ),
        ):
            first = OURS.strip("\n")
            text = f"{first}\n\n  {advice}\n\n{OURS}"
            both = f"{first}{kept}\n\n{first}" if kept else first
            self.assertEqual(showable(text, cut=False), both)

    def test_attack_advice_about_a_secret(self):
        """What only looks like advice can't show what another file holds."""
        strict = '  TypeScript\'s "alwaysStrict" setting was enabled here:\n\n'
        for place in ("token", "../<tsconfig.json>", "<tsconfig.json>/token"):
            note = f"{strict}    {place}:1:1:\n      1 │ {SECRET}\n        ╵ ~\n"
            text = f"{OURS.strip()}\n\n{note}\n{OURS}"
            self.assertNotIn(SECRET, showable(text, cut=False), place)

    @given(st.text(), st.booleans())
    @settings(deadline=None)
    def test_any_text(self, text, cut):
        """Any text is shown in part or whole; nothing is raised."""
        showable(text, cut=cut)
