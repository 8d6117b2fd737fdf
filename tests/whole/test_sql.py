"""SQL through a real daemon, on the reference host's sample database."""

from bridge.provision.setup import _make_sample

from ..databases.samples import ENDLESS
from .daemon import HomeCase, running


class SqlTests(HomeCase):
    """Tests for reading."""

    def query(self, sql, *params):
        """Parameters of a statement."""
        return {"database": "sample", "sql": sql, "params": list(params)}

    def test_attack_endless_statement_at_the_end(self):
        """It is read once it is there; an endless statement delays no shutdown."""
        with running(self.home) as daemon, daemon.page() as page:
            (listed,) = page.result("sql", "databases")["databases"]
            self.assertEqual((listed["alias"], listed["writable"]), ("sample", False))
            asked = self.query("SELECT name FROM places WHERE id = ?1", 2)
            self.assertIn("not on this machine", page.refusal("sql", "query", asked))
            self.assertFalse((daemon.data / "sample.db").exists())
            _make_sample(daemon.data / "sample.db")
            found = page.result("sql", "query", asked)
            self.assertEqual(
                found, {"columns": ["name"], "rows": [{"name": "Night Market"}]}
            )
            several = self.query(ENDLESS + "SELECT n FROM r LIMIT 10000")
            self.assertEqual(len(page.result("sql", "query", several)["rows"]), 10000)
            page.begin("sql", "query", self.query(ENDLESS + "SELECT count(*) FROM r"))
            page.result("sql", "query", self.query("SELECT 1"))
            self.assertIn(daemon.stop(), (0, -15))
