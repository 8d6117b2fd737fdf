"""What is asked of the bundler to bind the names of a plugin's bundle."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.confinement.binding import Bindings, Unbound

MAP = "//# sourceMappingURL=data:application/json;base64,bWFwcGVk\n"


class UnboundTests(SynchronousTestCase):
    """Bundles and their words."""

    def test_words(self) -> None:
        """Every word that may be a free name, and none of the source map."""
        source = Unbound("build/bound/aa/own.js", f"if (fetch) Math.max(NaN)\n{MAP}")
        self.assertEqual(source.words, {"fetch", "Math", "require"})
        self.assertEqual(Unbound("a.js", "f(x)").words, {"f", "x", "require"})

    def test_attack_word_of_the_scope(self) -> None:
        """The scope is called as nothing in the bundle is."""
        self.assertEqual(Unbound("a.js", "f(x)").scope, "$scope")
        text = r"const $scope = 1, \u0024scope$ = 2, x = '$scope$$'"
        self.assertEqual(Unbound("a.js", text).scope, "$scope$$$")

    def test_request(self) -> None:
        """Each word is replaced by a member of the scope, which is imported."""
        request = Unbound("build/bound/aa/own.js", "f(x)").request()
        for flag in (
            b"--define:f=$scope.f",
            b"--define:x=$scope.x",
            b"--sourcefile=build/bound/aa/own.js",
            b'--banner=import { scope as $scope } from "./scope.js";',
        ):
            self.assertIn(flag, request["flags"])
        self.assertEqual((request["inputFS"], request["input"]), (False, b"f(x)"))

    def test_bound_names(self) -> None:
        """What the answer uses of the scope is known."""
        source = Unbound("a.js", "f(Math.max, own.x)")
        code = "$scope.f($scope.Math.max, own.x, '$scope.other')"
        self.assertEqual(source.bound_names(code), {"f", "Math"})

    def test_one_request_each(self) -> None:
        """A bundle is asked about once."""
        source = Unbound("a.js", "f(x)")
        bindings = Bindings([source])
        self.assertEqual(bindings.first(source), source.request())
        self.assertIsNone(bindings.second(source, b""))
