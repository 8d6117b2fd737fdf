import re

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval.wording import (
    LIST_CHARACTERS,
    detail_lines,
    listed,
    permission_labels,
)
from bridge.settings.host import SHIPPED, PermissionWords, load_profile

from .gains import gains_of

WORDS = load_profile("reference").permission_words


class PermissionLinesTests(SynchronousTestCase):
    def test_every_permission_of_the_shipped_profiles_has_words(self):
        """No user reads a bare identifier of a shipped profile."""
        for profile in map(load_profile, SHIPPED):
            self.assertEqual(set(profile.permissions), set(WORDS))

    def test_attack_many_permissions_hide_none(self):
        """However many are gained, the label of each is shown, in one line."""
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
