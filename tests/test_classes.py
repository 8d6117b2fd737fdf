"""Tests for ``bridge.classes``: what is compared with attrs' own decorators."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import attrs
from attrs import field
from twisted.trial.unittest import SynchronousTestCase

from bridge import classes


def made(decorators: Any) -> dict[str, Any]:
    """Make a class of each kind with a module's decorators."""

    @decorators.frozen
    class Point:
        x: int
        _y: int = field(default=2, repr=False)
        seen: list[int] = field(factory=list, eq=False)
        kind: ClassVar[str] = "point"

    @decorators.frozen
    class Other:
        x: int
        _y: int = 2

    @decorators.define
    class Derived(Point):
        z: int = field(kw_only=True)

    @decorators.define
    class Box:
        content: object

    @decorators.define(eq=False, repr=False)
    class Plain:
        content: object

    @decorators.frozen(order=True)
    class Ordered:
        x: int

    @decorators.frozen
    class Own:
        x: int

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

        def __repr__(self) -> str:
            return "own"

    return {c.__name__: c for c in (Point, Other, Derived, Box, Plain, Ordered, Own)}


class ClassesTests(SynchronousTestCase):
    """Tests that both sets of decorators do the same."""

    def each(self, check: Any) -> None:
        """Check with attrs, and with ours."""
        for decorators in (attrs, classes):
            check(made(decorators))

    def test_compared(self) -> None:
        """Equal are those of one class whose compared fields are."""

        def check(made: dict[str, Any]) -> None:
            point = made["Point"]
            self.assertEqual(point(1, seen=[1]), point(1, seen=[2]))
            self.assertNotEqual(point(1), point(1, 3))
            self.assertNotEqual(point(1), made["Other"](1))
            self.assertNotEqual(point(1), (1, 2))
            self.assertEqual(made["Box"](1), made["Box"](1))
            self.assertNotEqual(made["Plain"](1), made["Plain"](1))
            self.assertEqual(made["Own"](1), made["Own"](2))
            self.assertLess(made["Ordered"](1), made["Ordered"](2))

        self.each(check)

    def test_hashed(self) -> None:
        """Frozen ones that are equal are one key; others are none, or by identity."""

        def check(made: dict[str, Any]) -> None:
            point = made["Point"]
            self.assertEqual(len({point(1), point(1, seen=[2]), point(2)}), 2)
            self.assertRaises(TypeError, hash, made["Box"](1))
            self.assertEqual(len({made["Plain"](1), made["Plain"](1)}), 2)

        self.each(check)

    def test_shown(self) -> None:
        """A repr has the class and the fields that are not hidden."""

        def check(made: dict[str, Any]) -> None:
            text = repr(made["Point"](1))
            self.assertTrue(text.endswith("Point(x=1, seen=[])"), text)
            self.assertEqual(repr(made["Own"](1)), "own")
            self.assertIn(" at 0x", repr(made["Plain"](1)))

        self.each(check)

    def test_shown_once(self) -> None:
        """An object that leads back to itself is shown, as attrs does it."""

        @classes.define
        class Loop:
            back: object = None

        loop = Loop()
        loop.back = [loop]
        self.assertTrue(repr(loop).endswith("Loop(back=[...])"), repr(loop))

    def test_derived(self) -> None:
        """A class has the fields of its bases, and is frozen if one of them is."""

        def check(made: dict[str, Any]) -> None:
            derived = made["Derived"](1, 2, z=3)
            self.assertEqual((derived.x, derived._y, derived.z), (1, 2, 3))
            with self.assertRaises(attrs.exceptions.FrozenInstanceError):
                derived.z = 4

        self.each(check)

    def test_fields(self) -> None:
        """A class has its fields before there is an instance."""

        def check(made: dict[str, Any]) -> None:
            names = [field.name for field in attrs.fields(made["Point"])]
            self.assertEqual(names, ["x", "_y", "seen"])

        self.each(check)

    def test_threads(self) -> None:
        """Threads that make the first instances at once make good ones."""
        before = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, before)
        sys.setswitchinterval(1e-6)
        with ThreadPoolExecutor(4) as pool:
            for _ in range(20):
                point = made(classes)["Point"]
                shown = {repr(p) for p in pool.map(point, [1] * 4)}
                self.assertEqual(len(shown), 1)

    def test_frozen(self) -> None:
        """A frozen one can't be changed, but evolved."""

        def check(made: dict[str, Any]) -> None:
            point = made["Point"](1)
            with self.assertRaises(attrs.exceptions.FrozenInstanceError):
                point.x = 2
            self.assertEqual(attrs.evolve(point, x=2), made["Point"](2))

        self.each(check)
