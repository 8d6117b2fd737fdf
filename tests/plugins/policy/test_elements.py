"""JSX elements, and the comments that change what they mean."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from .scanning import scan_source

AUTOMATIC = "/* @jsxRuntime automatic */"
OUTSIDE = "import outside the plugin"
SRCDOC = ["srcdoc"]


class ElementTests(SynchronousTestCase):
    """One element, or one comment on all of a file."""

    def rules(self, code: str, name: str = "src/a.tsx") -> list[str]:
        """The rules a code breaks."""
        return [hit.rule for hit in scan_source(name, code.encode())]

    def test_attack_comments(self) -> None:
        """What a comment makes of the elements is checked as any other code."""
        for comment, rule in (
            ("/* @jsx\teval*/", "eval"),
            ("/* x @jsx fetch */", "fetch"),
            ("// @jsx a @jsx eval", "eval"),
            ("/* @jsx process.exit */", "process"),
            ("/* @jsx Reflect.get */", "Reflect.get"),
            ("/* @jsx a.b.localStorage */", "localStorage"),
            ("/* @jsx a.document.location */", "document.location"),
            ("/* @jsx opener.focus */", "opener"),
            (f"{AUTOMATIC} /* @jsxImportSource /etc */", OUTSIDE),
            (f"{AUTOMATIC} /* @jsxImportSource data:, */", OUTSIDE),
            (f"{AUTOMATIC} /* @jsxImportSource ../../x */", OUTSIDE),
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

    def test_attack_fragments(self) -> None:
        """What a comment makes of fragments is checked, too."""
        for code in ("<></>", "<><b /></>"):
            rules = self.rules(f"//@jsxFrag require.x\na = {code}")
            self.assertEqual(rules, ["require"])

    def test_attack_any_factory(self) -> None:
        """A code-loading tag is one whatever makes the element."""
        embed = "createElement of a code-loading tag"
        for comment in ("", "/* @jsx h */", "/* @jsx a.b.c */", AUTOMATIC):
            for tag, rule in (
                ("script", "script tag"),
                ("svg:script", "script tag"),
                ("iframe", embed),
                ("object", embed),
            ):
                self.assertEqual(self.rules(f"{comment} a = <{tag} />"), [rule])
                code = f"{comment} a = <b {{...c}}>d<{tag} key='e' /></b>"
                self.assertEqual(self.rules(code), [rule])

    def test_attack_attributes(self) -> None:
        """An attribute that loads code is found in any letters, and in spreads."""
        for attribute in ("srcDoc={h}", "srcdoc='h'", "{...{ srcDoc: h }}"):
            for comment in ("", "/* @jsx h */", AUTOMATIC):
                self.assertEqual(self.rules(f"{comment} a = <b {attribute} />"), SRCDOC)

    def test_attack_tags_of_members(self) -> None:
        """The object of a tag is used."""
        self.assertEqual(self.rules("a = <window.b />"), ["window"])
        self.assertEqual(self.rules("a = <self.b.c />"), ["self"])
        self.assertEqual(self.rules("/* @jsx h */ a = <b><fetch.c /></b>"), ["fetch"])

    def test_honest_tags(self) -> None:
        """Members, custom elements and components may be called anything."""
        for tag in ("script.a", "object-x", "Iframe", "embed.window"):
            for comment in ("", "/* @jsx h */", AUTOMATIC):
                self.assertEqual(self.rules(f"{comment} a = <{tag} />"), [], tag)
