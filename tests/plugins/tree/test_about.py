import base64

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.tree.about import About, read_about
from bridge.plugins.tree.tree import Tree
from bridge.protocol import limits

HEAD = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


def png(width: int, height: int, rest: bytes = b"\x08\x06\0\0\0") -> bytes:
    """The beginning of a PNG of that size."""
    return HEAD + width.to_bytes(4, "big") + height.to_bytes(4, "big") + rest


class AboutTests(SynchronousTestCase):
    def test_attack_readme(self) -> None:
        """Lines are kept, what hides or reorders text is removed, and it is cut."""
        content = "\ufeff# Title\r\n\n\tindented  \n日本語\n".encode()
        about = read_about(Tree({"README.md": content}))
        self.assertEqual(about, About("# Title\n\n    indented\n日本語"))
        hidden = b"\x1b[31mred\x1b[0m \xe2\x80\xaeback\x07 \xff"
        about = read_about(Tree({"README.md": hidden}))
        self.assertEqual(about.readme, "red back \ufffd")
        long = read_about(
            Tree({"README.md": "界".encode() * (limits.README_CHARACTERS + 9)})
        )
        self.assertEqual(long.readme, "界" * limits.README_CHARACTERS)

    def test_icon(self) -> None:
        """A PNG of at most its size and its bytes is shown."""
        most = limits.PLUGIN_ICON_PIXELS
        filled = png(1, 1) + bytes(limits.PLUGIN_ICON_BYTES - len(png(1, 1)))
        for icon in png(most, most), png(1, 1), filled:
            about = read_about(Tree({"icon.png": icon}))
            self.assertEqual(base64.b64decode(about.icon), icon)

    def test_attack_icon(self) -> None:
        """What is too large, moves or is no PNG is not handed to a browser."""
        most = limits.PLUGIN_ICON_PIXELS
        for icon in (
            png(most + 1, 1),
            png(1, most + 1),
            png(0, 1),
            png(1, 0),
            png(1, 1) + bytes(limits.PLUGIN_ICON_BYTES),
            png(1, 1, b"\x08\x06\0\0\0....\0\0\0\x08acTL"),
            HEAD,
            b"GIF89a" + bytes(40),
            b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
        ):
            self.assertEqual(read_about(Tree({"icon.png": icon})).icon, "", icon[:40])
