"""How nodes are judged."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.judging import JUDGES
from bridge.plugins.policy.parsing import grammar
from bridge.plugins.policy.scan import scan_source


class JudgeTests(SynchronousTestCase):
    """The table of judges, and cases between them."""

    def test_kinds_exist(self) -> None:
        """Every kind of node that is judged is one the grammar makes."""
        language = grammar(".tsx")
        kinds = {
            language.node_kind_for_id(number)
            for number in range(language.node_kind_count)
        }
        self.assertEqual(set(JUDGES) - kinds, set())

    def rules(self, code: str) -> list[str]:
        """The rules a code breaks."""
        return [hit.rule for hit in scan_source("a.tsx", code.encode())]

    def test_sums(self) -> None:
        """A sum is judged as a whole, and what is inside its operands too."""
        self.assertEqual(self.rules("a + '<scr' + 'ipt' + b"), ["script tag"])
        self.assertEqual(self.rules("a + f('<scr' + 'ipt') + b"), ["script tag"])
        self.assertEqual(self.rules("'<scr' + a + 'ipt'"), [])
        self.assertEqual(self.rules("'<scr' - 'ipt'"), [])

    def test_elements(self) -> None:
        """A tag in lower case is a name of HTML, any other a variable."""
        self.assertEqual(self.rules("x = <fetch>a</fetch>"), [])
        self.assertEqual(self.rules("x = <Worker>a</Worker>"), ["Worker"])
        self.assertEqual(self.rules("x = <Script />"), ["script tag"])
        self.assertEqual(self.rules("x = <a.Worker />"), [])
        self.assertEqual(self.rules("x = <window.A />"), ["window"])
        self.assertEqual(self.rules("x = <></>"), [])

    def test_targets(self) -> None:
        """Assigning to a name or to an unknown member is accepted."""
        for code in ("a = 1", "a[b] = 1", "[a, b.c] = d", "for (a.b in c) {}", "f(a)"):
            self.assertEqual(self.rules(code), [], code)

    def test_exports(self) -> None:
        """A name is another module's only when it comes from there."""
        self.assertEqual(self.rules("export { fetch as get }"), ["fetch"])
        self.assertEqual(self.rules("export { get as fetch }"), [])
        self.assertEqual(self.rules("export default fetch"), ["fetch"])

    def test_comments_in_types(self) -> None:
        """A reference to a source map is found inside a type too."""
        code = "interface A {\n  //# sourceMappingURL=x\n}"
        self.assertEqual(self.rules(code), ["source map reference"])
        self.assertEqual(self.rules("/* sourceMappingURL */"), [])

    def test_type_calls(self) -> None:
        """Only imports matter in types."""
        self.assertEqual(self.rules("let x: import('./a').B"), [])
        self.assertEqual(
            self.rules("let x: typeof import('/a')"), ["import outside the plugin"]
        )
        self.assertEqual(self.rules("import(x)"), ["dynamic import"])
