"""What reads the code without running it: types, style, and who imports whom."""

import ast
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

import bridge

from .programs import python


class CheckTests(SynchronousTestCase):
    def check(self, *arguments: str) -> None:
        """Run a program of this environment, which must find nothing."""
        done = python("-m", *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_types(self) -> None:
        """The types are right."""
        self.check("mypy")

    def test_style(self) -> None:
        """The code keeps the rules, and is formatted."""
        self.check("ruff", "check", "--no-cache", ".")
        self.check("ruff", "format", "--no-cache", "--check", ".")

    def test_layers(self) -> None:
        """Packages import only downward."""
        self.check("importlinter.cli", "lint-imports")

    def test_methods_are_described(self) -> None:
        """A public method has a docstring, or is one of an interface or base class."""
        modules = Path(bridge.__file__).parent.rglob("*.py")
        trees = [ast.parse(path.read_text("utf-8")) for path in modules]
        classes = [n for t in trees for n in ast.walk(t) if isinstance(n, ast.ClassDef)]
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        methods = [
            (f"{c.name}.{m.name}", m)
            for c in classes
            for m in c.body
            if isinstance(m, kinds)
        ]
        described = {m.name for _, m in methods if ast.get_docstring(m)}
        public = {
            name: m.name for name, m in methods if "_" not in (name[0], m.name[0])
        }
        self.assertEqual([n for n in public if public[n] not in described], [])
