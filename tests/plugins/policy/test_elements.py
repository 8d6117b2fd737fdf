"""JSX elements, and the comments that say what they mean."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from .scanning import scan_source


class ElementTests(SynchronousTestCase):
    """One element, or one comment on all of a file."""

    def rules(self, code: str, name: str = "src/a.tsx") -> list[str]:
        """The rules a code breaks."""
        return [hit.rule for hit in scan_source(name, code.encode())]

    def test_attack_comments(self) -> None:
        """Every word of a comment that the bundler takes for one is judged."""
        for comment, rule in (
            ("/* @jsx\teval*/", "eval"),
            ("/* x@jsx\n fetch */", "fetch"),
            ("// @jsx a @jsx eval", "eval"),
            ("//@jsxFrag require.x", "require"),
            ("/* @jsx process.exit */", "process"),
            ("/* @jsx Reflect.get */", "Reflect.get"),
            ("/* @jsx a.b.localStorage */", "localStorage"),
            ("/* @jsx a.document.location */", "document.location"),
            ("/* @jsx opener.focus */", "opener"),
            ("/* @jsxImportSource /etc */", "import outside the plugin"),
            ("/* @jsxImportSource data:, */", "import outside the plugin"),
        ):
            self.assertEqual(self.rules(f"{comment}\na = <b />"), [rule], comment)
            self.assertEqual(self.rules(comment, "src/a.ts"), [], comment)

    def test_honest_comments(self) -> None:
        """Any function of the author's, and any package, may make elements."""
        for comment in (
            "// @jsx h",
            "// @jsx h @jsxFrag Fragment",
            "// @jsx React.createElement",
            "// @jsx document.createElement",
            "// @jsxImportSource @emotion/react",
            "// @jsxImportSource ./h",
            "// @jsxRuntime eval",
            "// @jsx",
            "// @jsxx eval, a @jsx-eval",
        ):
            self.assertEqual(self.rules(f"{comment}\na = <b />"), [], comment)

    def test_attack_constant_tags(self) -> None:
        """A tag can be a name that the file gave to a string."""
        rule = "createElement of a code-loading tag"
        self.assertEqual(self.rules("const A = 'embed'; x = <A></A>"), [rule])
        self.assertEqual(self.rules("const A = 'em'; x = <A></A>"), [])
        self.assertEqual(self.rules("const a = 'embed'; x = <a.b />"), [])
