"""What is asked of the bundler, and what may be shown of its messages."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.bundling import HIDDEN, host_flags, shown_messages
from bridge.plugins.policy.reading import loader_arguments
from bridge.protocol.limits import BUILD_OUTPUT_CHARACTERS
from bridge.settings.host import load_profile

SECRET = "7d0f0bncl3FULVh3l1wEHWEJVe8q5aMvmcOyVJTjndc"
OURS = "plugins/good/main.ts"


def message(file: str | None, text: str = "Syntax error", **more: Any) -> Any:
    """A message as the service has it."""
    place = {"file": file, "line": 2, "column": 4, "lineText": "  let a = ;"}
    found: dict[str, Any] = {
        "text": text,
        "notes": [],
        "location": place if file else None,
    }
    return found | more


class MessagesTests(SynchronousTestCase):
    def test_our_own(self):
        """Messages about the host, the table and plugins have place, text and line."""
        for place in (
            "plugins/good/src/a.ts",
            "host/packages/host/src/index.ts",
            "build/static-plugins.ts",
            "(disabled):plugins/good/x.ts",
        ):
            self.assertEqual(
                shown_messages([message(place), message(place)]),
                f"{place}:2:4: Syntax error\n    let a = ;",
            )

    def test_attack_quoting_a_secret(self):
        """Nothing is quoted of any other file, nor are messages about it."""
        for place in (
            "token",
            "state.json",
            "../../etc/passwd",
            "/etc/passwd",
            "plugins/good/../../token",
            "plugins\\good\\..\\..\\token",
            "hosting/token",
            "<tsconfig.json>",
        ):
            evil = message(place, f'found "{SECRET}"')
            evil["location"]["lineText"] = SECRET
            shown = shown_messages([message(OURS), evil, message(OURS)])
            self.assertNotIn(SECRET, shown, place)
            self.assertEqual(shown.splitlines()[-1], HIDDEN)
            self.assertIn(OURS, shown)
            # Nor in a note of a message about a file of ours.
            shown = shown_messages([message(OURS, notes=[evil])])
            self.assertEqual(shown, f"{OURS}:2:4: Syntax error\n    let a = ;")

    def test_no_place(self):
        """A message about no file is shown."""
        text = 'Could not resolve "host/packages/host/src/index.ts"'
        self.assertEqual(shown_messages([message(None, text)]), text)

    def test_advice(self):
        """Authors read what they can do; the host's sources are not theirs."""
        text = 'Could not resolve "lodash"'
        shown = shown_messages([message(OURS, text)])
        self.assertIn(f"{text}, which is neither the host's API nor in the", shown)
        shown = shown_messages([message("host/packages/host/src/a.ts", text)])
        self.assertIn(f"{text}\n", shown)

    def test_notes(self):
        """A note with a place belongs to its message; advice about options does not."""
        advice = {"text": "You can mark the path as external", "location": None}
        note = message(OURS, "It was first declared here.")
        shown = shown_messages([message(OURS, notes=[advice, note])])
        self.assertEqual(len(shown.splitlines()), 4)
        self.assertIn("It was first declared here.", shown)
        self.assertNotIn("external", shown)

    @given(st.lists(st.text(max_size=3000), max_size=4))
    def test_attack_any_text(self, texts):
        """What is shown is short, and controls no terminal."""
        given_messages = [message(OURS, text) for text in texts]
        for one in given_messages:
            one["location"]["lineText"] = one["text"] * 2
        shown = shown_messages(given_messages)
        self.assertLessEqual(len(shown), BUILD_OUTPUT_CHARACTERS)
        self.assertFalse(set("\x1b\x00\u202e") & set(shown))


class FlagsTests(SynchronousTestCase):
    def test_for_real_users(self):
        """They are the ones that hosts are written for, in this order."""
        self.assertEqual(
            host_flags(load_profile("vrcnext")),
            [
                "--bundle",
                "--format=iife",
                "--target=es2022",
                '--tsconfig-raw={"compilerOptions":{"target":"es2022",'
                '"useDefineForClassFields":true,"alwaysStrict":true}}',
                *loader_arguments(),
                "--platform=browser",
                "--metafile",
                "--sources-content=false",
                "--log-level=silent",
                "--minify",
                "--sourcemap=linked",
                "--alias:@vrcnext/plugin-api=./host/packages/api/src/index.ts",
                "--alias:@vrcnext/static-plugins=./build/static-plugins.ts",
            ],
        )
