"""Tests for ``bridge.classes``: what is compared with attrs' own decorators."""

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

        __hash__ = None

        def __repr__(self) -> str:
            return "own"

    return {c.__name__: c for c in (Point, Other, Derived, Box, Plain, Ordered, Own)}


def raised(call: Any, *arguments: Any) -> type[BaseException] | None:
    """Return the kind of what a call raises."""
    try:
        call(*arguments)
    except (TypeError, AttributeError) as e:
        return type(e)
    return None


def facts(made: dict[str, Any]) -> dict[str, Any]:
    """Return what the classes do, by what it is."""
    point, plain, derived = made["Point"], made["Plain"], made["Derived"](1, 2, z=3)
    return {
        "equal but for what is not compared": point(1, seen=[1]) == point(1, seen=[2]),
        "differ in a field": point(1) == point(1, 3),
        "of another class": point(1) == made["Other"](1),
        "no object of a class": point(1) == (1, 2),
        "not frozen": made["Box"](1) == made["Box"](1),
        "compared by identity": plain(1) == plain(1),
        "compared by its own method": made["Own"](1) == made["Own"](2),
        "ordered": made["Ordered"](1) < made["Ordered"](2),
        "keys": len({point(1), point(1, seen=[2]), point(2)}),
        "keys by identity": len({plain(1), plain(1)}),
        "no key": raised(hash, made["Box"](1)),
        "shown": repr(point(1)).rpartition(".")[2],
        "shown by its own method": repr(made["Own"](1)),
        "shown as any object": " at 0x" in repr(plain(1)),
        "with the fields of its bases": (derived.x, derived._y, derived.z),
        "frozen by a base": raised(setattr, derived, "z", 4),
        "frozen": raised(setattr, point(1), "x", 2),
        "evolved": attrs.evolve(point(1), x=2) == point(2),
    }


class ClassesTests(SynchronousTestCase):
    """Tests that both sets of decorators do the same."""

    def test_as_attrs(self) -> None:
        """Comparison, hash, repr, bases and frozen fields are as attrs has them."""
        self.assertEqual(facts(made(classes)), facts(made(attrs)))
        # Also of a class that has no instance yet.
        names = [field.name for field in attrs.fields(made(classes)["Point"])]
        self.assertEqual(names, ["x", "_y", "seen"])

    def test_shown_once(self) -> None:
        """An object that leads back to itself is shown, as attrs does it."""

        @classes.define
        class Loop:
            back: object = None

        loop = Loop()
        loop.back = [loop]
        self.assertTrue(repr(loop).endswith("Loop(back=[...])"), repr(loop))

    def test_threads(self) -> None:
        """Threads that make the first instances at once make good ones."""
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-6)
        with ThreadPoolExecutor(4) as pool:
            for _ in range(20):
                point = made(classes)["Point"]
                shown = {repr(p) for p in pool.map(point, [1] * 4)}
                self.assertEqual(len(shown), 1)
