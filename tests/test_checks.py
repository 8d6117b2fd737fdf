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
        self.check("mypy")

    def test_style(self) -> None:
        """The code keeps the rules, and is formatted."""
        self.check("ruff", "check", "--no-cache", ".")
        self.check("ruff", "format", "--no-cache", "--check", ".")

    def test_layers(self) -> None:
        """Packages import only downward."""
        self.check("importlinter.cli", "lint-imports")

    def test_methods_are_described(self) -> None:
        """A public method has a docstring, or an interface describes one like it."""
        described, bare = set(), {}
        for path in Path(bridge.__file__).parent.rglob("*.py"):
            for found in ast.walk(ast.parse(path.read_text("utf-8"))):
                body = found.body if isinstance(found, ast.ClassDef) else []
                for method in body:
                    if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                        like = method.name, *(a.arg for a in method.args.args)
                        if not ast.get_docstring(method):
                            if "_" not in (found.name[0], method.name[0]):
                                bare[like] = path
                        elif "Protocol" in map(ast.unparse, found.bases):
                            described.add(like)
        self.assertEqual({k: bare[k] for k in bare.keys() - described}, {})
