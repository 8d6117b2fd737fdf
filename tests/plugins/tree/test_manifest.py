"""``plugin.json``."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval.wording import Difference
from bridge.plugins.tree.manifest import (
    Manifest,
    check_id,
    check_new_id,
    differences,
    is_usable_id,
    load_manifest,
    read_manifest,
)
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


def read(value: object, profile=PLAIN) -> Manifest:
    """Read a manifest given as plain JSON."""
    return read_manifest(json.dumps(value).encode(), profile)


def with_(**fields: object) -> dict[str, Any]:
    """The least manifest, with these fields."""
    return {**LEAST, **fields}


class Refusals(SynchronousTestCase):
    """What the tests of refusals share."""

    def refusal(self, content: object, profile=PLAIN) -> str:
        """The message ``content``, bytes or plain JSON, is refused with."""
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
        with self.assertRaises(BridgeError) as caught:
            read_manifest(content, profile)
        self.assertIs(caught.exception.code, Code.BAD_REQUEST)
        message: str = caught.exception.message
        return message

    def assert_refused(self, field: str, value: object, profile=PLAIN) -> None:
        """``value`` in ``field`` breaks a rule whose message names the field."""
        message = self.refusal(with_(**{field: value}), profile)
        self.assertTrue(
            message.startswith(f"manifest_invalid: {field}: "), (value, message)
        )


class AcceptedTests(SynchronousTestCase):
    """What is a manifest."""

    def test_least(self):
        """Four fields are required; the others have a value without being there."""
        manifest = read(LEAST)
        self.assertEqual(
            unstructure(manifest),
            {**LEAST, "description": "", **{name: [] for name in LISTS}},
        )

    def test_real(self):
        """A published manifest passes, and a list entry has all of its fields."""
        manifest = read(REAL)
        self.assertEqual(manifest.api_version, "^0.5.2")
        self.assertEqual(manifest.optional_permissions, ["sql"])
        self.assertEqual(unstructure(manifest), REAL)

    def test_schema(self):
        """The address of its schema is no field; it must be text all the same."""
        self.assertEqual(read({"$schema": "./schema.json", **LEAST}), read(LEAST))
        for bad in (None, 5, ["./schema.json"]):
            with self.assertRaises(BridgeError) as raised:
                read({**LEAST, "$schema": bad})
            self.assertEqual(
                raised.exception.message, "manifest_invalid: $schema: wrong type"
            )

    def test_byte_order_mark(self):
        """One at the start, as editors on Windows write it, is no part of the text."""
        mark, text = b"\xef\xbb\xbf", json.dumps(LEAST).encode()
        self.assertEqual(read_manifest(mark + text, PLAIN), read(LEAST))
        for bad in (mark + mark + text, text + mark):
            self.assertRaises(BridgeError, read_manifest, bad, PLAIN)

    def test_null_is_absent(self):
        """A null author or homepage is as none."""
        manifest = read(with_(author=None, homepage=None))
        self.assertEqual(manifest, read(LEAST))
        self.assertNotIn("author", unstructure(manifest))

    def test_plain_ranges(self):
        """Every plain range passes where versions are plain."""
        for text in (
            *("0.2.0 =0.2.0 ^0.2.0 ~0.2.1", ">=0.2.0 <1.0.0", ">0.1.0 <=0.9.9"),
        ):
            self.assertEqual(read(with_(apiVersion=text)).api_version, text)

    def test_free_versions(self):
        """A host that is configured so accepts SemVer 2 in full, and any range."""
        for version in ("1.2.3-beta.1+b", f"{'9' * 60}.0.0"):
            self.assertEqual(read(with_(version=version), FREE).version, version)
        for text in ("*", "1.x", "||", "1.0.0 - 2.0.0", ">= 1.2 || ~3"):
            self.assertEqual(read(with_(apiVersion=text), FREE).api_version, text)

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
        padding = b" " * (MANIFEST_BYTES - len(json.dumps(LEAST)))
        read_manifest(json.dumps(LEAST).encode() + padding, PLAIN)

    def test_vocabulary_of_the_host(self):
        """Permissions are those of the host's profile."""
        other = evolve(PLAIN, permissions=["flying"])
        self.assertEqual(read(with_(permissions=["flying"]), other).name, "N")


class RefusedTests(Refusals):
    """What is none, and how that is reported."""

    def test_missing(self):
        """A required field that is missing is named."""
        for field in LEAST:
            message = self.refusal({k: v for k, v in LEAST.items() if k != field})
            self.assertEqual(message, f"manifest_invalid: {field}: required")

    def test_bad_id(self):
        """An id that breaks the id rule has a prefix of its own."""
        for value in (
            *("../x", "Caps", "a", "a" * 41, "-ab", "a_b", "ab\n", "", "à1", "a/b"),
            *(5, None, ["ab"]),
        ):
            message = self.refusal(with_(id=value))
            self.assertTrue(message.startswith("invalid_id: "), (value, message))

    def test_bad_version(self):
        """A version that is not N.N.N is refused where versions are plain."""
        for value in ("1.2", "v1.2.3", "1.2.3-beta", "01.2.3", "1.2.3\n", "", 1, None):
            self.assert_refused("version", value)

    def test_bad_free_version(self):
        """A version that is not SemVer 2 is refused everywhere."""
        for value in ("1.2", "v1.2.3", "1.2.3-01"):
            self.assert_refused("version", value, FREE)

    def test_bad_range(self):
        """A range that is not plain is refused where versions are plain."""
        for value in ("", "*", "1.x", "||", ">= 1.2.3", "^1.0.0\t<2.0.0", 1, None):
            self.assert_refused("apiVersion", value)

    def test_bad_free_range(self):
        """A range that is none, or over 100 characters, is refused everywhere."""
        for value in ("", "latest", "1.*.3", "1.0.0 " * 17, "1.0.0\u00a02.0.0"):
            self.assert_refused("apiVersion", value, FREE)

    def test_elements_of_the_page(self):
        """No host has a field that gives a plugin elements of the page."""
        for profile in (PLAIN, FREE):
            self.assertIn("unknown field", self.refusal(with_(dom=True), profile))

    def test_bad_text(self):
        """Text is bounded, on one line, and where it names something not blank."""
        value: object
        for field in ("name", "author", "homepage"):
            for value in ("", "  ", "n" * 201, "a\nb", "a\x1b[2J", "a\x85", 1, ["a"]):
                self.assert_refused(field, value)
        for value in ("d" * 201, "a\nb", None, 1):
            self.assert_refused("description", value)

    def test_attack_invisible_text(self):
        """Nothing in a shown text turns it around, or is there without being seen."""
        fillers = "\u115f\u1160\u2800\u3164\uffa0"
        for unseen in f"\u202e\u2066\u200b\u2060\ufeff\u2028\0\x9b\ue000{fillers}":
            for field in ("name", "author", "homepage", "description"):
                self.assert_refused(field, f"gpj{unseen}.exe")
            self.assert_refused("tags", [f"a{unseen}b"])

    def test_joiners(self):
        """A joiner is between two others: in Persian, in Hindi and in emoji."""
        persian = "\u0645\u06cc\u200c\u062e"
        for name in (persian, "\u0915\u094d\u200d\u0937", "\U0001f468\u200d\U0001f4bb"):
            self.assertEqual(read(with_(name=name)).name, name)
        for name in ("\u200da", "a\u200c", "a \u200cb", "a\u200d\u200db", "a\u200c b"):
            self.assert_refused("name", name)

    def test_attack_name_that_does_not_show(self):
        """Of a text something shows: neither blanks nor marks alone are a name."""
        for name in ("\u3000", "\ufe0f", "\u034f \U000e0100", "\u180b"):
            self.assert_refused("name", name)

    def test_every_invisible_category(self):
        """The written classes are the categories, as far as this Python knows them."""
        hidden = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
        fillers = set("\u115f\u1160\u2800\u3164\uffa0")
        known = [
            c for c in map(chr, range(0x110000)) if unicodedata.category(c) != "Cn"
        ]
        found = {c for c in known if INVISIBLE.match(c)}
        unseen = {c for c in known if unicodedata.category(c) in hidden}
        self.assertEqual(found, (unseen | fillers) - set("\u200c\u200d"))

    def test_bad_lists(self):
        """Every list refuses what is no list of strings, and what is in it twice."""
        value: object
        for field in LISTS:
            twice = "network" if "ermissions" in field else "xy"
            for value in (None, "ab", {}, [1], [None], [[]], [""], [twice, twice]):
                self.assert_refused(field, value)

    def test_too_many(self):
        """Every list is bounded."""
        self.assert_refused("tags", [f"t{i}" for i in range(9)])
        for field in ("actions", "events", "hosts", "dependencies", "permissions"):
            self.assert_refused(field, [f"x{i}" for i in range(65)])

    def test_unknown_permission(self):
        """A permission the host does not have is refused."""
        for field in ("permissions", "optionalPermissions"):
            self.assert_refused(field, ["network", "flying"])

    def test_bad_names(self):
        """Actions and events are exact names."""
        for field in ("actions", "events"):
            for value in ("get*", "friend online", "a/b", "a" * 201, "é"):
                self.assert_refused(field, [value])

    def test_bad_hosts(self):
        """A host has no wildcard, scheme, path, upper case or text for a port."""
        for value in (
            *("*.example.com", "https://example.com", "example.com/x", "a:b", "a:"),
            *("a:0", "a:65536", "a:123456", "a:٣", "Example.com", ".a", "a.", "a..b"),
            *("-a", "a-", "[::1]", "a b", "user@a", "a_b", "a." * 100 + "a", "a\n"),
        ):
            self.assert_refused("hosts", [value])

    def test_own_dependency(self):
        """A plugin cannot need itself."""
        self.assert_refused("dependencies", ["ab"])
        self.assert_refused("dependencies", ["../x"])

    def test_unknown_field(self):
        """A field that is none of ours is refused with the nearest, or all of ours."""
        place = f"manifest_invalid: plugin.json:1:{len(json.dumps(LEAST)) + 2}"
        self.assertEqual(
            self.refusal(with_(dependancies=[])),
            f"{place} unknown field; did you mean dependencies?",
        )
        message = self.refusal(with_(colour="red"))
        self.assertTrue(message.startswith(f"{place} unknown field; the fields are id"))
        self.assertIn("optionalPermissions", message)

    def test_attack_duplicate_keys(self):
        """Readers that differ on which of two keys counts are not set apart."""
        text = json.dumps(LEAST)[:-1].encode()
        message = self.refusal(text + b',"name":"M"}')
        place = f"plugin.json:1:{len(text) + 2}"
        self.assertIn(f"{place} an object has a key twice", message)

    def test_attack_large_manifest(self):
        """A manifest over 64 KiB is not even parsed."""
        message = self.refusal(b" " * (MANIFEST_BYTES + 1))
        self.assertIn("plugin.json: must be at most 65536 bytes", message)

    def test_not_json(self):
        """What is not one strict JSON object is refused, mostly with its place."""
        for content in (
            *(
                b"",
                b"{",
                b"[]",
                b"null",
                b'"a"',
                b"{}x",
                b"\xff",
            ),
            *(b'{"id":NaN}', b'{"id":"\\ud800"}', b"[" * 5000, b'{"a":' * 100),
        ):
            message = self.refusal(content)
            self.assertRegex(message, r"^manifest_invalid: plugin\.json:(\d+:\d+)? ")
        self.assertEqual(
            self.refusal(b'{\n  "id": "ab"\n  "name": "N"\n}'),
            "manifest_invalid: plugin.json:3:3 expected a comma or a closing bracket",
        )

    def test_no_echo(self):
        """No refusal repeats what was sent, neither values nor unknown names."""
        secret = "Zq9"
        for field in (*LEAST, *LISTS, "description", "author", secret):
            for value in (secret + "\n", [secret + "\n"], {secret: secret}):
                self.assertNotIn(secret, self.refusal(with_(**{field: value})))


class AnyBytesTests(SynchronousTestCase):
    """No input does anything but pass or be refused."""

    @settings(deadline=None)
    @given(st.binary(max_size=200))
    def test_bytes(self, content: bytes):
        """Any bytes are a manifest or a refusal."""
        self._validate(content)

    @settings(deadline=None)
    @given(
        st.dictionaries(
            st.sampled_from([*LEAST, *LISTS, "description", "author", "extra"]),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.dictionaries(st.text(), inner, max_size=3)
                ),
                max_leaves=5,
            ),
            max_size=4,
        )
    )
    def test_fields(self, fields: dict[str, Any]):
        """Any values in the fields are a manifest or a refusal."""
        self._validate(json.dumps({**LEAST, **fields}).encode())

    def _validate(self, content: bytes) -> None:
        for profile in (PLAIN, FREE):
            try:
                manifest = read_manifest(content, profile)
            except BridgeError as e:
                self.assertTrue(
                    e.message.startswith(("manifest_invalid: ", "invalid_id: "))
                )
            else:
                self.assertEqual(read(unstructure(manifest), profile), manifest)


class CheckIdTests(SynchronousTestCase):
    """The gate before a path."""

    def test_passes(self):
        """An id comes back as it was."""
        self.assertEqual(check_id("a-1"), "a-1")

    def test_attack_path(self):
        """What would lead out of a directory never comes back."""
        for text in ("..", "../x", "a/b", "a\\b", "/ab", "ab\0", "ab\n", "c:"):
            with self.assertRaises(BridgeError) as caught:
                check_id(text)
            self.assertTrue(caught.exception.message.startswith("invalid_id: "))

    def test_attack_device(self):
        """A name that Windows gives to a device is no plugin's."""
        devices = ("con", "prn", "aux", "nul", "com1", "com9", "lpt1", "lpt9")
        for name in devices:
            with self.assertRaises(BridgeError) as caught:
                read_manifest(json.dumps({**LEAST, "id": name}).encode(), PLAIN)
            self.assertTrue(caught.exception.message.startswith("invalid_id: "))
            self.assertFalse(is_usable_id(name))
        for name in ("host", "bridge"):
            with self.assertRaises(BridgeError) as caught:
                check_new_id(name)
            self.assertTrue(caught.exception.message.startswith("invalid_id: "))
        for name in ("con-", "com", "com10", "null", "a-nul", "1con", "hosts"):
            self.assertEqual(check_new_id(name), name)

    def test_installed_device(self):
        """What an earlier version installed under such a name can be removed."""
        self.assertEqual(check_id("nul"), "nul")


class TreeTests(SynchronousTestCase):
    """The manifest of a tree."""

    def refusal(self, **files: bytes) -> str:
        """The message a tree of these files is refused with."""
        tree = Tree({name.replace("__", "."): files[name] for name in files})
        with self.assertRaises(BridgeError) as caught:
            load_manifest(tree, PLAIN)
        message: str = caught.exception.message
        return message

    def test_read(self):
        """The manifest at the root is read."""
        tree = Tree({"plugin.json": json.dumps(LEAST).encode(), "main.ts": b""})
        self.assertEqual(load_manifest(tree, PLAIN), read(LEAST))

    def test_missing(self):
        """A tree without a manifest has none, whatever else it has."""
        self.assertTrue(self.refusal(main__ts=b"").startswith("no_manifest: "))

    def test_no_entry(self):
        """A tree without main.ts is refused."""
        refusal = self.refusal(plugin__json=json.dumps(LEAST).encode())
        self.assertEqual(refusal, "manifest_invalid: main.ts is missing")

    def test_attack_large_file(self):
        """A manifest over its limit is not parsed."""
        refusal = self.refusal(plugin__json=b" " * 65537, main__ts=b"")
        self.assertIn("must be at most 65536 bytes", refusal)


BARE = Manifest("good", "A plugin", "1.0.0", "^0.1.0")
NAMES = ("permissions", "optional_permissions", "hosts", "actions", "events")
lists = st.lists(st.sampled_from("abcd"), unique=True)
manifests = st.builds(
    lambda **kinds: evolve(BARE, **kinds),
    **dict.fromkeys(NAMES, lists),
)


def differ(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Difference]:
    """What differs, by the name of the list."""
    found = differences(evolve(BARE, **old), evolve(BARE, **new))
    every = {name: getattr(found, name) for name in NAMES}
    return {name: one for name, one in every.items() if one != Difference([], [])}


class DifferencesTests(SynchronousTestCase):
    """Tests for ``differences``."""

    def test_each_list(self) -> None:
        """Every list is compared, in the order of the new manifest."""
        for name in NAMES:
            found = differ({name: ["a", "b"]}, {name: ["d", "b", "c"]})
            self.assertEqual(found, {name: Difference(["d", "c"], ["a"])})

    def test_nothing_installed(self) -> None:
        """Without a version to compare with, all of it is gained."""
        found = differences(None, evolve(BARE, hosts=["x.example"]))
        self.assertEqual(found.hosts, Difference(["x.example"], []))
        self.assertTrue(found.grows)

    def test_attack_optional_becomes_required(self) -> None:
        """A permission that could be refused, and now can't, is gained."""
        found = differ(
            {"optional_permissions": ["network"]}, {"permissions": ["network"]}
        )
        self.assertEqual(found, {"permissions": Difference(["network"], [])})

    def test_required_becomes_optional(self) -> None:
        """A permission that can be refused now is neither gained nor lost."""
        found = differ(
            {"permissions": ["network"]}, {"optional_permissions": ["network"]}
        )
        self.assertEqual(found, {})

    def test_attack_host_with_another_port(self) -> None:
        """A port makes another host of it."""
        found = differ({"hosts": ["x.example"]}, {"hosts": ["x.example:8443"]})
        self.assertEqual(found["hosts"].gained, ["x.example:8443"])

    @given(manifests, manifests)
    def test_grows_unless_everything_was_declared(
        self, old: Manifest, new: Manifest
    ) -> None:
        """A version grows exactly when it may do what the old one may not."""
        before = {*old.permissions, *old.optional_permissions}
        contained = set(new.permissions) <= set(old.permissions) and all(
            set(after) <= set(earlier)
            for after, earlier in (
                (new.optional_permissions, before | set(new.permissions)),
                (new.hosts, old.hosts),
                (new.actions, old.actions),
                (new.events, old.events),
            )
        )
        self.assertEqual(differences(old, new).grows, not contained)
