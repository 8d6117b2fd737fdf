"""The runner of mutants finds what tests notice."""

from twisted.trial.unittest import SynchronousTestCase

from ..programs import python
from .mutants import mutants

_CHANGES = {
    "x = a < b": {"a < b -> a <= b", "a < b -> a >= b"},
    "x = a and b": {"a and b -> a or b"},
    "x = not b": {"not b -> b"},
    "a: int | None = 3": {"3 -> 4", "3 -> 2"},
    "def f():\n    'text'\n    x = g()\n    return x": {"return x -> return None"},
    "if a:\n    raise b": {"if a: ... -> if not a: ...", "raise b -> pass"},
    "try:\n    a = 1.5\nexcept E:\n    b.c += d\n    return": {
        *("1.5 -> 2.5", "1.5 -> 0.5", "b.c += d -> pass", "return -> pass"),
        "except E: ... -> except E: ...",
    },
}


class MutantTests(SynchronousTestCase):
    def test_changes(self) -> None:
        """Each operator, number and statement changes in its ways."""
        for source, changes in _CHANGES.items():
            made = [mutant.change.replace("  ", " ") for mutant in mutants(source)]
            self.assertEqual(sorted(made), sorted(changes))

    def test_where(self) -> None:
        """A condition is where its test is, not its body."""
        mutant, *_ = mutants("def f():\n    if (\n        a\n    ):\n        b")
        self.assertEqual((mutant.line, mutant.lines), (2, range(3, 4)))


class RunTests(SynchronousTestCase):
    """The command."""

    def test_module(self) -> None:
        """A sample of a module's mutants is tried."""
        command = ("-m", "tests.mutation", "bridge/protocol/bucket.py")
        tests = "tests.protocol.test_bucket"
        options = ("--sample=4", "--seed=1")
        run = python(*command, tests, *options)
        survivors = run.stdout.count("survives: ")
        self.assertIn(f"{4 - survivors} of 4 mutants killed", run.stdout)
        self.assertLess(survivors, 4)
        self.assertNotIn("fails without a change", run.stdout)
