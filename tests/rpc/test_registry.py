"""Tests for bridge.rpc.registry."""

from __future__ import annotations

from typing import Any

from attrs import define, frozen
from twisted.trial.unittest import SynchronousTestCase

from bridge.rpc.registry import (
    NoParams,
    NoResult,
    Registry,
    method,
    methods_of,
    summary_of,
)


@frozen
class Water:
    """Some water."""

    litres: float


@define
class Kettle:
    """
    Boils
    water.

    Not documented: how.
    """

    @method(Water, NoResult)
    async def fill(self, params: Water) -> NoResult:
        """Fill it."""
        return NoResult()

    @method(NoParams, Water)
    async def empty(self, params: NoParams) -> Water:
        """Empty it, all of it."""
        return Water(1.0)

    async def secret(self, params: NoParams) -> NoResult:
        """Do what nobody may ask for."""
        return NoResult()


class Lamp:
    """Shines."""

    def describe(self) -> dict[str, Any]:
        """Describe the bulb."""
        return {"bulb": "new", "methods": ["shine"]}


class RegistryTests(SynchronousTestCase):
    """Tests for looking services up."""

    def setUp(self) -> None:
        """Register two services."""
        self.kettle = Kettle()
        self.registry = Registry()
        self.registry.register("kettle", self.kettle)
        self.registry.register("a-lamp", Lamp())

    def test_names(self) -> None:
        """Names are sorted, whatever the order of registering."""
        self.assertEqual(self.registry.names(), ["a-lamp", "kettle"])

    def test_found(self) -> None:
        """A method is found with its service, its classes and its summary."""
        found = self.registry.find("kettle", "fill")
        assert found is not None
        owner, offered = found
        self.assertIs(owner, self.kettle)
        assert offered is not None
        self.assertEqual(
            (offered.name, offered.summary, offered.params, offered.result),
            ("fill", "Fill it.", Water, NoResult),
        )

    def test_not_found(self) -> None:
        """An unknown service and an unknown method are distinguished."""
        self.assertIsNone(self.registry.find("toaster", "fill"))
        self.assertEqual(self.registry.find("kettle", "toast"), (self.kettle, None))

    def test_only_offered_methods(self) -> None:
        """What is not offered can't be called: no attribute is looked up."""
        for name in ("secret", "__init__", "__class__", "describe"):
            self.assertEqual(self.registry.find("kettle", name), (self.kettle, None))

    def test_describe(self) -> None:
        """Every description has the summary and methods, then what the service adds."""
        self.assertEqual(
            self.registry.describe(),
            {
                "a-lamp": {"summary": "Shines.", "methods": ["shine"], "bulb": "new"},
                "kettle": {"summary": "Boils water.", "methods": ["fill", "empty"]},
            },
        )
        self.assertEqual(list(self.registry.describe()), self.registry.names())


class DocumentedTests(SynchronousTestCase):
    """Tests for summaries."""

    def test_first_paragraph(self) -> None:
        """The first paragraph of a docstring is the summary, in one line."""
        self.assertEqual(summary_of(Kettle), "Boils water.")

    def test_plain_text(self) -> None:
        """The marks of literals are for reading the source; people are shown none."""

        class Marked:
            """Boils ``water``."""

        self.assertEqual(summary_of(Marked), "Boils water.")

    def test_undocumented(self) -> None:
        """A method that callers could reach without a docstring can't be made."""

        async def undocumented(self: object, params: NoParams) -> NoResult:
            return NoResult()

        with self.assertRaises(ValueError):
            method(NoParams, NoResult)(undocumented)

    def test_order(self) -> None:
        """Methods come in the order they are written."""
        self.assertEqual([m.name for m in methods_of(Kettle)], ["fill", "empty"])
