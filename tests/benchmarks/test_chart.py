"""Tests for ``benchmarks.chart``."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.chart import Panel, draw

SVG = "{http://www.w3.org/2000/svg}"


class DrawTests(SynchronousTestCase):
    """Tests for ``draw``."""

    def test_panels(self) -> None:
        """Each panel has its title, its line and its marks."""
        points = [(0.0, 5.0), (1.0, 10.0), (2.0, 0.0)]
        drawn = ET.fromstring(  # noqa: S314 (our own)
            draw([Panel("a < b", points, points[1:2]), Panel("other", points)], 1.0)
        )
        lines = drawn.findall(f"{SVG}polyline")
        self.assertEqual(len(lines), 2)
        texts = [text.text for text in drawn.findall(f"{SVG}text")]
        self.assertIn("a < b", texts)
        self.assertIn("2 min", texts)
        marks = drawn.findall(f"{SVG}path[@class='settled']")
        second = lines[0].attrib["points"].split()[1]
        self.assertEqual([mark.attrib["d"] for mark in marks], [f"M{second}h0", ""])

    def test_scale(self) -> None:
        """Later points are to the right, higher values above lower ones."""
        points = [(0.0, 1.0), (1.0, 3.0), (2.0, 2.0)]
        drawn = ET.fromstring(draw([Panel("x", points)], 0.5))  # noqa: S314 (our own)
        line = drawn.find(f"{SVG}polyline")
        assert line is not None
        pairs = [pair.split(",") for pair in line.attrib["points"].split()]
        across = [float(x) for x, _ in pairs]
        down = [float(y) for _, y in pairs]
        self.assertEqual(across, sorted(across))
        self.assertLess(down[1], down[2])
        self.assertLess(down[2], down[0])

    def test_nothing(self) -> None:
        """Without a point there is nothing to draw."""
        for panels in ([], [Panel("x", [])], [Panel("x", [(0.0, 1.0)])]):
            with self.assertRaises(ValueError):
                draw(panels, 1.0)
