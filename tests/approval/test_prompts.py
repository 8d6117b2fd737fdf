import re
from textwrap import wrap

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval.prompts import (
    Offer,
    Operation,
    Prompt,
    Prompts,
    host_of,
    named,
    sender,
)
from bridge.plugins.clone.server import check_url
from bridge.settings.host import load_profile

from .gains import gains_of

URL = "https://forge.example:8443/author/plugin.git"
KEY = "1bc6-e13e-c44c-3bd0-f5a8-5618-8b9b-919c"
PROMPTS = Prompts("Sample Host", load_profile("reference").permission_words)

OFFER = Offer(
    "a-plugin",
    "A <b>plugin</b>",
    "1.2.3",
    "Ann",
    gains_of(["network"], [], ["x.example"], ["vrcLogin"], []),
)
PLUGIN = """
Plugin: a-plugin, version 1.2.3
named "A ?b?plugin?/b?"
by "Ann\""""
WISHES = """Sites: x.example
Things it does in the app: vrcLogin
- Go online: can send what it knows to sites you allow
"""

texts = st.text(min_size=1, max_size=400)


def every_prompt(text, url):
    """One prompt of each operation, with ``text`` wherever a text goes."""
    return [
        PROMPTS.install(url, text),
        PROMPTS.install(url, text, offer_of(text)),
        PROMPTS.update(text, url, text, text),
        PROMPTS.uninstall(text, url),
        PROMPTS.trust_key(url, text, offer_of(text)),
        PROMPTS.rotate_key(text, url, text, text),
        PROMPTS.forget_key(text, text),
        PROMPTS.reach_host(url, [text]),
        PROMPTS.grow(
            text,
            url,
            old=text,
            new=text,
            gains=gains_of([text], [text], [text], [text], [text]),
        ),
        PROMPTS.declared(url, offer_of(text)),
    ]


def offer_of(text):
    """A plugin with ``text`` wherever a text goes."""
    gains = gains_of([text, text], [text], [text], [text], [text])
    return Offer(text, text, text, text, gains)


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
            lines = evolve(OFFER, name=name, author=name).lines
            self.assertIn(f'\nnamed "{wanted}"\nby "{wanted}"', lines)

    def test_attack_letters_that_reach_out(self):
        """No name turns, hides or covers what is around it."""
        for name, wanted in (
            ("\xe9\u202e\u2069\u2066x", "\xe9???x"),
            ("\xe9<b>&\n\u2028y", "\xe9?b?? y"),
            ("\xe9" + "\u0301" * 50 + "z", "\xe9" + "\u0301" * 3 + "z"),
            ("\xe9\u3000\xa0x", "\xe9 x"),
            ("\xe9" + "\u0301\u200d" * 9, "\xe9" + "\u0301\u200d" * 3),
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
            self.assertIn("Host: unknown", PROMPTS.uninstall("a-plugin", url).body)


class SenderTests(SynchronousTestCase):
    def test_names_the_bridge_once(self):
        """A prompt names the bridge, and the application it belongs to."""
        self.assertEqual(sender("VRCNext"), "VRCNext Bridge")
        self.assertEqual(sender("plugin-bridge"), "plugin-bridge")


class PromptTests(SynchronousTestCase):
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

    def test_every_operation_has_its_prompt(self):
        """Each names who asks, what is safe and, of a URL, all of the host."""
        prompts = every_prompt("a-plugin", URL)
        asked = [op for op in Operation if op not in ("preview", "build")]
        self.assertEqual(list(dict.fromkeys(p.operation for p in prompts)), asked)
        for prompt in prompts:
            self.assertIn("A page of Sample Host asks to", prompt.body)
            self.assertRegex(prompt.caution, "do not confirm|Confirm only if")
            if prompt.operation is not Operation.FORGET_KEY:
                self.assertTrue(prompt.body.startswith("Host: forge.example:8443\n"))
                self.assertIn("\nPath: /author/plugin.git", prompt.text)
        text = PROMPTS.reach_host(URL, ["192.168.1.5", "fd00::1"]).text
        self.assertIn("\nAddress: 192.168.1.5, fd00::1\n", text)
        self.assertNotIn("Address", PROMPTS.reach_host(URL, []).text)

    def test_attack_what_is_cut_off(self):
        """No text of an author pushes host, permissions or risk off a small screen."""
        long, lists = "x" * 200, [[f"{n}.example" for n in range(64)]] * 3
        risky, other = ["network", "sql", "vrchat"], ["native", "clipboard"]
        author = "Ann. It asks for no permissions. Host: forge.example"
        gains = gains_of(risky, other, *lists)
        offer = Offer(long[:40], "\uff21" * 60, long, author, gains)
        labels = [PROMPTS.words[name].label for name in risky + other]
        name = "somebody else may be publishing in the author's name"
        for prompt, facts in (
            (PROMPTS.install(URL, long, offer), labels),
            (PROMPTS.declared(URL, offer), labels),
            (PROMPTS.trust_key(URL, KEY, offer), labels),
            (PROMPTS.grow(long, URL, old=long, new=long, gains=gains), labels),
            (PROMPTS.rotate_key(long, URL, KEY, KEY), [name]),
        ):
            for columns, most in ((38, 8), (60, 6)):
                texts = prompt.text.split("\n")
                lines = [line for text in texts for line in wrap(text, columns)]
                seen = " ".join(lines[:most])
                for fact in ("Host: forge.example:8443", *facts):
                    self.assertIn(fact, seen)

    def test_attack_paths(self):
        """A long path pushes nothing off the screen, and its end is shown."""
        for path, wanted in (
            (f"/{'a' * 470}/evil.git", f"/{'a' * 57}...{'a' * 49}/evil.git"),
            (f"/{'&' * 470}/b.git", f"/{'%26' * 19}...6{'%26' * 17}/b.git"),
            ("/a&b.git", "/a%26b.git"),
        ):
            url = check_url(f"https://forge.example{path}")
            text = PROMPTS.install(url, "/data").text
            self.assertIn(f"\nPath: {wanted}\n", text)

    def test_what_a_user_decides_by(self):
        """The key, the plugin, its version and all that it wants to do are shown."""
        trust = PROMPTS.trust_key(URL, KEY, OFFER)
        text = f"Key: {KEY}\nIt can: Go online\nA page of Sample Host asks to accept"
        self.assertIn(text, trust.body)
        self.assertIn("only if the author published this fingerprint", trust.caution)
        # After a preview the first prompt has all of it, and this one only its name.
        firsts = PROMPTS.install(URL, "/data", OFFER), PROMPTS.declared(URL, OFFER)
        for prompt in (trust, *firsts):
            self.assertIn("\nIt can: Go online\n", prompt.body)
            self.assertTrue(prompt.details.startswith(WISHES))
            self.assertTrue(prompt.details.endswith(PLUGIN))
        known = PROMPTS.trust_key(URL, KEY, OFFER, is_known=True)
        self.assertEqual(known.details, f"Path: /author/plugin.git{PLUGIN}")
        self.assertNotIn("It can", known.body)
        nothing = evolve(OFFER, author="", declared=gains_of([], [], [], [], []))
        prompt = PROMPTS.declared(URL, nothing)
        self.assertIn("\nIt asks for no permissions.\n", prompt.body)
        self.assertNotIn("\nby", prompt.details)

    def test_grow_words_each_gain(self):
        """Each gain is in plain words, the risky permissions first."""
        gains = gains_of(
            ["notifications", "network"],
            ["clipboard"],
            ["x.example", "y.example:8443"],
            ["vrcLogin"],
            ["friend-online"],
        )
        prompt = PROMPTS.grow("a-plugin", URL, old="1.0.0", new="1.1.0", gains=gains)
        self.assertIn("from version 1.0.0 to 1.1.0", prompt.details)
        self.assertIn(
            "\nIt can also: Go online, Show messages in the app; if you allow it "
            "later: Use the clipboard\n",
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
