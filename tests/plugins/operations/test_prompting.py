import re
from textwrap import wrap

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.server import check_url
from bridge.plugins.tree.manifest import Manifest
from bridge.protocol.steps import Operation

from .bench import KEY, PROFILE, asked, candidate_of

URL = "https://forge.example:8443/author/plugin.git"
NOTHING = Manifest("a-plugin", "A <b>plugin</b>", "1.2.3", "^1")
LISTS = "permissions", "optional_permissions", "hosts", "actions", "events"


def wishing(plugin, *lists):
    """A plugin that declares all this."""
    return evolve(plugin, **dict(zip(LISTS, lists, strict=True)))


FOUND = wishing(NOTHING, ["network"], [], ["x.example"], ["vrcLogin"], [])
FOUND = evolve(FOUND, author="\u5929\u6c17")
CANDIDATE = candidate_of(URL, FOUND)
PLUGIN = """Path: /author/plugin.git
Plugin: a-plugin, version 1.2.3
"""
WISHES = """Sites: x.example
Things it does in the app: vrcLogin
- Go online: can send what it knows to sites you allow
"""
NAMES = """named "A ?b?plugin?/b?"
by "\u2068\u5929\u6c17\u2069\""""

texts = st.text(min_size=1, max_size=400)


def every_prompt(text, url):
    """One prompt of each operation, with ``text`` wherever a text goes."""
    plain = Manifest(text, text, text, "^1", author=text)
    found = wishing(plain, [text, text], [f"{text}x"], [text], [text], [text])
    candidate = candidate_of(url, found, text)
    return [
        asked("to_install", url, text, None),
        asked("to_install", url, text, found),
        asked("to_update", text, url, text, text),
        asked("to_uninstall", text, url),
        asked("for_trust", candidate),
        asked("to_rotate", candidate, f"{text}x"),
        asked("to_forget", text, label=text),
        asked("to_reach", url, [text]),
        asked("to_grow", candidate, plain),
        asked("for_permissions", candidate),
    ]


class PromptingTests(SynchronousTestCase):
    @given(texts)
    def test_attack_text_in_a_prompt(self, text):
        """No text, wherever it goes, brings markup, control characters or a line."""
        plain = [p.text.count("\n") for p in every_prompt("x", URL)]
        for prompt, lines in zip(every_prompt(text, URL), plain, strict=True):
            self.assertEqual(prompt.text.count("\n"), lines)
            for line in (prompt.title, *prompt.text.split("\n")):
                bare = re.sub("[\u2068\u2069\u200c\u200d]", "", line)
                self.assertTrue(bare.isprintable(), line)
                self.assertFalse(set(line) & set("<>&"))

    def test_every_operation_has_its_prompt(self):
        """Each names who asks, what is safe and, of a URL, all of the host."""
        prompts = every_prompt("a-plugin", URL)
        wanted = [op for op in Operation if op not in ("preview", "build")]
        self.assertEqual(list(dict.fromkeys(p.operation for p in prompts)), wanted)
        for prompt in prompts:
            self.assertIn("A page of Sample Host asks to", prompt.body)
            self.assertRegex(prompt.caution, "do not confirm|Confirm only if")
            if prompt.operation is not Operation.FORGET_KEY:
                self.assertTrue(prompt.body.startswith("Host: forge.example:8443\n"))
                self.assertIn("\nPath: /author/plugin.git", prompt.text)
            # A title may be cut.  The first is asked before the id is known.
            other = (Operation.FORGET_KEY, Operation.PRIVATE_HOST)
            has_id = prompt is not prompts[0] and prompt.operation not in other
            self.assertEqual("\nPlugin: a-plugin" in prompt.text, has_id)
        text = asked("to_reach", URL, ["192.168.1.5", "fd00::1"]).text
        self.assertIn("\nAddress: 192.168.1.5, fd00::1\n", text)
        self.assertNotIn("Address", asked("to_reach", URL, []).text)

    def test_attack_what_is_cut_off(self):
        """No text of an author pushes host, permissions or risk off a small screen."""
        long, lists = "x" * 200, [[f"{n}.example" for n in range(64)]] * 3
        risky, other = ["network", "sql", "vrchat"], ["native", "clipboard"]
        author = "Ann. It asks for no permissions. Host: forge.example"
        old = Manifest(long[:40], "\uff21" * 60, long, "^1", author=author)
        found = wishing(old, risky, other, *lists)
        candidate = candidate_of(URL, found)
        words = PROFILE.permission_words
        labels = [words[name].label for name in risky + other]
        name = "somebody else may be publishing in the author's name"
        for prompt, facts in (
            (asked("to_install", URL, long, found), labels),
            (asked("for_permissions", candidate), labels),
            (asked("for_trust", candidate), labels),
            (asked("to_grow", candidate, old), labels),
            (asked("to_rotate", candidate, KEY[::-1]), [name]),
        ):
            for columns, most in ((38, 8), (60, 6)):
                texts = prompt.text.split("\n")
                lines = [line for text in texts for line in wrap(text, columns)]
                seen = " ".join(lines[:most])
                for fact in ("Host: forge.example:8443", *facts):
                    self.assertIn(fact, seen)

    def test_attack_links(self):
        """No name or path is a link, which a desktop lists with the answers."""
        found = evolve(NOTHING, name="www.evil.example", author="\u5929 HTTP://x.y/z")
        for text in (
            asked("to_install", URL, "/data", found).text,
            asked("to_forget", KEY, label="x (https://forge.example/x)").text,
            asked("to_forget", KEY, label="mailto:a@b.example file:///etc").text,
        ):
            self.assertNotRegex(text, r"(?i)(://|mailto:|www\.)\S")

    def test_attack_paths(self):
        """A long path hides nothing, and its end is shown; none has a link."""
        for path, wanted in (
            (f"/{'a' * 470}/evil.git", f"/{'a' * 57}...{'a' * 49}/evil.git"),
            (f"/{'&' * 470}/b.git", f"/{'%26' * 19}...6{'%26' * 17}/b.git"),
            ("/a&b.git", "/a%26b.git"),
            ("/www.x.y/http://mailto:z", "/www%2Ex.y/http:/%2Fmailto%3Az"),
        ):
            url = check_url(f"https://forge.example{path}")
            text = asked("to_install", url, "/data", None).text
            self.assertIn(f"\nPath: {wanted}\n", text)

    def test_what_a_user_decides_by(self):
        """The key, the plugin, its version and all that it wants to do are shown."""
        trust = asked("for_trust", CANDIDATE)
        text = f"Key: {KEY}\nIt can: Go online\nA page of Sample Host asks to accept"
        self.assertIn(text, trust.body)
        self.assertIn("only if the author published this fingerprint", trust.caution)
        # After a preview the first prompt has all of it, and this one only its name.
        first = asked("to_install", URL, "/data", FOUND)
        for prompt in (trust, first, asked("for_permissions", CANDIDATE)):
            self.assertIn("\nIt can: Go online\n", prompt.body)
            self.assertTrue(prompt.details.startswith(PLUGIN + WISHES))
            self.assertTrue(prompt.details.endswith(NAMES))
        known = asked("for_trust", CANDIDATE, is_known=True)
        self.assertEqual(known.details, PLUGIN + NAMES)
        self.assertNotIn("It can", known.body)
        prompt = asked("to_install", URL, "/data", NOTHING)
        self.assertIn("\nIt asks for no permissions.\n", prompt.body)
        self.assertNotIn("\nby", prompt.details)

    def test_grow_words_each_gain(self):
        """Each gain is in plain words, the risky permissions first."""
        new = wishing(
            evolve(NOTHING, version="1.1.0"),
            ["notifications", "network"],
            ["clipboard"],
            ["x.example", "y.example:8443"],
            ["vrcLogin"],
            ["friend-online"],
        )
        old = evolve(NOTHING, version="1.0.0")
        prompt = asked("to_grow", candidate_of(URL, new), old)
        self.assertIn("a-plugin, version 1.0.0 to 1.1.0\n", prompt.details)
        self.assertIn(
            "\nIt can also: Go online, Show messages in the app"
            "\nIf you allow it later: Use the clipboard\n",
            prompt.body,
        )
        self.assertIn(
            "New sites: x.example, y.example:8443\n"
            "New things it does in the app: vrcLogin\n"
            "New events it receives: friend-online\n"
            "- Go online: can send what it knows to sites you allow\n"
            "- Show messages in the app: can distract you\n"
            "- Use the clipboard: ",
            prompt.details,
        )
