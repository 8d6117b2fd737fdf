"""What a style sheet may refer to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.rules.styles import TOO_LARGE, style_hits
from bridge.protocol.limits import STYLE_BYTES

OUTSIDE = "import outside the plugin"
REFUSED = (
    '@import "../../a.css";',
    "@import '../../a.css' screen;",
    "@import url(../../a.css);",
    '@import url( "../../a.css" ) layer(x);',
    '@import"/etc/a.css";',
    "@IMPORT '../../a.css';",
    '@import/**/"../../a.css";',
    "@\\69mport '../../a.css';",
    "@\\000049 mport '../../a.css';",
    "@import '\\2e\\2e/\\2e\\2e/a.css';",
    "@import 'x/../../../a.css';",
    "@import '..\\\\..\\\\a.css';",
    "@import 'file:///etc/a.css';",
    "a { background: url(../../x.png) }",
    "a { background: URL('../../x.png') }",
    "a { background: u\\72l(../../x.png) }",
    "a { background: url(a.png), url('/x.png') }",
    "a::after { content: '/*' } b { background: url(/x.png) } /* */",
    "@import 'b/*.css'; @import/**/'../../a.css'; /* */",
    "a { content: '\\'' } b { background: url(/x.png) }",
)
ACCEPTED = (
    "@import 'a.css';",
    "@import './sub/a.css';",
    "@import url(../shared/a.css);",
    "@import url('https://fonts.example/css?family=Inter');",
    "@import '//fonts.example/a.css';",
    "a { background: url(data:image/png;base64,AAAA/../../) }",
    "a { background: url(#gradient) url(img/a.png?v=1) }",
    "a::before { content: '/'; quotes: '../../' \"/\" }",
    "/* @import '../../a.css'; url(/x) */ a { color: red }",
    ".curl { --url: '/x'; }",
    "@media (min-width: 1px) { a { width: calc(1px * (2 / 3)) } }",
    "",
)


def rules(text: str) -> list[tuple[int, str]]:
    """What is found in a style sheet."""
    return list(style_hits("src/a.css", text.encode()))


class StyleTests(SynchronousTestCase):
    """References to files."""

    def test_attack_leaving(self) -> None:
        """What leaves the plugin is refused, however it is written."""
        for text in REFUSED:
            self.assertEqual(rules(text), [(1, OUTSIDE)], text)

    def test_accepted(self) -> None:
        """What stays inside, is no file or only looks like a reference passes."""
        for text in ACCEPTED:
            self.assertEqual(rules(text), [], text)

    def test_lines(self) -> None:
        """Each hit names its line."""
        text = "\n".join(
            ["@import 'a.css';", "a{}", *REFUSED[:2], "b{", "}", REFUSED[2]]
        )
        self.assertEqual(rules(text), [(3, OUTSIDE), (4, OUTSIDE), (7, OUTSIDE)])

    def test_too_large(self) -> None:
        """A style sheet beyond what people write is not read."""
        self.assertEqual(rules(" " * STYLE_BYTES), [])
        self.assertEqual(rules(" " * (STYLE_BYTES + 1)), [(1, TOO_LARGE)])

    @given(st.sampled_from(ACCEPTED), st.sampled_from(REFUSED))
    def test_attack_after_anything(self, before: str, text: str) -> None:
        """Nothing honest before it hides a reference."""
        self.assertEqual(rules(f"{before}\n{text}"), [(2, OUTSIDE)])

    @given(st.text(alphabet="@import url(\"'/*\\)..;{}\n2e"))
    def test_any_text(self, text: str) -> None:
        """Any text gets a verdict."""
        rules(text)

    def test_attack_one_long_token(self) -> None:
        """A sheet of one token, or of what never ends one, takes no time."""
        for unit in ("/*", "*", "'", "\\", "a", "\\2e", "url(", "@", "/", "(", "'\\"):
            rules("/*" + unit * 30_000)
            rules(unit * 100_000)
            rules("url(" + unit * 100_000)
