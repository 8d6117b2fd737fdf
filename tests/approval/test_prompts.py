import re

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval.prompts import (
    LIST_CHARACTERS,
    Difference,
    Differences,
    Prompt,
    detail_lines,
    host_line,
    host_of,
    listed,
    named,
    permission_labels,
    sender,
)
from bridge.plugins.clone.server import check_url
from bridge.protocol.steps import Operation
from bridge.settings.host import SHIPPED, PermissionWords, load_profile

WORDS = load_profile("reference").permission_words


def gains_of(*gains):
    """What a plugin gains that loses nothing: permissions, optional ones, and so on."""
    return Differences(*(Difference(gained, []) for gained in gains))


class ShownTests(SynchronousTestCase):
    def test_names_have_their_letters(self):
        """A name is shown as it is written, between isolates; ASCII needs none."""
        for name, wanted in (
            ("Hello", "Hello"),
            ("\u5929\u6c17", "\u2068\u5929\u6c17\u2069"),
            ("\u0637\u0642\u0633 1", "\u2068\u0637\u0642\u0633 1\u2069"),
            ("\u0645\u06cc\u200c\u0634", "\u2068\u0645\u06cc\u200c\u0634\u2069"),
            ('Caf\xe9 "x"', "\u2068Caf\xe9 'x'\u2069"),
            ("\xe9" * 61, "\u2068" + "\xe9" * 57 + "...\u2069"),
        ):
            self.assertEqual(named(name), wanted)

    def test_attack_letters_that_reach_out(self):
        """No name turns, hides or covers what is around it."""
        for name, wanted in (
            ("\xe9\u202e\u2069\u2066x", "\xe9???x"),
            ("\xe9<b>&\n\u2028y", "\xe9?b?? y"),
            ("\xe9" + "\u0301" * 50 + "z", "\xe9" + "\u0301" * 4 + "z"),
            ("\u101b\u103d\u103e\u1036\u1037", "\u101b\u103d\u103e\u1036\u1037"),
            ("\u1019\u103c\u103d\u103e\u102c", "\u1019\u103c\u103d\u103e\u102c"),
            ("\xe9\u3000\xa0x", "\xe9 x"),
            ("\xe9" + "\u0301\u200d" * 9, "\xe9" + "\u0301\u200d" * 4),
            ("\xe9\u201d, by \u201cGood\xbb", "\xe9', by 'Good'"),
        ):
            self.assertEqual(named(name), f"\u2068{wanted}\u2069")

    def test_host_has_its_port(self):
        """The host is the one that is dialled, never cut, with a port of its own."""
        name = ".".join(["a" * 60] * 4) + ".evil"
        for host, wanted in (
            *((it, it) for it in ("forge.example:8443", "[2001:db8::1]", name)),
            *((it, "192.168.1.1") for it in ("3232235777", "0xc0a80101:443")),
        ):
            self.assertEqual(host_of(check_url(f"https://{host}/x.git")), wanted)

    def test_what_is_no_url_has_an_unknown_host(self):
        """A damaged record does not break the prompt that uninstalls it."""
        for url in ("", "nothing", "https://[", "https://a:b/"):
            self.assertEqual(host_of(url), "unknown")
            self.assertEqual(host_line(url), "Host: unknown")


class SenderTests(SynchronousTestCase):
    def test_names_the_bridge_once(self):
        """A prompt names the bridge, and the application it belongs to."""
        self.assertEqual(sender("VRCNext"), "VRCNext Bridge")
        self.assertEqual(sender("plugin-bridge"), "plugin-bridge")


class PromptTests(SynchronousTestCase):
    def test_prompt_refuses_markup(self):
        """A prompt that was worded elsewhere holds no markup either, and no lines."""
        self.assertEqual(Prompt(Operation.INSTALL, "a", "b\nc").body, "b\nc")
        self.assertEqual(Prompt(Operation.INSTALL, "caf\xe9", "").title, "caf\xe9")
        bad = ("a <b>", "a & b", "\u202e", "\x1b[1m", "a\r", "a\u2028", "\xa0")
        for title, body, caution in (
            *((text, "", "") for text in (*bad, "a\n", "a\nb")),
            *(("", text, "") for text in bad),
            *(("", "", text) for text in (*bad, "a\n", "a\nb")),
        ):
            with self.assertRaises(ValueError):
                Prompt(Operation.INSTALL, title, body, caution)


class PermissionLinesTests(SynchronousTestCase):
    def test_every_permission_of_the_shipped_profiles_has_words(self):
        """No user reads a bare identifier of a shipped profile."""
        for profile in map(load_profile, SHIPPED):
            self.assertEqual(set(profile.permissions), set(WORDS))

    def test_attack_many_permissions_hide_none(self):
        """However many are gained, the label of each is shown."""
        every = gains_of([], [*WORDS], [], [], [])
        line = permission_labels(WORDS, every, new=False)
        for meaning in WORDS.values():
            self.assertIn(meaning.label, line)
        self.assertNotRegex(line, r" and \d+ more")

    def test_long_texts(self):
        """What permissions mean is shown in at most three hundred characters."""
        for size, shown in ((291, [f"- label: {'y' * 291}"]), (292, [])):
            words = {"p": PermissionWords("label", "y" * size, risky=False)}
            found = gains_of(["p"], [], [], [], [])
            self.assertEqual(detail_lines(words, found, new=False), shown)

    def test_unknown_permission(self):
        """One that the profile has no words for is shown first, by its name."""
        found = gains_of([], ["routes", "custom:thing"], [], [], [])
        lines = detail_lines(WORDS, found, new=True)
        self.assertEqual(lines[0], "- custom:thing: a permission of this app")
        line = permission_labels(WORDS, found, new=True)
        self.assertEqual(line, "If you allow it later: custom:thing, Add pages")
        line = permission_labels(WORDS, gains_of([], [], ["x"], [], []), new=True)
        self.assertEqual(line, "It asks for no more permissions.")


class ListedTests(SynchronousTestCase):
    @given(st.lists(st.text(max_size=250), max_size=70))
    def test_attack_long_list(self, names):
        """A list is one short line; what is not shown of it is counted."""
        line = listed(names)
        self.assertLessEqual(len(line), LIST_CHARACTERS)
        self.assertTrue(re.fullmatch("[ -~]*", line))
        self.assertFalse(set(line) & set('<>&"'))

    def test_attack_names_past_the_end(self):
        """The reader sees how many names are not shown, and at least one name."""
        names = [f"host{n:02}.example" for n in range(64)]
        self.assertEqual(listed(names), f"{', '.join(names[:17])}, and 47 more")
        self.assertEqual(listed([]), "none")
        exactly = ["x" * 149, "y" * 149]
        self.assertEqual(listed(exactly), ", ".join(exactly))
        self.assertEqual(listed([*exactly, "z"]), f"{exactly[0]}, and 2 more")
        for count in (2, 500):
            long = ["x" * 400] * count
            self.assertEqual(listed(long), f"{'x' * 283}..., and {count - 1} more")
