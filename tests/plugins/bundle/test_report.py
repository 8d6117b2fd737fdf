"""What a report says of one plugin."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.build import Report


class ReportTests(SynchronousTestCase):
    """Tests for ``Report``."""

    def test_left_out(self) -> None:
        """The reason is the plugin's own, not the one of another plugin."""
        lines = ["aa-b is left out: x", "aa is left out: y"]
        report = Report(ok=True, duration_ms=1, plugins=["bb"], errors=lines)
        self.assertEqual((report.has("aa"), report.has("bb")), (False, True))
        self.assertEqual(report.why_not("aa"), lines[1])
        self.assertEqual(report.why_not("cc"), lines[0])

    def test_not_built(self) -> None:
        """Without a new bundle no plugin is in it, and all errors count."""
        report = Report(ok=False, duration_ms=1, plugins=["aa"], errors=["x", "y"])
        self.assertFalse(report.has("aa"))
        self.assertEqual(report.why_not("aa"), "x\ny")
