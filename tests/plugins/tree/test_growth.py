"""Tests for ``bridge.plugins.tree.growth``."""

from typing import Any

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval.wording import Difference
from bridge.plugins.tree.growth import differences
from bridge.plugins.tree.manifest import Manifest

PLAIN = Manifest("good", "A plugin", "1.0.0", "^0.1.0")
NAMES = ("permissions", "optional_permissions", "hosts", "actions", "events")
lists = st.lists(st.sampled_from("abcd"), unique=True)
manifests = st.builds(
    lambda **kinds: evolve(PLAIN, **kinds),
    **dict.fromkeys(NAMES, lists),
)


def differ(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Difference]:
    """What differs, by the name of the list."""
    found = differences(evolve(PLAIN, **old), evolve(PLAIN, **new))
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
        found = differences(None, evolve(PLAIN, hosts=["x.example"]))
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
