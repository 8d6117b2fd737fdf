"""The generated import table."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.plugintable import Text, module_table, text_table


class TableTests(SynchronousTestCase):
    def test_attack_code_as_an_id(self):
        """Nothing but an id becomes code, even if somebody forgot to check."""
        evil = ("a';evil();'", "../x", "A1", "a", "", "aa\n", "ä1", "con")
        for name in (*evil, *(f".tmp-dev-{name}" for name in evil), ".tmp-aa"):
            texts = {name: Text("", 0)}
            for write in (module_table, lambda names: text_table(names, b"")):
                error = self.assertRaises(ValueError, write, texts)
                self.assertEqual(str(error), "not a plugin id", name)
