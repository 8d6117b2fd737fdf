"""``plugin.json``."""

import json
import unicodedata
from itertools import product
from typing import Any

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval.prompts import Difference
from bridge.plugins.tree import manifest
from bridge.plugins.tree.tree import Tree
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import MANIFEST_BYTES
from bridge.protocol.text import INVISIBLE
from bridge.protocol.wire import unstructure
from bridge.settings.host import load_profile

PLAIN = load_profile("vrcnext")
FREE = load_profile("reference")
LEAST = {"id": "ab", "name": "N", "version": "0.0.1", "apiVersion": "0.2.0"}
LISTS = (
    *("tags", "permissions", "optionalPermissions", "actions", "events", "hosts"),
    "dependencies",
)
# As published by a plugin of today's host.
REAL: dict[str, Any] = {
    "id": "club-security",
    "name": "Club Security",
    "version": "2.9.4",
    "apiVersion": "^0.5.2",
    "description": "Tells the doors of a club who comes in.",
    "author": "somebody",
    "homepage": "https://example.com/",
    "tags": ["clubs", "moderation"],
    "permissions": ["gamelog", "vrchat", "notifications", "native", "network"],
    "optionalPermissions": ["sql"],
    "actions": ["vrcUpdateProfile"],
    "events": ["friend:online", "libraryData"],
    "hosts": ["discord.com", "api.example.com:8443", "192.0.2.1"],
    "dependencies": ["patches"],
}


def read(value: object, profile=PLAIN) -> manifest.Manifest:
    """Read a manifest given as plain JSON."""
    return manifest.read_manifest(json.dumps(value).encode(), profile)


def with_(**fields: object) -> dict[str, Any]:
    """The least manifest, with these fields."""
    return {**LEAST, **fields}


class AcceptedTests(SynchronousTestCase):
    def test_read(self):
        """Four fields are required; the others have a value without being there."""
        empty = {"description": "", **{name: [] for name in LISTS}}
        self.assertEqual(unstructure(read(LEAST)), {**LEAST, **empty})
        self.assertEqual(unstructure(read(REAL)), REAL)
        # The address of its schema is no field, and null is as none.
        same = {"$schema": "./schema.json", **LEAST, "author": None, "homepage": None}
        self.assertEqual(read(same), read(LEAST))
        # Editors on Windows begin a file with a mark, which is no part of the text.
        mark, text = b"\xef\xbb\xbf", json.dumps(LEAST).encode()
        self.assertEqual(manifest.read_manifest(mark + text, PLAIN), read(LEAST))
        # A joiner is between two others: in Persian, in Hindi and in emoji.
        for name in (
            "\u06cc\u200c\u062e",
            "\u0915\u094d\u200d\u0937",
            "\U0001f468\u200d\U0001f4bb",
        ):
            self.assertEqual(read(with_(name=name)).name, name)

    def test_versions(self):
        """Plain ones everywhere; SemVer 2 and any range where the host wants them."""
        for profile, field, texts in (
            (PLAIN, "apiVersion", ("0.2.0 =0.2.0 ^0.2.0 ~0.2.1", ">=0.2.0 <1.0.0")),
            (PLAIN, "apiVersion", (">0.1.0 <=0.9.9", " ^1.0.0  <2.0.0 ")),
            (FREE, "version", ("1.2.3-beta.1+b", f"{'9' * 60}.0.0")),
            (FREE, "apiVersion", ("*", "1.x", "||", "1.0.0 - 2.0.0", ">= 1.2 || ~3")),
        ):
            for text in texts:
                found = unstructure(read(with_(**{field: text}), profile))
                self.assertEqual(found[field], text)

    def test_limits_are_inclusive(self):
        """What is exactly at a limit passes."""
        read(
            with_(
                id="a" * 40,
                name="n" * 200,
                description="d" * 200,
                tags=[f"{i}" * 200 for i in range(8)],
                actions=[f"a{i}" for i in range(64)],
                hosts=["a." * 99 + "aa", "a:65535"],
            )
        )
        read(with_(description="\U0001f600" * 100))
        padding = b" " * (MANIFEST_BYTES - len(json.dumps(LEAST)))
        manifest.read_manifest(json.dumps(LEAST).encode() + padding, PLAIN)

    def test_vocabulary_of_the_host(self):
        """Permissions are those of the host's profile."""
        other = evolve(PLAIN, permissions=["flying"])
        self.assertEqual(read(with_(permissions=["flying"]), other).name, "N")


class RefusedTests(SynchronousTestCase):
    """What is none, and how that is reported."""

    def refusal(self, content: object, profile=PLAIN) -> str:
        """The message ``content``, bytes or plain JSON, is refused with."""
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
        error = self.assertRaises(BridgeError, manifest.read_manifest, content, profile)
        self.assertIs(error.code, Code.BAD_REQUEST)
        return error.message

    def test_missing(self):
        """A required field that is missing is named."""
        for field in LEAST:
            message = self.refusal({k: v for k, v in LEAST.items() if k != field})
            self.assertEqual(message, f"manifest_invalid: {field}: required")

    def test_attack_ids(self):
        """An id that breaks the id rule has a prefix of its own."""
        for value in (
            *("../x", "Caps", "a", "a" * 41, "-ab", "a_b", "ab\n", "", "à1", "a/b"),
            *("con", "prn", "aux", "nul", "com1", "com9", "lpt1", "lpt9"),
            *("host", "bridge", 5, None, ["ab"]),
        ):
            message = self.refusal(with_(id=value))
            self.assertTrue(message.startswith("invalid_id: "), (value, message))

    def test_attack_fields(self):
        """A value that breaks the rule of its field is refused, naming the field."""
        texts = ("name", "author", "homepage")
        unseen = "\u202e\u2066\u200b\u2060\ufeff\u2028\0\x9b\ue000"
        unseen += "\u115f\u1160\u2800\u3164\uffa0"
        rows: Any = (
            (["$schema"], (None, 5, ["./schema.json"])),
            (["version"], ("1.2", "v1.2.3", "1.2.3-beta", "01.2.3", "1.2.3\n", "")),
            (["version"], (1, None)),
            (["apiVersion"], ("", "  ", "*", "1.x", "||", "1", "1.2", ">= 1.2.3", 1)),
            (["apiVersion"], ("^1.2.3-beta", "1.0.0 - 2.0.0", "1.0.0 || 2.0.0", None)),
            (["apiVersion"], ("~>1.2.3", "v1.2.3", "^01.2.3", "==1.2.3", "1.0.0\n")),
            (["apiVersion"], ("^1.0.0\t<2.0.0", "1.0.0 " * 4 + "1.0.0")),
            (texts, ("", "  ", "n" * 201, "a\nb", "a\x1b[2J", "a\x85", 1, ["a"])),
            (["description"], ("d" * 201, " ", "\u3000\ufe0f", "a\nb", None, 1)),
            # A page counts two for each, and VRCNext's drops the plugin.
            (["description"], ["\U0001f600" * 101]),
            # Nothing turns a shown text around, or is there without being seen.
            ((*texts, "description"), [f"gpj{one}.exe" for one in unseen]),
            (["tags"], [[f"a{one}b"] for one in unseen]),
            (
                ["name"],
                ("\u200da", "a\u200c", "a \u200cb", "a\u200d\u200db", "a\u200c b"),
            ),
            # Neither blanks nor marks alone are a name.
            (["name"], ("\u3000", "\ufe0f", "\u034f \U000e0100", "\u180b")),
            (LISTS, (None, "ab", {}, [1], [None], [[]], [""], ["network"] * 2)),
            (["tags"], [[f"t{i}" for i in range(9)]]),
            (LISTS[1:], [[f"x{i}" for i in range(65)]]),
            (("permissions", "optionalPermissions"), [["network", "flying"]]),
            (
                ("actions", "events"),
                [["get*"], ["friend online"], ["a/b"], ["a" * 201]],
            ),
            (("actions", "events"), [["é"]]),
            (
                ["hosts"],
                [["*.example.com"], ["https://example.com"], ["example.com/x"]],
            ),
            (["hosts"], [["a:b"], ["a:"], ["a:0"], ["a:65536"], ["a:123456"], ["a:٣"]]),
            (["hosts"], [["Example.com"], [".a"], ["a."], ["a..b"], ["-a"], ["a-"]]),
            (["hosts"], [["[::1]"], ["a b"], ["user@a"], ["a_b"], ["a\n"]]),
            (["hosts"], [["a." * 100 + "a"]]),
            (["dependencies"], [["ab"], ["../x"]]),
        )
        free: Any = (
            (["version"], ("1.2", "v1.2.3", "1.2.3-01")),
            (["apiVersion"], ("", "latest", "1.*.3", "1.0.0 " * 17)),
            (["apiVersion"], ["1.0.0\u00a02.0.0"]),
        )
        for profile, table in ((PLAIN, rows), (FREE, free)):
            for names, values in table:
                for field, value in product(names, values):
                    message = self.refusal(with_(**{field: value}), profile)
                    words = f"manifest_invalid: {field}: "
                    self.assertTrue(message.startswith(words), (value, message))

    def test_attack_invisible_categories(self):
        """The written classes are the categories, as far as this Python knows them."""
        hidden = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
        fillers = set("\u115f\u1160\u2800\u3164\uffa0")
        known = [
            c for c in map(chr, range(0x110000)) if unicodedata.category(c) != "Cn"
        ]
        found = {c for c in known if INVISIBLE.match(c)}
        unseen = {c for c in known if unicodedata.category(c) in hidden}
        self.assertEqual(found, (unseen | fillers) - set("\u200c\u200d"))

    def test_unknown_field(self):
        """A field that is none of ours is refused with its place, and all of ours."""
        place = f"manifest_invalid: plugin.json:1:{len(json.dumps(LEAST)) + 2}"
        # No host has a field that gives a plugin elements of the page.
        for profile in (PLAIN, FREE):
            message = self.refusal(with_(dom=True), profile)
            self.assertIn(f"{place} unknown field; the fields are id", message)
        self.assertIn("optionalPermissions", message)

    def test_attack_texts(self):
        """
        What is not one strict JSON object, without a key twice, is refused.

        What else is not strict, ``test_jsontext`` has.
        """
        start = json.dumps(LEAST)[:-1].encode()
        for content, words in (
            (b"", ":1:1 not JSON"),
            (b"[]", ": must be an object"),
            (b"null", ": must be an object"),
            (
                start + b',"name":"M"}',
                f":1:{len(start) + 2} an object has this key twice",
            ),
            (b" " * (MANIFEST_BYTES + 1), ": must be at most 65536 bytes"),
        ):
            message = self.refusal(content)
            self.assertTrue(
                message.startswith(f"manifest_invalid: plugin.json{words}"), message
            )

    def test_attack_echo(self):
        """No refusal repeats what was sent, neither values nor unknown names."""
        secret = "Zq9"
        for field in (*LEAST, *LISTS, "description", "author", secret):
            for value in (secret + "\n", [secret + "\n"], {secret: secret}):
                self.assertNotIn(secret, self.refusal(with_(**{field: value})))


class CheckIdTests(SynchronousTestCase):
    """The gate before a path."""

    def test_attack_path(self):
        """What would lead out of a directory never comes back."""
        # What an earlier version installed under the name of a device can be removed.
        for text in ("a-1", "nul"):
            self.assertEqual(manifest.check_id(text), text)
        for text in ("..", "../x", "a/b", "a\\b", "/ab", "ab\0", "ab\n", "c:"):
            error = self.assertRaises(BridgeError, manifest.check_id, text)
            self.assertTrue(error.message.startswith("invalid_id: "))

    def test_attack_reserved(self):
        """Names of log scopes, and of devices of Windows, are no new plugin's."""
        for name in ("host", "bridge", "con", "lpt9"):
            self.assertFalse(manifest.is_usable_id(name))
            error = self.assertRaises(BridgeError, manifest.check_new_id, name)
            self.assertTrue(error.message.startswith("invalid_id: "))
        for name in ("con-", "com", "com10", "null", "a-nul", "1con", "hosts"):
            self.assertEqual(manifest.check_new_id(name), name)


class TreeTests(SynchronousTestCase):
    def test_refused(self):
        """A tree without a manifest or a ``main.ts`` is none of a plugin."""
        for files, words in (
            ({"main.ts": b""}, "no_manifest: there is no plugin.json at the root"),
            (
                {"plugin.json": json.dumps(LEAST).encode()},
                "manifest_invalid: main.ts is missing",
            ),
        ):
            error = self.assertRaises(
                BridgeError, manifest.load_manifest, Tree(files), PLAIN
            )
            self.assertEqual(error.message, words)


BARE = manifest.Manifest("good", "A plugin", "1.0.0", "^0.1.0")
NAMES = ("permissions", "optional_permissions", "hosts", "actions", "events")


def differ(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Difference]:
    """What differs, by the name of the list."""
    found = manifest.differences(evolve(BARE, **old), evolve(BARE, **new))
    every = {name: getattr(found, name) for name in NAMES}
    return {name: one for name, one in every.items() if one != Difference([], [])}


class DifferencesTests(SynchronousTestCase):
    def test_attack_differences(self) -> None:
        """Every list is compared, in the order of the new manifest."""
        optional, required = ({name: ["network"]} for name in NAMES[1::-1])
        for old, new, expected in (
            *(
                (
                    {name: ["a", "b"]},
                    {name: ["d", "b", "c"]},
                    {name: Difference(["d", "c"], ["a"])},
                )
                for name in NAMES
            ),
            # It could be refused, and now can't; the other way round is no change.
            (optional, required, {"permissions": Difference(["network"], [])}),
            (required, optional, {}),
        ):
            self.assertEqual(differ(old, new), expected)
        # Without a version to compare with, all of it is gained.
        found = manifest.differences(None, evolve(BARE, hosts=["x.example"]))
        self.assertEqual(found.hosts, Difference(["x.example"], []))
